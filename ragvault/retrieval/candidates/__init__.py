"""Which chunks are looked at.

In: the ``Context`` of a search and its scopes. Out: ``Candidate``s with exact scores.
Reads the catalog and the vector store; decides no order.

    gather      what the vector store and the word search propose, in one pool
    tasks       the tasks of all notes, where these are asked for
    expansion   what the chat model is asked first (wordings, a guess at the answer, folders), and
                the search for what it wrote
"""
