"""An answer in the making: what ``ask`` yields, in this order.

    Retrieved               once: what was found, and which of it may be cited
    Drafted, Cited, Token   in turns: the answer's text, each citation's source before its text
      and Stated            and each statement of a model when it has been checked
    Done                    once: the whole result

An abstention has no Token: its message is in the result; a model that answers alone has no
Retrieved. A terminal, a JSON stream, an HTTP
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
    answer is an abstention or small talk. ``searched_for``: the question as the conversation made
    it whole; "" where it stood alone."""

    kind: ClassVar[str] = "retrieval"
    retrieval: Retrieval
    hits: tuple[Hit, ...]
    searched_for: str = ""


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
    """A piece of the answer's text, settled, to be shown as it is; all of them make up
    ``Answer.text``. ``mode`` is that of the answer, "extractive" in one piece."""

    kind: ClassVar[str] = "token"
    text: str
    mode: str = "llm"


@dataclass(frozen=True, slots=True)
class Stated:
    """A statement of the model has been held against the notes. Of the verdicts "supported",
    "unsupported", "uncited" (it claims nothing) and "admission" (that it doesn't know)
    ``is_shown`` says whether it is in the answer's text; ``cited`` are the chunks that hold it."""

    kind: ClassVar[str] = "statement"
    text: str
    verdict: str
    is_shown: bool
    cited: tuple[Hit, ...]


@dataclass(frozen=True, slots=True)
class Drafted:
    """All that the model has written and that hasn't been checked yet, in place of the Drafted
    before: what is shown of it may have to go again."""

    kind: ClassVar[str] = "draft"
    text: str


@dataclass(frozen=True, slots=True)
class Done:
    """The end."""

    kind: ClassVar[str] = "done"
    result: AskResult


Written: TypeAlias = Cited | Token | Stated | Drafted
AskEvent: TypeAlias = Retrieved | Written | Done
