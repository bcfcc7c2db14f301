"""What the settings are called, mean and may hold: read from the classes in config.py.

The meanings are here, once; ``example()`` renders config.example.yaml from them and from the
defaults, so that neither can drift.
"""

from __future__ import annotations

import types
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from ragvault.config.settings import Settings

SECTIONS: dict[str, str] = {
    "index": "Which files become notes, and where the index lives.",
    "chunking": "How notes are cut. Sizes are in the embedding model's tokens.",
    "embedding": "The model that turns text into vectors. Changing it re-indexes.",
    "store": "Where the vectors are kept. The catalog beside them can always rebuild them.",
    "retrieval": "How passages are found and ranked.",
    "rerank": "Reading the best passages again, together with the question. Slower.",
    "gate": "When ragvault says no instead of answering.",
    "answer": "How the answer is made.",
    "ollama": "The model server that writes the answers.",
    "output": "What the terminal shows.",
}

MEANINGS: dict[str, str] = {
    "index.path": "Folder of the index. null: the platform's data folder. Relative to this file.",
    "index.extensions": "File names that end so are notes.",
    "index.exclude": "Patterns as in .gitignore, relative to the vault, of what to leave out.",
    "index.respect_gitignore": "Leave out what the vault's .gitignore files name.",
    "index.max_file_mb": "Larger files are skipped, and named in the summary. Megabytes.",
    "index.lock_timeout_s": "How long to wait for another process that is indexing. Seconds.",
    "chunking.max_tokens": "Longest passage. 0: as long as the model reads at once. Tokens.",
    "chunking.overlap": "How much of a passage the next one repeats. Share of max_tokens.",
    "embedding.backend": "What runs the model: onnx (built in), sentence-transformers, ollama.",
    "embedding.model": "Hub id of the model (onnx, sentence-transformers).",
    "embedding.path": "An .onnx file, or a model's folder. Relative to this file.",
    "embedding.threads": "Threads that embed. 0: as many as cores.",
    "embedding.query_prefix": "Put before each question, for models that were trained with it.",
    "embedding.document_prefix": "Put before each passage, for models that were trained with it.",
    "embedding.download": "May the model be fetched from the hub when it is nowhere local.",
    "store.mode": "persistent: files in the index folder. http: a Chroma server.",
    "store.host": "Host of the Chroma server.",
    "store.port": "Port of the Chroma server.",
    "store.ssl": "Speak https to the Chroma server.",
    "store.headers": "HTTP headers for the Chroma server, such as a token.",
    "retrieval.min_vector": "Below this cosine a passage needs a word match to stay.",
    "retrieval.weight_vector": "Share of the cosine in the final score.",
    "retrieval.weight_lexical": "Share of the word match in the final score.",
    "retrieval.time_weight_vector": "The same when the question has a time in it: cosine.",
    "retrieval.time_weight_lexical": "… word match.",
    "retrieval.time_weight_recency": "… recency.",
    "retrieval.heading_bonus": "Added to the word match when a word is in the heading.",
    "retrieval.note_share_vector": "Share of the whole note (its passages' mean) in the cosine.",
    "retrieval.note_share_lexical": "Share of the whole note in the word match.",
    "retrieval.note_chunks": "In longer notes its shares shrink, and words weigh more; 0: none.",
    "retrieval.mmr_lambda": "1: off. Lower: passages like a better one give way to others (MMR).",
    "retrieval.max_per_note": "Most passages of one note that an answer is made from. 0: any.",
    "retrieval.expand": "Search other wordings of the question too, which the model writes.",
    "retrieval.expand_variants": "How many other wordings.",
    "retrieval.hyde": "Search by the model's guess at the answer too (HyDE).",
    "retrieval.recency_half_life_days": "Recency halves in so many days, at the latest.",
    "retrieval.k_default": "Usual number of passages.",
    "retrieval.k_max": "Most passages.",
    "retrieval.folder_select": "auto: likely folders add candidates; llm: the model ranks; off.",
    "rerank.backend": "cross-encoder: sentence-transformers. onnx: the same without torch.",
    "rerank.model": "Hub id of a cross-encoder (onnx, cross-encoder).",
    "rerank.path": "A cross-encoder's folder, instead of the hub's. Relative to this file.",
    "rerank.top": "How many of the best passages are read again.",
    "rerank.weight": "Share of the reranker's score in the final score.",
    "rerank.download": "May the model be fetched from the hub when it is nowhere local.",
    "gate.min_final": "Passages with a lower final score are not answered from.",
    "gate.min_confidence": "Below this confidence ragvault abstains.",
    "gate.calibration": "The confidence, as `eval --calibrate --apply` fits it. null: built in.",
    "answer.fallback": "Without a model: extractive (quote the notes) or none (exit 5).",
    "answer.max_chars": "Most text of notes in the prompt. Characters.",
    "answer.neighbours": "Passages before and after one found, of its section, where they fit.",
    "answer.neighbours_for": "So many of the best passages get their neighbours.",
    "answer.log": "Keep questions and answers in the index folder's catalog.",
    "ollama.host": "Where Ollama listens.",
    "ollama.model": "The model that writes answers.",
    "ollama.embedding_model": "The model for embedding.backend: ollama.",
    "ollama.temperature": "0: the most likely word each time; higher: more varied.",
    "ollama.timeout_s": "Longest wait for the first word, and between words. Seconds.",
    "ollama.keep_alive": "How long Ollama keeps the model in memory, such as 5m; -1: always.",
    "ollama.max_context": "Context length, the model's own at most. Tokens.",
    "ollama.think": "Let a reasoning model reason first: slower, and never shown.",
    "ollama.max_tokens": "Longest answer. Tokens.",
    "output.links": "auto: obsidian:// for Obsidian vaults, else file://; or always one; off.",
    "output.color": "auto: on a terminal, unless NO_COLOR is set; always; never.",
}


@dataclass(frozen=True)
class Key:
    """One setting: ``section.name``, its annotation, default, and what it expects in words."""

    section: str
    name: str
    annotation: Any
    default: Any
    expects: str

    @property
    def dotted(self) -> str:
        """As it is named in messages: ``section.name``."""
        return f"{self.section}.{self.name}"

    @property
    def env(self) -> str:
        """The variable that sets it."""
        return f"RAGVAULT_{self.section}_{self.name}".upper()

    @property
    def kind(self) -> str:
        """ "bool", "int", "float", "text", "list", "mapping" or "block" (a mapping of named
        settings); None may come beside it."""
        inner = _without_none(self.annotation)
        if inner in (bool, int, float):
            return str(inner.__name__)
        if is_block(inner):
            return "block"
        return {tuple: "list", dict: "mapping"}.get(get_origin(inner), "text")

    @property
    def choices(self) -> tuple[object, ...]:
        """The words it takes, where it takes only certain ones."""
        return get_args(self.annotation) if get_origin(self.annotation) is Literal else ()

    @property
    def nullable(self) -> bool:
        """Whether it may be null."""
        return type(None) in get_args(self.annotation)

    @property
    def is_path(self) -> bool:
        """Whether a relative one counts from the file that it stands in."""
        return self.name == "path"


@cache
def keys() -> dict[str, Key]:
    """Every setting by its dotted name, in the order of config.py."""
    found: dict[str, Key] = {}
    for section, part in Settings.model_fields.items():
        model = part.annotation
        assert isinstance(model, type) and issubclass(model, BaseModel)
        for name, field in model.model_fields.items():
            default = field.get_default(call_default_factory=True)
            key = Key(section, name, field.annotation, default, _expects(field))
            found[key.dotted] = key
    return found


def block_keys(key: Key) -> dict[str, Key]:
    """The settings of a block by their names, as keys of their own."""
    model = _without_none(key.annotation)
    return {
        name: Key(key.dotted, name, field.annotation, None, _expects(field))
        for name, field in model.model_fields.items()
    }


def is_block(annotation: Any) -> bool:
    """Whether a setting is a mapping of named settings."""
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def section_names() -> tuple[str, ...]:
    """The sections, in the order of config.py."""
    return tuple(Settings.model_fields)


def _without_none(annotation: Any) -> Any:
    if get_origin(annotation) in (Union, types.UnionType):
        return next(arg for arg in get_args(annotation) if arg is not type(None))
    return annotation


def _expects(field: FieldInfo) -> str:
    """ "a whole number from 1 to 50": the annotation and its bounds in words."""
    annotation = _without_none(field.annotation)
    none = " or null" if type(None) in get_args(field.annotation) else ""
    if get_origin(annotation) is Literal:
        return "one of " + ", ".join(str(choice) for choice in get_args(annotation))
    if get_origin(annotation) is tuple:
        return "a list of numbers" if _holds_numbers(annotation) else "a list of texts"
    if is_block(annotation):
        return f"a mapping of {', '.join(annotation.model_fields)}{none}"
    if get_origin(annotation) is dict:
        return "a mapping of texts to texts"
    words = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
    return words[annotation] + _bounds(field) + none


def _holds_numbers(annotation: Any) -> bool:
    """Whether a tuple's items are numbers: plain, or with bounds (Annotated)."""
    item = get_args(annotation)[0]
    return (get_args(item) or (item,))[0] is float


def _bounds(field: FieldInfo) -> str:
    low = next((m.ge for m in field.metadata if getattr(m, "ge", None) is not None), None)
    above = next((m.gt for m in field.metadata if getattr(m, "gt", None) is not None), None)
    high = next((m.le for m in field.metadata if getattr(m, "le", None) is not None), None)
    if low is not None and high is not None:
        return f" from {low:g} to {high:g}"
    if low is not None:
        return f", at least {low:g}"
    return f" above {above:g}" if above is not None else ""


def example(*, active: bool = True) -> str:
    """The text of config.example.yaml: every key with its default, what it takes, its meaning.

    With ``active`` False every key is commented out: for a person's own file, so that a default
    that a later version improves reaches them.
    """
    mark = "" if active else "#"
    lines = [
        "# ragvault's settings: every key with its default. `ragvault config init` writes it,",
        "# each key commented out, where `ragvault config path` says; change there what you need.",
        "#",
        "# A setting comes from, in this order: a flag of the command, an environment variable",
        "# (RAGVAULT_ and the key in capitals: RAGVAULT_OLLAMA_MODEL for ollama.model; a list as",
        "# comma-separated texts), this file, the default. An unknown key or a bad value is an",
        "# error that names its line.",
    ]
    for section in section_names():
        lines += ["", f"{section}:  # {SECTIONS[section]}"]
        for key in keys().values():
            if key.section == section:
                lines.append(f"  # {MEANINGS[key.dotted]}")
                lines.append(f"  {mark}{key.name}: {as_yaml(key.default)}  # {key.expects}")
    return "\n".join(lines) + "\n"


def as_yaml(value: Any) -> str:
    """A setting's value on one line of YAML (and of JSON, but for plain words)."""
    import json

    if isinstance(value, str):
        plain = value and value.replace("-", "").replace(".", "").replace("_", "").isalnum()
        risky = value.lower() in {"on", "off", "yes", "no", "true", "false", "null", "y", "n"}
        return value if plain and not risky and not value[0].isdigit() else json.dumps(value)
    if isinstance(value, BaseModel):
        value = value.model_dump()
    if isinstance(value, tuple | list):
        return "[" + ", ".join(json.dumps(item, ensure_ascii=False) for item in value) + "]"
    if isinstance(value, float):
        return f"{value:g}" if value != int(value) else f"{value:.1f}"
    return json.dumps(value, ensure_ascii=False)
