"""Models that an Ollama server runs.

- ``chat.py``: text, token by token (``ChatModel``).
- ``embedder.py``: text to unit vectors.
- ``client.py``: the connection, and what can go wrong with it as ragvault's errors.
"""
