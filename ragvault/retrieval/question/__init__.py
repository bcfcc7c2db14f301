"""retrieval/question."""
