"""The answer without a model: the notes' own words.

In: the question and the hits that may be answered from. Out: quotations, best first, each word for
word from its note, with how good it is: ``extract`` runs ``units``, ``asks``, ``rate``.
"""
