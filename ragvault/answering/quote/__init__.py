"""answering/quote."""
