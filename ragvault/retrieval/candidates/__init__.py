"""Which chunks are looked at.

In: the ``Context`` of a search and its scopes. Out: ``Candidate``s with exact scores; or
hits, where no scores are needed. Reads the catalog and the vector store; decides no order.

    gather      what the vector store and the word search propose, in one pool
    expansion   the question in other words, and a guess at its answer, by the chat model
    recent      the newest notes, where a question asks for nothing else
    neighbours  what stands around a hit in its own section
"""
