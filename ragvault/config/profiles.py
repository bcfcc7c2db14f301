"""What a configuration may choose from: backends by their names, and the embedding models that
ragvault is tuned for (`embedding.profile` names one).

A new backend is a package under ``adapters/`` and a line here: the settings then take its name,
and wiring imports its class when it is first needed. Text, so that reading a config imports none.
A profile is a row; how its family was trained stands in ``adapters/families.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from ragvault.config.settings import EmbeddingSettings

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


@dataclass(frozen=True, slots=True)
class PinnedFile:
    """A file of a hub repository: its path there, its size in bytes, its SHA-256."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Profile:
    """``original`` is the hub id of the weights as they were published: what is known of a model
    goes by it. The ``files`` that are run, the .onnx file first, are ``repository``'s at
    ``revision``. ``served`` is Ollama's name for it, where it is the same model."""

    title: str
    original: str
    repository: str
    revision: str
    files: tuple[PinnedFile, ...]
    licence: str
    served: str | None = None

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)


# Sizes and hashes are those that the hub names for the revision (its LFS pointers). It can't be
# reached where ragvault is built: they are what more than ten public projects pin. A wrong one
# would refuse the download, never let another file in.
PROFILES = {
    "bundled": Profile(
        title="all-MiniLM-L6-v2",
        original="sentence-transformers/all-MiniLM-L6-v2",
        repository="sentence-transformers/all-MiniLM-L6-v2",
        revision="c9745ed1d9f207416be6d2e6f8de32d1f16199bf",
        files=(
            # Of the int8 files the one whose sums don't saturate on any processor.
            PinnedFile(
                "onnx/model_quint8_avx2.onnx",
                23_046_789,
                "b941bf19f1f1283680f449fa6a7336bb5600bdcd5f84d10ddc5cd72218a0fd21",
            ),
        ),
        licence="Apache-2.0",
    ),
    "multilingual": Profile(
        title="EmbeddingGemma-300M",
        original="google/embeddinggemma-300m",
        repository="onnx-community/embeddinggemma-300m-ONNX",
        revision="5090578d9565bb06545b4552f76e6bc2c93e4a66",
        files=(
            PinnedFile(
                "onnx/model_quantized.onnx",
                567_874,
                "172efde319fe1542dc41f31be6154910b05b78f7a861c265c4600eec906bd6d8",
            ),
            PinnedFile(
                "onnx/model_quantized.onnx_data",
                308_890_624,
                "705626e28e4c23c82ade34566b4197d97f534c12275fa406dfb71e9937d388c0",
            ),
            PinnedFile(
                "tokenizer.json",
                20_323_312,
                "4dda02faaf32bc91031dc8c88457ac272b00c1016cc679757d1c441b248b9c47",
            ),
        ),
        licence="Gemma Terms of Use, https://ai.google.dev/gemma/terms",
        served="embeddinggemma",
    ),
}
ALIASES = {"embeddinggemma": "multilingual"}


def model_named(wanted: EmbeddingSettings) -> str:
    """The model that the settings choose: a path, a hub id, or the profile's ``original``."""
    return wanted.path or wanted.model or PROFILES[wanted.profile].original
