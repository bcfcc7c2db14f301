"""adapters/torch."""
