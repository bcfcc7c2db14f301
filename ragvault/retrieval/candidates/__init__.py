"""retrieval/candidates."""
