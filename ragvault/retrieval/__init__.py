"""A question to its passages.

In: a ``Request``, its analysed ``Query``, the stores and models (``Deps``). Out: one ``Retrieval``,
built once: every candidate in rank order with what kept or dropped it, and, for an answer, how
rare the question's words are and the neighbours of what may be answered from.

    pipeline     the steps, one after the other: read this first
    context      what every step may read: request, query, stores, filter, k
    question/    what is asked, of which time, and where to look
    candidates/  which chunks are looked at
    ranking/     their order, and which are kept
"""
