"""Frontmatter: the YAML between ``---`` lines at the very top of a note.

The YAML is composed and never constructed: no tags and no objects, bounded in size, depth and
number of values. What can't be read is kept as raw text, so that it is still found, and simple
``key: value`` lines are salvaged.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import yaml

from ragvault.formats.inline import plain_links

MAX_CHARS = 64_000
MAX_DEPTH = 32
_SHALLOW = 1_000  # characters: they can't nest deep enough to end a stack
MAX_VALUES = 10_000

# A value: text; None for null and booleans, which nobody searches; a list; or a map: its pairs in
# the order of the note, repeated keys and all.
Value: TypeAlias = "str | list[Value] | Map | None"
Map: TypeAlias = "tuple[tuple[str, Value], ...]"

_LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NOT_TEXT = frozenset(
    {"", "~", "null", "true", "false", "yes", "no", "on", "off", "none", ".nan", ".inf", "-.inf"}
)
_ID = re.compile(
    r"(?:urn:uuid:)?\{?[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}\}?"  # UUID
    r"|(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{16,}"  # hash
    r"|[0-7][0-9A-HJKMNP-TV-Z]{25}",  # ULID
    re.IGNORECASE,
)
_KEY_LINE = re.compile(r"([^\s#:'\"\[\]{}&*!|>%@`-][^:\n]{0,80}?)\s*:(?:[ \t]+(.*))?$")
_ITEM_LINE = re.compile(r"\s*-[ \t]+(.*)$")


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """``lines`` is (first, last), 1-based, both marks included; None: there is none.
    ``text``: see ``render``."""

    lines: tuple[int, int] | None
    values: Map
    text: str
    warning: str | None = None

    def strings(self, *keys: str) -> list[str]:
        """All text below the first of ``keys`` that has any, wikilinks as their text."""
        for key in keys:
            found = [text for name, text in self.fields() if name.casefold() == key]
            if found:
                return found
        return []

    def fields(self) -> Iterator[tuple[str, str]]:
        """(key, text) of all text, each at its top-level key, wikilinks as their text."""
        for name, value in self.values:
            for _, text in _leaves(value, ""):
                yield name, plain_links(text)

    def listed(self, *keys: str) -> list[str]:
        """As ``strings``; a value that is one string is split at its commas, a list isn't."""
        single = {k.casefold() for k, value in self.values if isinstance(value, str)}
        for key in keys:
            if found := self.strings(key):
                parts = ",".join(found).split(",") if key in single else found
                return [part.strip() for part in parts if part.strip()]
        return []


NO_FRONTMATTER = Frontmatter(None, (), "")


class _UnreadableError(Exception):
    """The YAML can't be taken; the message is a phrase for the user."""


def read_frontmatter(lines: Sequence[str]) -> Frontmatter | None:
    """The frontmatter at the top of a note's lines, or None: lines between two rules that hold no
    ``key: value`` are the note's text."""
    if not lines or lines[0].rstrip() != "---":
        return None
    end = next((i for i in range(1, len(lines)) if lines[i].rstrip() in ("---", "...")), None)
    if end is None:
        return None
    inner = lines[1:end]
    place = (1, end + 1)
    raw = "\n".join(inner)
    if not raw.strip():
        return Frontmatter(place, (), "")
    try:
        value = _load(raw)
    except _UnreadableError as problem:
        salvaged = _salvage(inner[:2000])
        if not salvaged:
            return None
        warning = f"frontmatter can't be read as YAML ({problem}); its lines are kept as text"
        return Frontmatter(place, salvaged, raw.strip(), warning)
    if not isinstance(value, tuple):
        return None
    value = _restore_hash_tags(value, inner)
    return Frontmatter(place, value, render(value))


def render(values: Map) -> str:
    """Every value that a person would search, as ``key: value`` lines: lists joined with commas,
    maps flattened (``key sub: value``), booleans, nulls and bare ids (UUIDs, hashes) left out."""
    lines: dict[str, list[str]] = {}
    for key, text in _leaves(values, ""):
        text = " ".join(plain_links(text).split())
        if text and not _ID.fullmatch(text):
            lines.setdefault(key, []).append(text)
    return "\n".join(f"{key}: {', '.join(texts)}" for key, texts in lines.items())


def _leaves(value: Value, key: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item, key)
    elif isinstance(value, tuple):
        for name, item in value:
            yield from _leaves(item, f"{key} {name}".strip())


def _load(raw: str) -> Value:
    if len(raw) > MAX_CHARS:
        raise _UnreadableError(f"longer than {MAX_CHARS:,} characters")
    try:
        if len(raw) > _SHALLOW:
            _check_depth(raw)
        return _value(yaml.compose(raw, _LOADER), 0, itertools.count(1))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else None
        problem = error.problem or "a syntax error"
        raise _UnreadableError(f"{problem}, line {line}" if line else problem) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _UnreadableError("a character that YAML doesn't allow") from error


def _check_depth(raw: str) -> None:
    """Composing goes as deep on C's own stack as the text does; reading its events doesn't."""
    depth = 0
    for event in yaml.parse(raw, _LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise _UnreadableError("nested too deeply")


def _value(node: yaml.Node | None, depth: int, count: Iterator[int]) -> Value:
    """A node's value. What aliases repeat is counted each time."""
    if depth > MAX_DEPTH:
        raise _UnreadableError("nested too deeply")
    if next(count) > MAX_VALUES:
        raise _UnreadableError(f"more than {MAX_VALUES:,} values")
    if isinstance(node, yaml.MappingNode):
        pairs = [[_value(part, depth + 1, count) for part in pair] for pair in node.value]
        return tuple((" ".join(text for _, text in _leaves(k, "")), v) for k, v in pairs)
    if isinstance(node, yaml.SequenceNode):
        items = [_value(item, depth + 1, count) for item in node.value]
        # [[A wikilink]] without quotes is a list in a list
        if node.flow_style and len(items) == 1 and isinstance(inner := items[0], list):
            texts = [item for item in inner if isinstance(item, str)]
            if texts and len(texts) == len(inner) and not texts[0].startswith("[["):
                return f"[[{', '.join(texts)}]]"
        return items
    if isinstance(node, yaml.ScalarNode) and (node.style or node.value.lower() not in _NOT_TEXT):
        return str(node.value)
    return None


def _salvage(lines: Sequence[str]) -> Map:
    """Top-level ``key: value`` lines and the ``- item`` lines under a key."""
    items: list[tuple[str, list[Value]]] = []
    for line in lines:
        if match := _KEY_LINE.match(line):
            items.append((match[1].strip(), []))
            value = (match[2] or "").strip()
        elif items and (match := _ITEM_LINE.match(line)):
            value = match[1].strip()
        else:
            continue
        if value[:1] == "[" and value[-1:] == "]" and not value.startswith("[["):
            parts = value[1:-1].split(",")
        else:
            parts = [value]
        texts = (part.strip().strip("'\"") for part in parts)
        items[-1][1].extend(text for text in texts if text.lower() not in _NOT_TEXT)
    return tuple((key, list(values)) for key, values in items)


def _restore_hash_tags(values: Map, lines: Sequence[str]) -> Map:
    """``tags: #a #b``: to YAML the tags are a comment, to the author they are tags."""
    if not any(key.casefold() in ("tag", "tags") and value is None for key, value in values):
        return values
    found: dict[str, Value] = {}
    for line in lines:
        key, colon, rest = line.partition(":")
        if colon and key.strip().casefold() in ("tag", "tags") and rest.strip().startswith("#"):
            found[key.strip()] = rest.strip()
    return tuple((key, found.get(key, value)) for key, value in values)
