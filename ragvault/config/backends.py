"""What a configuration may choose from: the name of each backend → where its class is.

A new backend is a package under ``adapters/`` and a line here: the settings then take its name,
and wiring imports its class when it is first needed. Text, so that reading a config imports none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

# ``ports.VectorIndex``, made of (the index folder, the section ``store``).
VECTOR_STORES = {
    "persistent": "ragvault.adapters.chroma.persistent:PersistentChroma",
    "http": "ragvault.adapters.chroma.http:HttpChroma",
}
# ``ports.Embedder``, made of (the settings, the file where it may remember facts about its model
# (None: nowhere)).
EMBEDDERS = {
    "onnx": "ragvault.adapters.onnx.embedder:OnnxEmbedder",
    "sentence-transformers": "ragvault.adapters.torch_embedder:SentenceTransformersEmbedder",
    "ollama": "ragvault.adapters.ollama.embedder:OllamaEmbedder",
}
# ``ports.Reranker``, made of the same.
RERANKERS = {"onnx": "ragvault.adapters.onnx.cross_encoder:OnnxCrossEncoder"}

if TYPE_CHECKING:
    StoreMode: TypeAlias = str
    EmbeddingBackend: TypeAlias = str
    RerankBackend: TypeAlias = str
else:
    StoreMode = Literal[tuple(VECTOR_STORES)]
    EmbeddingBackend = Literal[("auto", *EMBEDDERS)]
    RerankBackend = Literal[("none", *RERANKERS)]
