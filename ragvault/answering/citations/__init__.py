"""Citations: from what a model writes to links that hold.

In: a draft, a few characters at a time, and the hits of its prompt. Out: what may be shown of it,
sentence by sentence, each citation resolved to a chunk and written in one style.

    styles     how citations are asked for and written: file-section, numeric
    parse      all citations of a text, in whatever form, read with the context's names
    sentences  where a sentence and its citations end, while more is coming
    render     which chunk each means; a sentence with them in the style, invented ones out
    stream     the whole: nothing is shown before the first statement that its citation holds
"""
