"""Models in ONNX Runtime, without torch: the default embedder, and a cross-encoder. ``data/`` holds
the tokenizer of the default model."""
