"""The answer without a model: the notes' own words.

    units     passages → pages, read by their format, as what can be quoted
    asks      the question → the form of its answer, a list, a time
    rate      units → how likely each holds the answer
    extract   the units of all passages → the few that answer
    tasks     tasks that were asked for → quotations
    show      a quotation → as people read it

Comes in: the question and the hits that may be answered from. Goes out: quotations, best first,
each word for word from its note, with how good it is.
"""
