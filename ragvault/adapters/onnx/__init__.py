"""Models in ONNX Runtime, without torch: the default embedder, and a cross-encoder.

- ``embedder.py``: text to unit vectors, and to a vector for each token.
- ``cross_encoder.py``: a question and a passage to a score.
- ``head.py``: pooling and dense layers, as the model's folder says.
- ``model_files.py``: where a model's files are: path, data package, hub. ``hub.py``: the hub's
  cache and downloads.
- ``int8.py``: the bundled model's graph, made to compute in int8.
- ``tokenizer.py``: text to token ids. ``runtime.py``: token ids to the model's output.
- ``data/``: the tokenizer of the default model.
"""
