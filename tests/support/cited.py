"""What the golden files of ``citations`` and ``rendering`` hold: the passages of a context, one a
line as ``path | section | text``, a line ``---``, and what the model wrote.

``numeric`` on a line before the passages asks for that style.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

from ragvault.answering.citations.stream import CitationStream
from ragvault.answering.citations.styles import STYLES, CitationStyle
from ragvault.answering.page import AnswerRequest
from ragvault.answering.pipeline import answer
from ragvault.cli.render.ask import AskView
from ragvault.cli.render.places import PlaceView
from ragvault.cli.render.terminal import Terminal
from ragvault.cli.session import Session
from ragvault.config.settings import AnswerSettings, OllamaSettings
from ragvault.model import AskEvent, AskResult, ChatUsage, Done, Hit
from ragvault.service.originals import Links
from tests.support.answering import ScriptedChat, evidence, extract, hit

NOON = 1_709_294_400.0  # 2024-03-01, in every time zone that people live in


def citations(given: str) -> str:
    """A draft → the text shown, each citation with its place, each statement not held."""
    style, hits, draft = _read(given)
    stream = CitationStream(hits, style)
    stream.feed(draft)
    stream.close()
    result = stream.result()
    names = {h.chunk.id: f"{n} {h.chunk.rel_path}" for n, h in enumerate(hits, 1)}
    lines = [result.text, ""]
    for c in result.citations:
        means = f"  →  passage {names[c.chunk_id]}" if c.chunk_id else ""
        lines.append(f"{c.position:4} {c.status:8}  {c.raw!r}{means}")
    lines += [f"not held: {s.text}  ({'; '.join(s.reasons)})" for s in result.unsupported]
    lines += ["admits that something is missing"] * result.uncertain
    return "\n".join(lines)


def rendering(given: str) -> str:
    """A draft → the lines of ``ask`` on a terminal of 60 columns; none → the passages that are
    pointed at."""
    screen = Screen()
    AskView(cast(Session, screen)).draw(asked(given))
    return screen.shown


def asked(given: str) -> Iterator[AskEvent]:
    """The events of that answer."""
    style, hits, draft = _read(given)
    request = AnswerRequest(
        "How is it?",
        evidence(*hits),
        AnswerSettings(),
        OllamaSettings(),
        chat=ScriptedChat(draft) if draft.strip() else None,
        style=style,
        min_confidence=0.0 if draft.strip() else 1.0,
        quotes=extract("How is it?", hits),
    )

    run = yield from answer(request)
    usage = ChatUsage(None, None)
    yield Done(AskResult("How is it?", run.outcome, None, run.model, 1.0, 2100.0, usage))


@dataclass
class Screen:
    """What the view takes of a session: a terminal of 60 columns."""

    out: Terminal = field(default_factory=lambda: Terminal(io.StringIO(), True, False, True, 60))

    @property
    def shown(self) -> str:
        return cast(io.StringIO, self.out.stream).getvalue()

    @property
    def err(self) -> Terminal:
        return Terminal(io.StringIO(), False, False, True, 60)

    def places(self) -> PlaceView:
        return PlaceView(self.out, Links([], "off"))


def _read(given: str) -> tuple[CitationStyle, tuple[Hit, ...], str]:
    context, _, draft = given.partition("\n---\n")
    lines = context.strip().split("\n")
    style = STYLES[lines.pop(0) if lines[0] in STYLES else "file-section"]
    places = [[part.strip() for part in line.split(" | ")] for line in lines]
    return (
        style,
        tuple(
            hit(path, section, text, rank=n, ordinal=n, date=NOON)
            for n, (path, section, text) in enumerate(places, 1)
        ),
        draft.rstrip("\n"),
    )
