"""The options of ``ragvault eval``, and which of them go together."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ragvault.errors import UsageError


class Mode(StrEnum):
    """What an ``eval`` does: measure, or what the option of that name says."""

    RUN = "run"
    COMPARE = "compare"
    GENERATE = "generate"
    CALIBRATE = "calibrate"


@dataclass(frozen=True)
class EvalOptions:
    """What was asked for on the command line."""

    questions: Annotated[
        Path | None,
        typer.Argument(
            metavar="QUESTIONS", help="Questions with known places, JSON Lines (see the README)."
        ),
    ] = None
    vault: Annotated[
        str | None,
        typer.Option(
            "--vault",
            metavar="NAME",
            help="The vault to ask (else the one that holds the gold notes).",
            show_default=False,
        ),
    ] = None
    off_topic: Annotated[
        list[Path] | None,
        typer.Option(
            "--off-topic",
            metavar="FILE",
            help="Another set's questions, which this vault can't answer (repeatable).",
            show_default=False,
        ),
    ] = None
    legs: Annotated[
        bool, typer.Option("--legs", help="Also rank by words alone and by meaning alone.")
    ] = False
    leg: Annotated[
        str | None,
        typer.Option(
            "--leg",
            metavar="LEG",
            help="Rank by one of blend, bm25, vector only [blend].",
            show_default=False,
        ),
    ] = None
    ranking_only: Annotated[
        bool, typer.Option("--ranking-only", help="Leave out the refusals: several times faster.")
    ] = False
    answers: Annotated[
        bool, typer.Option("--answers", help="Answer too: check citations and statements.")
    ] = False
    no_llm: Annotated[
        bool, typer.Option("--no-llm", help="With --answers: quote the notes; ask no model.")
    ] = False
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="Also write a page with curves and the worst questions.",
            show_default=False,
        ),
    ] = None
    compare: Annotated[
        tuple[Path, Path] | None,
        typer.Option(
            "--compare",
            metavar="A B",
            help="Compare two runs that were saved with --json; asks nothing.",
            show_default=False,
        ),
    ] = None
    generate: Annotated[
        int | None,
        typer.Option(
            "--generate",
            metavar="N",
            min=2,
            help="Make N questions from the vault instead; asks nothing.",
            show_default=False,
        ),
    ] = None
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="With --generate: write there.", show_default=False
        ),
    ] = None
    with_ollama: Annotated[
        bool, typer.Option("--with-ollama", help="With --generate: let Ollama write them.")
    ] = False
    calibrate: Annotated[
        bool,
        typer.Option("--calibrate", help="Fit the confidence to QUESTIONS, or to made ones."),
    ] = False
    apply: Annotated[
        bool, typer.Option("--apply", help="With --calibrate: write it to the configuration.")
    ] = False
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            metavar="N",
            min=1,
            help="Ask N questions of each file, drawn by the seed.",
            show_default=False,
        ),
    ] = None
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", min=0, help="Seed of all that is drawn [0].")
    ] = 0

    @property
    def mode(self) -> Mode:
        """Raises UsageError where more than one is asked for."""
        asked = [mode for mode in Mode if mode is not Mode.RUN and self._is_given(mode)]
        if len(asked) > 1:
            raise _apart(asked[0], asked[1])
        return asked[0] if asked else Mode.RUN

    @property
    def rankings(self) -> tuple[str, ...]:
        """The legs to rank by. Raises UsageError for a leg that there isn't."""
        from ragvault.evaluation.results import BLEND, LEGS

        if self.leg is not None and self.leg not in LEGS:
            raise UsageError(f"There is no leg {self.leg!r}.", f"Choose one of {', '.join(LEGS)}.")
        if self.legs:
            return LEGS
        return (BLEND if self.leg is None else self.leg,)

    def check(self) -> None:
        """Raises UsageError for an option that would be passed over in silence."""
        mode = self.mode
        for field in fields(self):
            if self._is_given(field.name) and field.name not in (mode, *_TAKEN[mode]):
                raise _useless(field.name, mode)
        for one, other in _EXCLUSIVE:
            if self._is_given(one) and self._is_given(other):
                raise _apart(one, other)
        if self.no_llm and not self.answers:
            raise _belongs("no_llm", "answers")

    def _is_given(self, name: str) -> bool:
        default = next(field.default for field in fields(self) if field.name == name)
        return getattr(self, name) not in (default, [])


# What each mode has a use for, besides the option that it is named by.
_TAKEN: dict[Mode, tuple[str, ...]] = {
    Mode.RUN: (
        *("questions", "vault", "off_topic", "limit", "seed"),
        *("legs", "leg", "ranking_only", "answers", "no_llm", "report"),
    ),
    Mode.COMPARE: ("seed",),
    Mode.GENERATE: ("vault", "out", "with_ollama", "seed"),
    Mode.CALIBRATE: ("questions", "vault", "off_topic", "apply", "limit", "seed"),
}
_EXCLUSIVE = (("ranking_only", "answers"), ("ranking_only", "off_topic"), ("legs", "leg"))


def _flag(name: str) -> str:
    """As it is typed."""
    return "--" + name.replace("_", "-")


def _apart(one: str, other: str) -> UsageError:
    return UsageError(
        f"{_flag(one)} and {_flag(other)} don't go together.", "Leave out one of them."
    )


def _belongs(name: str, to: str) -> UsageError:
    return UsageError(f"{_flag(name)} belongs to {_flag(to)}.", "Run `ragvault eval --help`.")


def _useless(name: str, mode: Mode) -> UsageError:
    if name == "questions":
        return UsageError(f"{_flag(mode)} takes no questions.", "Leave the file out.")
    if mode is not Mode.RUN:
        return _apart(name, mode)
    return _belongs(name, next(home for home, taken in _TAKEN.items() if name in taken))
