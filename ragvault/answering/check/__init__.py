"""answering/check."""
