"""Settings: built-in defaults, then the YAML file, then RAGVAULT_* variables, then flags.

Everything is one validated, frozen object. An unknown key or a bad value is a ConfigError that
names the file, the line and the key. config.example.yaml lists every key; a test holds it to
the defaults here.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ragvault.config.backends import EmbeddingBackend, RerankBackend, StoreMode

Unit = Annotated[float, Field(ge=0.0, le=1.0)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class IndexSettings(_Part):
    """Which files become notes, and where the index lives."""

    path: str | None = None  # None: the platform's data folder
    extensions: tuple[str, ...] = (".md", ".markdown")
    exclude: tuple[str, ...] = ()  # .gitignore patterns, relative to the vault
    respect_gitignore: bool = True
    max_file_mb: Annotated[float, Field(gt=0)] = 20.0
    lock_timeout_s: Annotated[float, Field(ge=0)] = 0.0


class ChunkingSettings(_Part):
    """Sizes in the embedder's tokens. 0 for ``max_tokens`` means the embedder's window."""

    max_tokens: Annotated[int, Field(ge=0, le=8192)] = 0
    overlap: Annotated[float, Field(ge=0.0, le=0.5)] = 0.12  # share of max_tokens


class EmbeddingSettings(_Part):
    backend: EmbeddingBackend = "onnx"
    model: str = "sentence-transformers/all-MiniLM-L6-v2"
    path: str | None = None  # an .onnx file, or a folder for sentence-transformers
    threads: Annotated[int, Field(ge=0, le=256)] = 0  # 0: as many as cores
    query_prefix: str = ""
    document_prefix: str = ""
    download: bool = True  # may the model be fetched from the hub when it is nowhere local


class StoreSettings(_Part):
    mode: StoreMode = "persistent"
    host: str = "localhost"
    port: Annotated[int, Field(ge=1, le=65535)] = 8000
    ssl: bool = False
    headers: dict[str, str] = Field(default_factory=dict)


class RetrievalSettings(_Part):
    """notes-engine-rag.md's numbers, unless a measurement moved them (see CHANGELOG.md)."""

    min_vector: Annotated[float, Field(ge=-1.0, le=1.0)] = 0.3
    weight_vector: Unit = 0.75  # the seed's 0.7 and 0.3 rank clapnq-dev below vectors alone
    weight_lexical: Unit = 0.25
    time_weight_vector: Unit = 0.6
    time_weight_lexical: Unit = 0.25
    time_weight_recency: Unit = 0.15
    heading_bonus: Unit = 0.05
    note_share_vector: Unit = 0.3  # of the vector score: the mean of the whole note's
    note_share_lexical: Unit = 0.7  # of the keyword score: BM25 of the whole note
    note_chunks: Annotated[int, Field(ge=0, le=1000)] = 12  # longer notes: less; 0: off
    mmr_lambda: Unit = 0.9  # 1: off; lower: hits that say something else come in
    max_per_note: Annotated[int, Field(ge=0, le=50)] = 0  # 0: no limit
    expand: bool = False  # needs the model server
    expand_variants: Annotated[int, Field(ge=1, le=8)] = 3
    hyde: bool = False  # needs the model server
    recency_half_life_days: Annotated[float, Field(gt=0)] = 30.0
    k_default: Annotated[int, Field(ge=1, le=50)] = 5
    k_max: Annotated[int, Field(ge=1, le=50)] = 8
    folder_select: Literal["auto", "llm", "off"] = "auto"

    @model_validator(mode="after")
    def _check_range_of_k(self) -> RetrievalSettings:
        if self.k_default > self.k_max:
            raise ValueError("k_default has to be at most k_max")
        return self


class RerankSettings(_Part):
    """Reading the best candidates again, together with the question."""

    backend: RerankBackend = "none"
    model: str = "cross-encoder/ms-marco-MiniLM-L-6-v2"
    path: str | None = None  # a model's folder (onnx: or an .onnx file), instead of model
    top: Annotated[int, Field(ge=1, le=200)] = 20
    weight: Unit = 0.5  # of the reranker's score; the blend has the rest
    download: bool = True  # may the model be fetched from the hub when it is nowhere local


class LogisticSettings(_Part):
    """σ(intercept + Σ coefficient·feature), over the features that `--debug` and the CHANGELOG
    name."""

    features: tuple[str, ...]
    coefficients: tuple[Annotated[float, Field(allow_inf_nan=False)], ...]
    intercept: Annotated[float, Field(allow_inf_nan=False)]

    @model_validator(mode="after")
    def _check_pairs(self) -> LogisticSettings:
        if not self.features or len(self.features) != len(self.coefficients):
            raise ValueError("it needs a feature or more, and one coefficient for each")
        return self


class CalibrationSettings(_Part):
    """A confidence fitted on one's own notes (`ragvault eval --calibrate --apply` writes it): the
    product of the two, for the embedding model that it was fitted with and no other."""

    model: Annotated[str, Field(min_length=1)]
    topic: LogisticSettings
    answered: LogisticSettings | None = None


class GateSettings(_Part):
    """``min_final`` and ``min_confidence``: below either, ragvault abstains."""

    min_final: Unit = 0.3  # notes-engine-rag.md: 0.4, which drops one good answer in 200
    min_confidence: Unit = 0.07  # see the README: what it refuses and lets pass
    calibration: CalibrationSettings | None = None  # None: the one built in for the model


class AnswerSettings(_Part):
    fallback: Literal["extractive", "none"] = "extractive"
    max_chars: Annotated[int, Field(ge=200)] = 12000
    neighbours: Annotated[int, Field(ge=0, le=5)] = 1  # before and after, of the same section
    # More would double the prompt; for as many tokens, more hits hold more (see CHANGELOG.md).
    neighbours_for: Annotated[int, Field(ge=1, le=50)] = 1
    log: bool = True  # keep questions and answers in the local answer log


class OllamaSettings(_Part):
    host: str = "http://127.0.0.1:11434"
    model: str = "llama3.2"
    embedding_model: str = "nomic-embed-text"
    temperature: Annotated[float, Field(ge=0.0, le=2.0)] = 0.3
    timeout_s: Annotated[float, Field(gt=0)] = 120.0  # to the first token, and between tokens
    keep_alive: str = "5m"
    max_context: Annotated[int, Field(ge=512)] = 8192  # num_ctx: the model's own, at most this
    max_tokens: Annotated[int, Field(ge=16)] = 1000  # of an answer
    think: bool = False  # let a reasoning model reason first: slower, not shown, uses max_tokens


class OutputSettings(_Part):
    links: Literal["auto", "obsidian", "file", "off"] = "auto"
    color: Literal["auto", "always", "never"] = "auto"


class Settings(_Part):
    """The whole configuration."""

    index: IndexSettings = Field(default_factory=IndexSettings)
    chunking: ChunkingSettings = Field(default_factory=ChunkingSettings)
    embedding: EmbeddingSettings = Field(default_factory=EmbeddingSettings)
    store: StoreSettings = Field(default_factory=StoreSettings)
    retrieval: RetrievalSettings = Field(default_factory=RetrievalSettings)
    rerank: RerankSettings = Field(default_factory=RerankSettings)
    gate: GateSettings = Field(default_factory=GateSettings)
    answer: AnswerSettings = Field(default_factory=AnswerSettings)
    ollama: OllamaSettings = Field(default_factory=OllamaSettings)
    output: OutputSettings = Field(default_factory=OutputSettings)
