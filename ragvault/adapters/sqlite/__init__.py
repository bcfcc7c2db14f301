"""The catalog in one SQLite file: the truth about what is indexed. Beside it, the history.

- ``catalog.py``: the class that wiring opens; it is all three ports in one. A damaged file.
- ``notes.py`` (``NoteStore``): vaults, file states, the transaction that commits notes.
- ``chunks.py`` and ``fulltext.py`` (``ChunkSearch``): visible chunks by id and filter, by BM25.
- ``embedders.py``: which embedder is in force, what lacks its vectors.
- ``embeddings.py`` (``EmbeddingCache``): vectors as float16, means of notes and folders.
- ``history.py``: questions and answers, in a file of their own.
- ``rows.py``: how a note's rows are written, inside a transaction of ``notes.py``.
- ``connection.py``: the file, its transactions, and sqlite3's errors as ragvault's.
- ``schema.py`` and ``migrations.py``: how a file comes by its schema, and the catalog's.
"""
