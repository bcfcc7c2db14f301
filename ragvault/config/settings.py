"""The settings: name, type, bounds, default and meaning of each, as one validated, frozen object.

What stands here is all there is to say about a setting: config.example.yaml, the messages about
bad values and the JSON Schema for editors are made from it (``keys``), so that none can drift.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from ragvault.config.backends import EmbeddingBackend, RerankBackend, StoreMode
from ragvault.config.profiles import ALIASES

ProfileName = Annotated[
    Literal["bundled", "multilingual"], BeforeValidator(lambda name: ALIASES.get(name, name))
]
Unit = Annotated[float, Field(ge=0.0, le=1.0)]


class _Part(BaseModel):
    # Not strict: a file's and a variable's values are text, read by the type of their setting.
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class IndexSettings(_Part):
    """Which files become notes, and where the index lives."""

    path: str | None = Field(
        default=None,
        description="Folder of the index. null: the platform's data folder. Relative to this file.",
    )
    extensions: tuple[str, ...] = Field(
        default=(".md", ".markdown"), description="File names that end so are notes."
    )
    exclude: tuple[str, ...] = Field(
        default=(),
        description="Patterns as in .gitignore, relative to the vault, of what to leave out.",
    )
    respect_gitignore: bool = Field(
        default=True, description="Leave out what the vault's .gitignore files name."
    )
    max_file_mb: float = Field(
        default=20.0,
        gt=0,
        description="Larger files are skipped, and named in the summary. Megabytes.",
    )
    lock_timeout_s: float = Field(
        default=0.0,
        ge=0,
        description="How long to wait for another process that is indexing. Seconds.",
    )


MAX_TOKENS = 254  # what the bundled model reads at once, beside its two specials


class ChunkingSettings(_Part):
    """How notes are cut. Sizes are in the bundled model's tokens, whatever model embeds."""

    max_tokens: int = Field(
        default=MAX_TOKENS,
        ge=0,
        le=8192,
        description="Longest passage. 0: as long as the model reads at once. Tokens.",
    )
    overlap: float = Field(
        default=0.12,
        ge=0.0,
        le=0.5,
        description="How much of a passage the next one repeats. Share of max_tokens.",
    )


class EmbeddingSettings(_Part):
    """The model that turns text into vectors. Changing it re-indexes."""

    profile: ProfileName = Field(
        default="bundled",
        description="bundled: English, quick. multilingual: EmbeddingGemma, finds more, slower.",
    )
    backend: EmbeddingBackend = Field(
        default="auto",
        description="What runs the model. auto: onnx (built in), or Ollama where only it has it.",
    )
    model: str | None = Field(
        default=None,
        description="Hub id of another model (onnx, sentence-transformers). null: the profile's.",
    )
    path: str | None = Field(
        default=None, description="An .onnx file, or a model's folder. Relative to this file."
    )
    threads: int = Field(
        default=0, ge=0, le=256, description="Threads that embed. 0: as many as cores."
    )
    query_prefix: str | None = Field(
        default=None,
        description='Put before each question. null: as the model was trained; "": nothing.',
    )
    document_prefix: str | None = Field(
        default=None,
        description='Put before each passage. null: as the model was trained; "": nothing.',
    )


class StoreSettings(_Part):
    """Where the vectors are kept. The catalog beside them can always rebuild them."""

    mode: StoreMode = Field(
        default="persistent",
        description="persistent: files in the index folder. http: a Chroma server.",
    )
    search: Literal["auto", "chroma"] = Field(
        default="auto",
        description="auto: a vault of up to 20,000 passages is compared in full, without the"
        " vector store. chroma: the vector store proposes in every vault.",
    )
    host: str = Field(default="localhost", description="Host of the Chroma server.")
    port: int = Field(default=8000, ge=1, le=65535, description="Port of the Chroma server.")
    ssl: bool = Field(default=False, description="Speak https to the Chroma server.")
    headers: dict[str, str] = Field(
        default={}, description="HTTP headers for the Chroma server, such as a token."
    )


class RetrievalSettings(_Part):
    """How passages are found and ranked."""

    min_vector: float | None = Field(
        default=None,
        ge=-1.0,
        le=1.0,
        description="Below this cosine a passage needs a word match. null: measured in the vault.",
    )
    weight_vector: Unit | None = Field(
        default=None,
        description="Share of the cosine in the score; words have the rest. null: the model's.",
    )
    expand: bool = Field(
        default=False,
        description="Search other wordings of the question too, which the model writes.",
    )
    hyde: bool = Field(
        default=False, description="Search by the model's guess at the answer too (HyDE)."
    )
    recency_half_life_days: float = Field(
        default=30.0, gt=0, description="Recency halves in so many days, at the latest."
    )
    k_default: int = Field(default=5, ge=1, le=50, description="Usual number of passages.")
    k_max: int = Field(default=8, ge=1, le=50, description="Most passages.")
    folder_select: Literal["auto", "llm", "off"] = Field(
        default="auto",
        description="auto: likely folders add candidates; llm: the model ranks; off.",
    )

    @model_validator(mode="after")
    def _check_range_of_k(self) -> RetrievalSettings:
        if self.k_default > self.k_max:
            raise ValueError("k_default has to be at most k_max")
        return self


class RerankSettings(_Part):
    """Reading the best passages again, together with the question. Slower."""

    backend: RerankBackend = Field(
        default="none",
        description="cross-encoder: sentence-transformers. onnx: the same without torch.",
    )
    model: str = Field(
        default="cross-encoder/ms-marco-MiniLM-L-6-v2",
        description="Hub id of a cross-encoder (onnx, cross-encoder).",
    )
    path: str | None = Field(
        default=None,
        description="A cross-encoder's folder, instead of the hub's. Relative to this file.",
    )
    top: int = Field(
        default=20, ge=1, le=200, description="How many of the best passages are read again."
    )
    weight: Unit = Field(
        default=0.5, description="Share of the reranker's score in the final score."
    )


class GateSettings(_Part):
    """When ragvault says no instead of answering."""

    min_confidence: Unit = Field(
        default=0.48,
        description="Below this confidence ragvault says where to look instead of answering.",
    )


class AnswerSettings(_Part):
    """How the answer is made."""

    fallback: Literal["extractive", "none"] = Field(
        default="extractive",
        description="Without a model: extractive (quote the notes) or none (exit 5).",
    )
    citing: Literal["auto", "model", "ragvault"] = Field(
        default="auto",
        description="Who cites: model, ragvault (it finds what a statement rests on); "
        "auto: ragvault for models under 4 billion parameters.",
    )
    unsupported: Literal["drop", "mark"] = Field(
        default="drop",
        description="Statements of the model that no note holds: left out, or shown and listed.",
    )
    max_chars: int = Field(
        default=12000, ge=200, description="Most text of notes in the prompt. Characters."
    )
    neighbours: int = Field(
        default=1,
        ge=0,
        le=5,
        description="Passages before and after one found, of its section, where they fit.",
    )


class HistorySettings(_Part):
    """Questions and answers, kept in the index folder for `ragvault history` and `show`."""

    enabled: bool = Field(default=True, description="Keep them.")
    keep_days: int = Field(
        default=0, ge=0, description="Forget what was asked longer ago. 0: never. Days."
    )


class CitationSettings(_Part):
    """How an answer names its sources."""

    style: Literal["file-section", "numeric"] = Field(
        default="file-section",
        description="file-section: [File: a.md, Section: B]. numeric: [1]. A terminal shows [1].",
    )


class OllamaSettings(_Part):
    """The model server that writes the answers."""

    host: str = Field(default="http://127.0.0.1:11434", description="Where Ollama listens.")
    model: str | None = Field(
        default=None,
        description="The model that writes answers. null: the best that the server has.",
    )
    embedding_model: str | None = Field(
        default=None,
        description="For embedding.backend: ollama. null: the profile's, or the best known there.",
    )
    temperature: float = Field(
        default=0.0,
        ge=0.0,
        le=2.0,
        description="0: the most likely word each time; higher: more varied.",
    )
    timeout_s: float = Field(
        default=120.0,
        gt=0,
        description="Longest wait for the first word, and between words. Seconds.",
    )
    assist_timeout_s: float = Field(
        default=20.0,
        gt=0,
        description="Longest wait for what helps the search: wordings, a guess, folders. Seconds.",
    )
    keep_alive: str = Field(
        default="5m",
        description="How long Ollama keeps the model in memory, such as 5m; -1: always.",
    )
    max_context: int = Field(
        default=8192, ge=512, description="Context length, the model's own at most. Tokens."
    )
    max_tokens: int = Field(default=1000, ge=16, description="Longest answer. Tokens.")
    think: bool = Field(
        default=False, description="Let a reasoning model reason first: slower, and never shown."
    )


class OutputSettings(_Part):
    """What the terminal shows."""

    links: Literal["auto", "obsidian", "file", "off"] = Field(
        default="auto",
        description="auto: obsidian:// for Obsidian vaults, else file://; or always one; off.",
    )
    color: Literal["auto", "always", "never"] = Field(
        default="auto", description="auto: on a terminal, unless NO_COLOR is set; always; never."
    )


class Settings(_Part):
    """The whole configuration."""

    index: IndexSettings = IndexSettings()
    chunking: ChunkingSettings = ChunkingSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    store: StoreSettings = StoreSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    rerank: RerankSettings = RerankSettings()
    gate: GateSettings = GateSettings()
    answer: AnswerSettings = AnswerSettings()
    citations: CitationSettings = CitationSettings()
    history: HistorySettings = HistorySettings()
    ollama: OllamaSettings = OllamaSettings()
    output: OutputSettings = OutputSettings()
