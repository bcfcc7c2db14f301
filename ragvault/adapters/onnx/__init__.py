"""Models in ONNX Runtime, without torch: the default embedder, and a cross-encoder.

- ``embedder.py``: text to unit vectors; pooling and dense layers, as the model's folder says.
- ``cross_encoder.py``: a question and a passage to a score.
- ``model_files.py``: where a model's files are: path, data package, the hub's cache; downloads.
- ``int8.py``: the bundled model's graph, made to compute in int8.
- ``tokenizer.py``: text to token ids. ``runtime.py``: token ids to the model's output.
- ``data/``: the tokenizer of the default model.
"""
