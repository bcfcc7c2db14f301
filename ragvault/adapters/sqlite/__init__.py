"""adapters/sqlite."""
