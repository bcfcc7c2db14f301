"""retrieval/confidence."""
