"""The settings: name, type, bounds, default and meaning of each, as one validated, frozen object.

What stands here is all there is to say about a setting: config.example.yaml, the docs and the
messages about bad values are made from it (``keys``), so that none can drift.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from ragvault.config.profiles import ALIASES, EmbeddingBackend, RerankBackend, StoreMode

ProfileName = Annotated[
    Literal["bundled", "multilingual"], BeforeValidator(lambda name: ALIASES.get(name, name))
]
# "auto" was a guess that changed no ranking.
FolderSelect = Annotated[
    Literal["llm", "off"], BeforeValidator(lambda how: "off" if how == "auto" else how)
]
Unit = Annotated[float, Field(ge=0.0, le=1.0)]
# http(s)://HOST, or HOST, :PORT or nothing as Ollama takes them; then a port and a path.
_ADDRESS = r"^(https?://([^\s/@]*@)?(\[[^\s\]]+\]|[^\s:/\[\]]+)|\[[^\s\]]+\]|[^\s:/\[\]]*)(:\d{1,5})?(/\S*)?$"


def _key(default: Any, meaning: str, **bounds: Any) -> Any:
    return Field(default, description=meaning, **bounds)


class _Part(BaseModel):
    # Not strict: a file's and a variable's values are text, read by the type of their setting.
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class IndexSettings(_Part):
    """Which files become notes, and where the index lives."""

    path: str | None = _key(
        None, "Folder of the index. null: the platform's data folder. Relative to this file."
    )
    extensions: tuple[Annotated[str, Field(min_length=1)], ...] = _key(
        (".md", ".markdown"), "File names that end so are notes.", min_length=1
    )
    exclude: tuple[str, ...] = _key(
        (), "Patterns as in .gitignore, relative to the vault, of what to leave out."
    )
    respect_gitignore: bool = _key(True, "Leave out what the vault's .gitignore files name.")
    max_file_mb: float = _key(
        20.0, "Larger files are skipped, and named in the summary. Megabytes.", gt=0
    )
    lock_timeout_s: float = _key(
        0.0, "How long to wait for another process that is indexing. Seconds.", ge=0
    )


MAX_TOKENS = 254  # what the bundled model reads at once, beside its two specials


class ChunkingSettings(_Part):
    """How notes are cut. Sizes are in the bundled model's tokens, whatever model embeds."""

    max_tokens: int = _key(
        MAX_TOKENS, "Longest passage. 0: as long as the model reads at once. Tokens.", ge=0, le=8192
    )
    overlap: float = _key(
        0.12, "How much of a passage the next one repeats. Share of max_tokens.", ge=0.0, le=0.5
    )


class EmbeddingSettings(_Part):
    """The model that turns text into vectors. Changing it re-indexes."""

    profile: ProfileName = _key(
        "bundled", "bundled: English, quick. multilingual: EmbeddingGemma, finds more, slower."
    )
    backend: EmbeddingBackend = _key(
        "auto", "What runs the model. auto: onnx (built in), or Ollama where only it has it."
    )
    model: str | None = _key(
        None, "Hub id of another model (onnx, sentence-transformers). null: the profile's."
    )
    path: str | None = _key(None, "An .onnx file, or a model's folder. Relative to this file.")
    threads: int = _key(0, "Threads that embed. 0: as many as cores.", ge=0, le=256)
    query_prefix: str | None = _key(
        None, 'Put before each question. null: as the model was trained; "": nothing.'
    )
    document_prefix: str | None = _key(
        None, 'Put before each passage. null: as the model was trained; "": nothing.'
    )


class StoreSettings(_Part):
    """Where the vectors are kept. The catalog beside them can always rebuild them."""

    mode: StoreMode = _key(
        "persistent", "persistent: files in the index folder. http: a Chroma server."
    )
    search: Literal["auto", "chroma"] = _key(
        "auto",
        "auto: a vault of up to 20,000 passages is compared in full, without the vector store. "
        "chroma: the vector store proposes in every vault.",
    )
    host: str = _key("localhost", "Host of the Chroma server.")
    port: int = _key(8000, "Port of the Chroma server.", ge=1, le=65535)
    ssl: bool = _key(False, "Speak https to the Chroma server.")
    headers: dict[str, str] = _key({}, "HTTP headers for the Chroma server, such as a token.")


class RetrievalSettings(_Part):
    """How passages are found and ranked."""

    min_vector: float | None = _key(
        None,
        "Below this cosine a passage needs a word match. null: by the model.",
        ge=-1.0,
        le=1.0,
    )
    weight_vector: Unit | None = _key(
        None, "Share of the cosine in the score; words have the rest. null: the model's."
    )
    expand: bool = _key(False, "Search other wordings of the question too, which the model writes.")
    hyde: bool = _key(False, "Search by the model's guess at the answer too (HyDE).")
    folder_select: FolderSelect = _key("off", "llm: the model ranks the folders; off.")


class RerankSettings(_Part):
    """Reading the best passages again, together with the question. Slower."""

    backend: RerankBackend = _key("none", "onnx: by a cross-encoder.")
    model: str = _key("cross-encoder/ms-marco-MiniLM-L-6-v2", "Hub id of a cross-encoder.")
    path: str | None = _key(
        None, "A cross-encoder's folder, instead of the hub's. Relative to this file."
    )


class GateSettings(_Part):
    """When ragvault says no instead of answering."""

    min_confidence: Unit = _key(
        0.42, "Below this confidence ragvault says where to look instead of answering."
    )


class AnswerSettings(_Part):
    """How the answer is made."""

    fallback: Literal["extractive", "none"] = _key(
        "extractive", "Without a model: extractive (quote the notes) or none (exit 5)."
    )
    citing: Literal["auto", "model", "ragvault"] = _key(
        "auto",
        "Who cites: model, ragvault (it finds what a statement rests on); "
        "auto: ragvault for models under 4 billion parameters.",
    )
    unsupported: Literal["drop", "mark", "keep"] = _key(
        "drop", "Statements of the model that no note holds: left out, marked, or shown as any."
    )
    max_chars: int = _key(12000, "Most text of notes in the prompt. Characters.", ge=200)
    neighbours: int = _key(
        1, "Passages before and after one found, of its section, where they fit.", ge=0, le=5
    )


class HistorySettings(_Part):
    """Questions and answers, kept in the index folder for `ragvault history` and `show`."""

    enabled: bool = _key(True, "Keep them.")
    keep_days: int = _key(0, "Forget what was asked longer ago. 0: never. Days.", ge=0)


class CitationSettings(_Part):
    """How an answer names its sources."""

    style: Literal["file-section", "numeric"] = _key(
        "file-section",
        "file-section: [File: a.md, Section: B]. numeric: [1]. A terminal shows [1].",
    )


class OllamaSettings(_Part):
    """The model server that writes the answers."""

    host: str = _key("http://127.0.0.1:11434", "Where Ollama listens.", pattern=_ADDRESS)
    model: str | None = _key(
        None, "The model that writes answers. null: the best that the server has."
    )
    embedding_model: str | None = _key(
        None, "For embedding.backend: ollama. null: the profile's, or the best known there."
    )
    temperature: float = _key(
        0.0, "0: the most likely word each time; higher: more varied.", ge=0.0, le=2.0
    )
    seed: int | None = _key(
        0, "Of what is varied: the same question, the same answer. null: another each time."
    )
    timeout_s: float = _key(
        120.0, "Longest wait for the first word, and between words. Seconds.", gt=0
    )
    assist_timeout_s: float = _key(
        20.0, "Longest wait for what helps the search: wordings, a guess, folders. Seconds.", gt=0
    )
    keep_alive: str = _key(
        "5m", "How long Ollama keeps the model in memory, such as 5m; -1: always."
    )
    max_context: int = _key(8192, "Context length, the model's own at most. Tokens.", ge=512)
    max_tokens: int = _key(1000, "Longest answer. Tokens.", ge=16)
    think: bool = _key(False, "Let a reasoning model reason first: slower, and never shown.")

    @property
    def is_chosen(self) -> bool:
        """Whether somebody named a model or a server: else quoting is the normal way."""
        usual = type(self).model_fields["host"].default
        return self.model is not None or self.host != usual


class OutputSettings(_Part):
    """What is shown of an answer, and how."""

    evidence: Literal["auto", "always", "off"] = _key(
        "auto",
        "The note's words beneath the source of what a model wrote: where it doesn't say them "
        "itself, always, or off.",
    )
    links: Literal["auto", "obsidian", "file", "off"] = _key(
        "auto", "auto: obsidian:// for Obsidian vaults, else file://; or always one; off."
    )
    color: Literal["auto", "always", "never"] = _key(
        "auto", "auto: on a terminal, unless NO_COLOR is set; always; never."
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
