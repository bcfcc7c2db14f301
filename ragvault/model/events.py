"""An answer in the making: what ``ask`` yields, in this order.

    Retrieved               once: what was found, and which of it may be cited
    Cited and Token         in turns: the answer's text, each citation's source before its text
    Done                    once: the whole result

An abstention has no Token: its message is in the result. A terminal, a JSON stream, an HTTP
response and a chat draw the same events.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from ragvault.model.answers import AskResult
from ragvault.model.retrieval import Hit, Retrieval


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The search is over. ``hits``: those that may be answered from, best first; none where the
    answer is an abstention or small talk."""

    kind: ClassVar[str] = "retrieval"
    retrieval: Retrieval
    hits: tuple[Hit, ...]


@dataclass(frozen=True, slots=True)
class Cited:
    """A reference gets its first citation, in the Token that follows.

    ``marker`` counts references from 1, ``text`` is the citation as the answer's text holds it,
    ``position`` its offset there.
    """

    kind: ClassVar[str] = "citation"
    marker: int
    hit: Hit
    text: str
    position: int


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the answer's text, to be shown as it is; all of them make up ``Answer.text``.
    ``mode`` is that of the answer: "llm", "extractive" (in one piece) or "none"."""

    kind: ClassVar[str] = "token"
    text: str
    mode: str = "llm"


@dataclass(frozen=True, slots=True)
class Done:
    """The end."""

    kind: ClassVar[str] = "done"
    result: AskResult


AskEvent: TypeAlias = Retrieved | Cited | Token | Done
