"""A question to its passages: ``pipeline`` has the steps, read it first.

In: a ``Request``, its analysed ``Query``, the stores and models (``Deps``). Out: one ``Retrieval``,
built once: every candidate in rank order with what kept or dropped it, and, for an answer, how
rare the question's words are and the neighbours of what may be answered from.
"""
