"""Options that several commands share, one by one or in groups (see ``group.unfolded``), and the
``Request`` that they make."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from ragvault.cli.session import Session
from ragvault.errors import QuestionError, VaultPathError

if TYPE_CHECKING:  # classes that a run of `index` doesn't need
    from ragvault.model import Request


def option(
    names: str, told: str, metavar: str | None = None, default: Any = None, **more: Any
) -> Any:
    """An option: its names, such as "-n -k", what it is for, and how its value is called."""
    return typer.Option(default, *names.split(), metavar=metavar, help=told, **more)


def flag(names: str, told: str) -> Any:
    """An option without a value: off where it isn't given."""
    return option(names, told, default=False)


def argument(metavar: str, told: str, default: Any = ..., **more: Any) -> Any:
    """An argument: how it is called, and what it is for; it has to be given where there is no
    default."""
    return typer.Argument(default, metavar=metavar, help=told, **more)


CONFIG = option("--config", "Configuration file to use.", "FILE")
JSON = flag("--json", "Print one JSON object.")
VAULT = option("--vault", "Only this vault (repeatable).", "NAME")
OPEN = option("--open", "Open the N-th in the editor; alone: the first.", "N", min=1)
COPY = flag("--copy", "Copy the answer, as Markdown with wikilinks.")
DEBUG = flag("--debug", "Show every candidate with its scores, and timings.")
YES = flag("--yes -y", "Don't ask.")
SESSION = option("--session", "Go on with this conversation, or begin it.", "NAME")


@dataclass(frozen=True)
class Filters:
    """Which notes are searched; nothing given: all of them."""

    vault: list[str] | None = VAULT
    folder: list[str] | None = option(
        "--folder", "Only this folder and those below it; vault/folder too (repeatable).", "FOLDER"
    )
    tag: list[str] | None = option("--tag", "Only notes with this tag (repeatable).", "TAG")
    since: str | None = option(
        "--since", 'Only notes from then on: 2024-03-01, 2024, "2 weeks", yesterday.', "WHEN"
    )
    until: str | None = option("--until", "Only notes up to then, that day too.", "WHEN")


@dataclass(frozen=True)
class SearchOptions:
    """How they are searched; None: as the configuration says."""

    folder_select: Literal["llm", "off"] | None = option(
        "--folder-select",
        "Choose likely folders: llm (the model ranks them) or off.",
        "HOW",
        case_sensitive=False,
    )
    expand: bool | None = option(
        "--expand/--no-expand", "Search other wordings too, written by the Ollama model."
    )
    hyde: bool | None = option(
        "--hyde/--no-hyde", "Search the Ollama model's guess at the answer too."
    )
    rerank: bool | None = option(
        "--rerank/--no-rerank",
        "Read the best passages again with the reranker (rerank.backend, else onnx).",
    )


@dataclass(frozen=True)
class Writer:
    """Who writes an answer."""

    model: str | None = option("--model", "Ollama model that writes.", "NAME")
    no_llm: bool = flag("--no-llm", "Quote the notes; ask no model.")

    def chosen_in(self, session: Session) -> None:
        """From now on the model that was named writes."""
        if self.model is not None:
            session.container.change("ollama", model=self.model)


def folder(given: str) -> Path:
    """An empty word (`ragvault index "$UNSET"`) must not mean the current folder."""
    if not given.strip():
        raise VaultPathError("The path of the vault is empty.")
    return Path(given)


MAX_STDIN_CHARS = 100_000  # a question is limited far below this, when it is analysed


def question_of(words: Sequence[str]) -> str:
    """The words joined, or standard input for a single ``-``."""
    if list(words) != ["-"]:
        return " ".join(words)
    if sys.stdin.isatty():
        raise QuestionError(
            "There is no question on standard input.", 'Pipe it in: `echo "…" | ragvault ask -`.'
        )
    return sys.stdin.read(MAX_STDIN_CHARS)


def request_of(
    words: Sequence[str], filters: Filters, options: SearchOptions, now: datetime, **more: Any
) -> Request:
    """``more``: other fields of the request. Raises UsageError for a time that can't be read, or a
    period that ends before it begins; QuestionError where standard input has no question."""
    from ragvault.model import Request
    from ragvault.service.search import period

    since, until = period(filters.since, filters.until, now)
    return Request(
        question=question_of(words),
        vaults=tuple(filters.vault or ()),
        folders=tuple(filters.folder or ()),
        tags=tuple(filters.tag or ()),
        since=since,
        until=until,
        **asdict(options),
        **more,
    )
