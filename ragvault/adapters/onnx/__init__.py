"""adapters/onnx."""
