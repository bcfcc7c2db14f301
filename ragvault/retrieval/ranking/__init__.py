"""retrieval/ranking."""
