"""adapters/chroma."""
