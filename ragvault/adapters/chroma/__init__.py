"""Vector stores on Chroma: a cache of the catalog, rebuilt from its embeddings when it is lost."""
