"""``ragvault eval``: how well it finds, and how honestly it refuses, on one's own notes."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from ragvault.cli.group import command_app
from ragvault.cli.options import ConfigOption, JsonOption

app = command_app()


@app.command("eval")
def evaluate(
    questions: Annotated[
        Path | None,
        typer.Argument(
            metavar="QUESTIONS", help="Questions with known places, JSON Lines (see the README)."
        ),
    ] = None,
    vault: Annotated[
        str | None,
        typer.Option(
            "--vault",
            metavar="NAME",
            help="The vault to ask (else the one that holds the gold notes).",
            show_default=False,
        ),
    ] = None,
    off_topic: Annotated[
        list[Path] | None,
        typer.Option(
            "--off-topic",
            metavar="FILE",
            help="Another set's questions, which this vault can't answer (repeatable).",
            show_default=False,
        ),
    ] = None,
    legs: Annotated[
        bool, typer.Option("--legs", help="Also rank by words alone and by meaning alone.")
    ] = False,
    leg: Annotated[
        str | None,
        typer.Option(
            "--leg",
            metavar="LEG",
            help="Rank by one of blend, bm25, vector only [blend].",
            show_default=False,
        ),
    ] = None,
    answers: Annotated[
        bool, typer.Option("--answers", help="Answer too: check citations and statements.")
    ] = False,
    no_llm: Annotated[
        bool, typer.Option("--no-llm", help="With --answers: quote the notes; ask no model.")
    ] = False,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            metavar="N",
            min=1,
            help="Ask N questions of each file, drawn by the seed.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", min=0, help="Seed of all that is drawn [0].")
    ] = 0,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> int:
    """Measure how well ragvault finds, and how honestly it refuses.

    Asks every question of a set and compares with the known places: ranking, hit rates, refusals,
    confidence; each with its 95 % interval.
    """
    from ragvault.cli.session import Session
    from ragvault.errors import UsageError

    if questions is None:
        raise UsageError("eval needs a file of questions.", "Make one: `ragvault eval --generate`.")
    with Session.open(config, {"answer.log": False}) as session:
        from ragvault.cli.eval_run import RunWishes, run_set

        wishes = RunWishes(
            questions=questions,
            vault=vault,
            off_topic=tuple(off_topic or ()),
            legs=chosen_legs(legs, leg),
            answers=answers,
            use_model=not no_llm,
            limit=limit,
            seed=seed,
        )
        return run_set(session, wishes, now=datetime.now(), as_json=as_json)


def chosen_legs(all_legs: bool, leg: str | None) -> tuple[str, ...]:
    """Raises UsageError for a leg that there isn't."""
    from ragvault.errors import UsageError
    from ragvault.evaluation.results import BLEND, LEGS

    if leg is not None and leg not in LEGS:
        raise UsageError(f"There is no leg {leg!r}.", f"Choose one of {', '.join(LEGS)}.")
    if all_legs:
        return LEGS
    return (BLEND if leg is None else leg,)
