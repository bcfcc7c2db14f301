"""answering/citations."""
