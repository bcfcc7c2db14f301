"""Checks of what a model wrote, on words, numbers and dates; no model takes part."""
