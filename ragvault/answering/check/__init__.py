"""Checks of what a model wrote, on words, numbers and dates; no model takes part. ``support`` says
of a statement whether it is held and why not, with all the others; ``uncertainty`` of a sentence
whether it says that the notes don't hold the answer."""
