"""What the settings are called and may hold, read from the JSON Schema of ``settings``: for
messages and for config.example.yaml. Making the schema takes some 10 ms: reading a
configuration without a mistake doesn't ask for it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ragvault.config.settings import Settings

ENV_PREFIX = "RAGVAULT_"
# Keys of earlier versions that have no effect any more (CHANGELOG.md says what is so now), and
# those that have another name.
GONE = frozenset(
    """
    answer.max_chunks answer.neighbours_for answer.retry_uncited
    embedding.download gate.calibration gate.min_final gate.mode
    index.watch_debounce_s ollama.connect_timeout_s rerank.download rerank.top rerank.weight
    retrieval.expand_variants retrieval.heading_bonus retrieval.k_default retrieval.k_max
    retrieval.k_min retrieval.lexical_candidates retrieval.max_candidates retrieval.max_folders
    retrieval.max_per_note retrieval.max_question_chars retrieval.mmr_lambda
    retrieval.note_chunks retrieval.note_share_lexical retrieval.note_share_vector
    retrieval.recency_half_life_days
    retrieval.time_weight_lexical retrieval.time_weight_recency retrieval.time_weight_vector
    retrieval.vector_candidates retrieval.weight_lexical
""".split()
)
RENAMED = {"answer.log": "history.enabled"}


def variable(dotted: str) -> str:
    """The environment variable that sets a key."""
    return f"{ENV_PREFIX}{dotted.replace('.', '_')}".upper()


@dataclass(frozen=True)
class Key:
    """One setting. ``meaning``: what it is for, in a line; ``expects``: what it takes, in words.
    ``kind`` is of a value that isn't null: "string", "array", "object", "boolean", "integer",
    "number"."""

    section: str
    name: str
    default: Any
    meaning: str
    expects: str
    kind: str
    nullable: bool

    @property
    def dotted(self) -> str:
        """As it is named in messages: ``section.name``."""
        return f"{self.section}.{self.name}"

    @property
    def env(self) -> str:
        """The variable that sets it."""
        return variable(self.dotted)


_NULL = {"type": "null"}


@cache
def keys() -> dict[str, Key]:
    """Every setting by its dotted name, in the order of ``settings``."""
    found = [
        Key(
            section=section,
            name=name,
            default=part["default"],
            meaning=part["description"],
            expects=expected(part),
            kind=_type_of(part)["type"],
            nullable=_NULL in part.get("anyOf", ()),
        )
        for section, whole in schema()["properties"].items()
        for name, part in _type_of(whole)["properties"].items()
    ]
    return {key.dotted: key for key in found}


@cache
def sections() -> dict[str, str]:
    """What each section is about, in the order of ``settings``."""
    parts = schema()["properties"].items()
    return {name: " ".join(_type_of(part)["description"].split()) for name, part in parts}


@cache
def schema() -> dict[str, Any]:
    """The JSON Schema of a configuration file."""
    return Settings.model_json_schema()


def setting_at(place: Sequence[str | int]) -> tuple[str, dict[str, Any]]:
    """The setting that a place in the configuration belongs to, such as ("index", "exclude", 3):
    its dotted name and its part of the schema."""
    part: dict[str, Any] = schema()
    names: list[str] = []
    for name in place:
        below = _type_of(part).get("properties", {})
        if name not in below:
            break
        names.append(str(name))
        part = below[name]
    return ".".join(names), part


def names_in(part: dict[str, Any]) -> list[str]:
    """The keys that a mapping of named settings may have."""
    return list(_type_of(part).get("properties", ()))


def expected(part: dict[str, Any]) -> str:
    """What a setting takes, in words: "a whole number from 1 to 50"."""
    kind = _type_of(part)
    null = " or null" if _NULL in part.get("anyOf", ()) else ""
    if "enum" in kind:
        return "one of " + ", ".join(kind["enum"])
    if kind["type"] == "array":
        return "a list of texts, at least one" if "minItems" in kind else "a list of texts"
    if "pattern" in kind:
        return "an address such as " + str(part["default"])
    words = {
        "boolean": "true or false",
        "integer": "a whole number",
        "number": "a number",
        "string": "text",
        "object": "a mapping of texts to texts",
    }
    return words[kind["type"]] + _bounds(kind) + null


def _type_of(part: dict[str, Any]) -> dict[str, Any]:
    """What a part of the schema says of values that are not null."""
    kind = next(one for one in part.get("anyOf", [part]) if one != _NULL)
    name = kind.get("$ref", "").rpartition("/")[2]
    return schema()["$defs"][name] if name else kind  # type: ignore[no-any-return]


def _bounds(kind: dict[str, Any]) -> str:
    low, above, high = (kind.get(b) for b in ("minimum", "exclusiveMinimum", "maximum"))
    if low is not None and high is not None:
        return f" from {low:g} to {high:g}"
    if low is not None:
        return f", at least {low:g}"
    return f" above {above:g}" if above is not None else ""


_HEAD = """\
# ragvault's settings: every key with its default. `ragvault config init` writes it,
# each key commented out, where `ragvault config path` says; change there what you need.
#
# A setting comes from, in this order: a flag of the command, an environment variable
# (RAGVAULT_ and the key in capitals: RAGVAULT_OLLAMA_MODEL for ollama.model; a list as
# comma-separated texts), this file, the default. An unknown key or a bad value is an
# error that names its line."""


def example(*, active: bool = True) -> str:
    """The text of config.example.yaml: every key with its default, what it takes, its meaning.

    With ``active`` False every key is commented out: for a person's own file, so that a default
    that a later version improves reaches them.
    """
    mark = "" if active else "#"
    lines = [_HEAD]
    for section, about in sections().items():
        lines += ["", f"{section}:  # {about}"]
        for key in keys().values():
            if key.section == section:
                lines.append(f"  # {key.meaning}")
                lines.append(f"  {mark}{key.name}: {as_yaml(key.default)}  # {key.expects}")
    return "\n".join(lines) + "\n"


# What YAML reads as the text that it is.
_PLAIN_WORD = re.compile(r"(?!(?i:on|off|yes|no|true|false|null|y|n)\Z)[^\W\d_][\w.-]*")


def as_yaml(value: Any) -> str:
    """A setting's value on one line of YAML (and of JSON, but for plain words)."""
    if isinstance(value, str) and _PLAIN_WORD.fullmatch(value):
        return value
    return json.dumps(value, ensure_ascii=False)
