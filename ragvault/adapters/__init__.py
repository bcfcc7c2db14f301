"""What stands behind the ports: each family of libraries in a package of its own.

- ``sqlite/``: the catalog; the history.
- ``chroma/``: vector stores. ``onnx/``, ``ollama/``, ``torch_embedder.py``: models.
- ``models.py``: what the adapters of models share.
- ``families.py``: what is known of embedding models, by family: prefixes, pooling, window.
- ``files.py``: the index folder itself: whole-or-nothing writes, the writer's lock.

Third-party exceptions stop here: each package turns its libraries' into ragvault's, in one table
where there are many. A library is imported where it is first used, never when ragvault starts.
Which adapter a name in the config means stands in ``config/backends.py``.
"""
