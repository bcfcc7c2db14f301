"""The catalog in one SQLite file: the truth about what is indexed. Beside it, the history."""
