"""adapters/ollama."""
