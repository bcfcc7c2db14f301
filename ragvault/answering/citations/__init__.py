"""Citations: from what a model writes to links that hold.

In: a draft, a few characters at a time, and the hits of its prompt. Out: what may be shown of it,
sentence by sentence, each citation resolved to a chunk and written in one style.

    styles     how citations are asked for and written: file-section, numeric
    brackets   the context's names; one bracket read with them
    parse      all citations of a text, in whatever form
    resolve    which chunk of the context one means
    sentences  where a sentence and its citations end, while more is coming
    render     a sentence with its citations in the style, invented ones taken out
    stream     the whole: nothing is shown before the first statement that its citation holds
"""
