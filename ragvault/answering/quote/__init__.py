"""The answer without a model: the notes' own words.

    passages   a chunk's text → its sentences, list items, lists, rows, code and fields
    extract    the passages of all evidence → the few that answer, made readable

Comes in: the question and the hits that the gate let through. Goes out: quotes, best first, each
verbatim with its place in its chunk.
"""
