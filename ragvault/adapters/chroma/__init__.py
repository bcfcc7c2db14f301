"""Vector stores on Chroma: a cache of the catalog, rebuilt from its embeddings when it is lost.

- ``index.py``: what every way to reach Chroma shares: collections, batches, queries, filters.
- ``persistent.py``: Chroma inside this process; its files, and what is wrong with them.
- ``http.py``: a Chroma server.
- ``errors.py``: what Chroma raises, as ragvault's errors.
"""
