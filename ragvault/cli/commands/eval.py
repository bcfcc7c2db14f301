"""``ragvault eval``: how well it finds, and how honestly it refuses, on one's own notes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ragvault.cli.group import command_app
from ragvault.cli.options import ConfigOption, JsonOption, argument, option
from ragvault.errors import Interrupted, UsageError

if TYPE_CHECKING:
    from ragvault.cli.session import Session

app = command_app(
    no_args_is_help=True, help="Measure how well ragvault finds, and how honestly it refuses."
)

SeedOption = Annotated[int, option("--seed", "Seed of all that is drawn [0].", "N", min=0)]


@dataclass(frozen=True)
class Asking:
    """Which questions, of which vault."""

    vault: Annotated[
        str | None,
        option(
            "--vault",
            "The vault to ask (else the one that holds the gold notes).",
            "NAME",
            show_default=False,
        ),
    ] = None
    off_topic: Annotated[
        list[Path] | None,
        option(
            "--off-topic",
            "Another set's questions, which this vault can't answer (repeatable).",
            "FILE",
            show_default=False,
        ),
    ] = None
    limit: Annotated[
        int | None,
        option(
            "--limit",
            "Ask N questions of each file, drawn by the seed.",
            "N",
            min=1,
            show_default=False,
        ),
    ] = None
    seed: SeedOption = 0
    today: Annotated[
        datetime | None,
        option(
            "--today",
            "Ask as if it were noon of that day.",
            "DATE",
            formats=["%Y-%m-%d"],
            show_default=False,
        ),
    ] = None


@dataclass(frozen=True)
class Measuring:
    """What is measured of them."""

    retrievers: Annotated[
        bool, option("--retrievers", "Also rank by words alone and by meaning alone.")
    ] = False
    ranking_only: Annotated[
        bool, option("--ranking-only", "Leave out the refusals: several times faster.")
    ] = False
    answers: Annotated[bool, option("--answers", "Answer too: check citations and statements.")] = (
        False
    )
    no_llm: Annotated[
        bool, option("--no-llm", "With --answers: quote the notes; ask no model.")
    ] = False


@app.command("run")
def run(
    questions: Annotated[
        Path, argument("QUESTIONS", "Questions with known places (docs/evaluation.md).")
    ],
    asking: Asking,
    measuring: Measuring,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> int:
    """Ask every question of a set and compare with the known places.

    Ranking, hit rates, refusals, confidence; each with its 95 % interval.
    """
    if measuring.ranking_only and measuring.answers:
        raise _apart("--ranking-only", "--answers")
    if measuring.ranking_only and asking.off_topic:
        raise _apart("--ranking-only", "--off-topic")
    if measuring.no_llm and not measuring.answers:
        raise UsageError("--no-llm belongs to --answers.", "Run `ragvault eval run --help`.")
    with eval_session(config) as session:
        from ragvault.cli.commands.eval_run import run_set

        now = asking.today.replace(hour=12) if asking.today else datetime.now()
        return run_set(session, questions, asking, measuring, now=now, as_json=as_json)


def _apart(one: str, other: str) -> UsageError:
    return UsageError(f"{one} and {other} don't go together.", "Leave out one of them.")


@app.command("compare")
def compare(
    a: Annotated[Path, argument("A", "A run, saved with --json.")],
    b: Annotated[Path, argument("B", "Another, of the same questions.")],
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> int:
    """Compare two saved runs, measure by measure. Asks nothing.

    A change stands out where its 95 % interval, question by question, leaves out 0.
    """
    with eval_session(config) as session:
        from ragvault.cli.commands.eval_run import compare_runs

        return compare_runs(session, a, b, as_json=as_json)


@contextmanager
def eval_session(config: Path | None) -> Iterator[Session]:
    """Without the history: these questions are nobody's. Nothing of an evaluation is kept when
    it is interrupted, unlike with ``index``."""
    from ragvault.cli.session import Session

    try:
        with Session.open(config, {"history.enabled": False}) as session:
            yield session
    except KeyboardInterrupt:
        raise Interrupted(
            "Interrupted.", "Fewer questions take less time: `--limit 100`."
        ) from None
