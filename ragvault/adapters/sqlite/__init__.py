"""The catalog in one SQLite file: the truth about what is indexed.

- ``catalog.py``: the class that wiring opens; it is all four ports in one. A damaged file.
- ``notes.py`` (``NoteStore``): vaults, file states, the transaction that commits notes.
- ``chunks.py`` and ``fulltext.py`` (``ChunkSearch``): visible chunks by id and filter, by BM25.
- ``embedders.py``: which embedder is in force, what lacks its vectors.
- ``embeddings.py`` (``EmbeddingCache``): vectors as float16, means of notes and folders.
- ``answer_log.py`` (``AnswerLog``): questions and answers.
- ``rows.py``: how a note's rows are written, inside a transaction of ``notes.py``.
- ``connection.py``: the file, its transactions, and sqlite3's errors as ragvault's.
- ``migrations.py``: the schema.
"""
