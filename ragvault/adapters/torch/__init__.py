"""Any model of sentence-transformers, for those who have installed it: slower to start than ONNX.

- ``embedder.py``: text to unit vectors.
- ``cross_encoder.py``: a question and a passage to a score.
- ``model.py``: what both share: finding a model, loading it once, its failures.
"""
