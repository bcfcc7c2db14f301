"""From evidence to an answer whose citations hold, or to an honest no.

In: what was found (``gate``), then an ``AnswerRequest`` (question, the gate's evidence and quotes,
settings, a chat model or none). Out: a generator of ``Cited`` and ``Token`` events whose value is
an ``AnswerRun``.

    gate       answered, pointed at or nothing: by the quotes that would be printed
    confidence how likely these quotes answer
    pipeline   the steps: prompt, draft, the outcome, or quotations instead
    page       what is printed of it, with the words of the notes; or where to look
    prompt     what the model is told
    context    the evidence as blocks of text, packed into the model's window
    citations  the draft's citations: read, resolved to chunks, shown in the configured style
    check      whether the chunks cited hold a statement
    quote      the answer without a model: passages word for word
"""
