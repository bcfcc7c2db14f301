"""From evidence to an answer whose citations hold, or to an honest no.

In: what was found (``gate``), then an ``AnswerRequest`` (question, the gate's evidence and quotes,
settings, a chat model or none). Out: a generator of ``Cited`` and ``Token`` events whose value is
an ``AnswerRun``: ``pipeline`` has the steps, ``page`` what is printed.
"""
