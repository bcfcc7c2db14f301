"""ragvault: answers from a folder of Markdown notes, with citations that open."""

__version__ = "0.1.0"
