"""The catalog in one SQLite file: the truth about what is indexed. Beside it, the history.

- ``catalog.py``: the class that wiring opens, made of the next three.
- ``notes.py``: vaults, file states, the transaction that commits notes.
- ``chunks.py`` and ``fulltext.py``: visible chunks by id and filter, by BM25.
- ``embeddings.py``: vectors as float16; which embedder is in force, what lacks its vectors.
- ``history.py``: questions and answers, in a file of their own.
- ``rows.py``: how a note's rows are written, inside a transaction of ``notes.py``.
- ``connection.py``: the file, its transactions, and sqlite3's errors as ragvault's.
- ``schema.py`` and ``migrations.py``: how a file comes by its schema, and the catalog's.
"""
