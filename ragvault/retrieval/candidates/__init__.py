"""Which chunks are looked at.

In: the ``Context`` of a search and its scopes. Out: ``Candidate``s with exact scores, by ``gather``
(``tasks``, where these are asked for). Reads the catalog and the vector store; decides no order.
"""
