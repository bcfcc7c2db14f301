"""``ragvault eval``: how well it finds, and how honestly it refuses, on one's own notes."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from ragvault.cli.group import command_app
from ragvault.cli.options import ConfigOption, JsonOption
from ragvault.errors import UsageError

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
    ranking_only: Annotated[
        bool, typer.Option("--ranking-only", help="Leave out the refusals: several times faster.")
    ] = False,
    answers: Annotated[
        bool, typer.Option("--answers", help="Answer too: check citations and statements.")
    ] = False,
    no_llm: Annotated[
        bool, typer.Option("--no-llm", help="With --answers: quote the notes; ask no model.")
    ] = False,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="Also write a page with curves and the worst questions.",
            show_default=False,
        ),
    ] = None,
    compare: Annotated[
        tuple[Path, Path] | None,
        typer.Option(
            "--compare",
            metavar="A B",
            help="Compare two runs that were saved with --json; asks nothing.",
            show_default=False,
        ),
    ] = None,
    generate: Annotated[
        int | None,
        typer.Option(
            "--generate",
            metavar="N",
            min=2,
            help="Make N questions from the vault instead; asks nothing.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="With --generate: write there.", show_default=False
        ),
    ] = None,
    with_ollama: Annotated[
        bool, typer.Option("--with-ollama", help="With --generate: let Ollama write them.")
    ] = False,
    calibrate: Annotated[
        bool,
        typer.Option("--calibrate", help="Fit the confidence to QUESTIONS, or to made ones."),
    ] = False,
    apply: Annotated[
        bool, typer.Option("--apply", help="With --calibrate: write it to the configuration.")
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
    from ragvault.cli.eval_run import RunWishes, run_set
    from ragvault.cli.session import Session

    mode = chosen_mode(compare=compare, generate=generate, calibrate=calibrate)
    check_together(mode, questions=questions, out=out, with_ollama=with_ollama, apply=apply)
    if ranking_only and (answers or off_topic or mode != "run"):
        other = "--answers" if answers else "--off-topic" if off_topic else mode
        raise UsageError(f"--ranking-only and {other} don't go together.", "Leave out one of them.")
    with Session.open(config, {"answer.log": False}) as session:
        wishes = RunWishes(
            questions=questions,
            vault=vault,
            off_topic=tuple(off_topic or ()),
            legs=chosen_legs(legs, leg),
            answers=answers,
            use_model=not no_llm,
            gate=not ranking_only,
            limit=limit,
            seed=seed,
            report=report,
        )
        now = datetime.now()
        if compare is not None:
            from ragvault.cli.eval_make import compare_runs

            return compare_runs(session, *compare, seed=seed, as_json=as_json)
        if generate is not None:
            from ragvault.cli.eval_make import generate_set

            return generate_set(
                session, vault, generate, seed=seed, with_ollama=with_ollama, out=out
            )
        if calibrate:
            from ragvault.cli.eval_calibrate import calibrate_gate

            return calibrate_gate(
                session, wishes, now=now, apply=apply, config=config, as_json=as_json
            )
        return run_set(session, wishes, now=now, as_json=as_json)


def chosen_mode(*, compare: object, generate: int | None, calibrate: bool) -> str:
    """ "run" unless one of the others is asked for. Raises UsageError for two of them."""
    asked = [
        name
        for name, wanted in (
            ("--compare", compare is not None),
            ("--generate", generate is not None),
            ("--calibrate", calibrate),
        )
        if wanted
    ]
    if len(asked) > 1:
        raise UsageError(f"{asked[0]} and {asked[1]} don't go together.", "Leave out one of them.")
    return asked[0] if asked else "run"


def check_together(
    mode: str, *, questions: Path | None, out: Path | None, with_ollama: bool, apply: bool
) -> None:
    """Raises UsageError for what the mode has no use for, or lacks."""
    if mode == "run" and questions is None:
        raise UsageError(
            "eval needs a file of questions.",
            "Make one: `ragvault eval --generate 100 --out questions.jsonl`.",
        )
    wrong = [
        (questions is not None and mode in ("--compare", "--generate"), "QUESTIONS", mode),
        (out is not None and mode != "--generate", "--out", "--generate"),
        (with_ollama and mode != "--generate", "--with-ollama", "--generate"),
        (apply and mode != "--calibrate", "--apply", "--calibrate"),
    ]
    for is_wrong, what, with_what in wrong:
        if is_wrong and what == "QUESTIONS":
            raise UsageError(f"{with_what} takes no questions.", "Leave the file out.")
        if is_wrong:
            raise UsageError(f"{what} belongs to {with_what}.", "Run `ragvault eval --help`.")


def chosen_legs(all_legs: bool, leg: str | None) -> tuple[str, ...]:
    """Raises UsageError for a leg that there isn't."""
    from ragvault.evaluation.results import BLEND, LEGS

    if leg is not None and leg not in LEGS:
        raise UsageError(f"There is no leg {leg!r}.", f"Choose one of {', '.join(LEGS)}.")
    if all_legs:
        return LEGS
    return (BLEND if leg is None else leg,)
