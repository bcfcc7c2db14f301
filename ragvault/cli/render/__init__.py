"""cli/render."""
