"""Checks of what a model wrote, on words, numbers and dates; no model takes part.

support      is a statement held by the chunks that it cites, and if not, why
binding      do its parts stand together in a passage, and belong together as it says
moods        is it denied, planned, asked or past
facts        a passage as what belongs together
values       numbers and dates in running text, in several languages
uncertainty  does a sentence say that the notes don't hold the answer
"""
