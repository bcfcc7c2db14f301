"""``ragvault eval``: how well it finds, and how honestly it refuses, on one's own notes."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

from ragvault.cli.group import command_app
from ragvault.cli.options import JsonOption, argument, option
from ragvault.cli.render.progress import BarProgress
from ragvault.cli.render.terminal import print_json
from ragvault.cli.session import Session
from ragvault.errors import Interrupted, UsageError

app = command_app(no_args_is_help=True)


@app.callback()
def evaluate() -> None:
    """Measure how well ragvault finds, and how honestly it refuses."""


@app.command("run")
def run(
    session: Session,
    file: Annotated[
        Path, argument("QUESTIONS", "Questions with known places (docs/evaluation.md).")
    ],
    vault: Annotated[
        str | None,
        option("--vault", "The vault to ask, where there are several.", "NAME"),
    ] = None,
    limit: Annotated[
        int | None, option("--limit", "Ask N questions, drawn alike each time.", "N", min=1)
    ] = None,
    today: Annotated[
        datetime | None,
        option("--today", "Ask as if it were noon of that day.", "DATE", formats=["%Y-%m-%d"]),
    ] = None,
    ranking_only: Annotated[
        bool, option("--ranking-only", "Leave out the refusals: several times faster.")
    ] = False,
    answers: Annotated[
        bool, option("--answers", "Have the model write the answers, else they are quotes.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Ask every question of a set and compare with the known places.

    Ranking, hit rates, refusals, confidence, citations; each with its 95 % interval.
    """
    from ragvault.cli.render.eval import print_evaluation
    from ragvault.evaluation.dataset import load_questions
    from ragvault.evaluation.runner import evaluate, vault_for
    from ragvault.evaluation.summary import evaluation_object

    if ranking_only and answers:
        raise UsageError("--ranking-only and --answers don't go together.", "Leave out one.")
    # Where all sets are called alike, the folder's name tells them apart.
    name = file.parent.name if file.stem == "questions" and file.parent.name else file.stem
    how = {"use_model": answers, "gate": not ranking_only}
    now = today.replace(hour=12) if today else datetime.now()
    container = session.container
    container.change("history", enabled=False)  # these questions are nobody's
    try:
        questions = load_questions(file, limit=limit)
        chosen = vault_for(container, vault, questions, file.name)
        bar = BarProgress(session.err)
        done = evaluate(container, name, chosen, questions, now=now, progress=bar, **how)
    except KeyboardInterrupt:  # nothing of it is kept, unlike with ``index``
        hint = "Fewer questions take less time: `--limit 100`."
        raise Interrupted("Interrupted.", hint) from None
    session.notices(done.notices)
    if as_json:
        print_json(evaluation_object(done))
    else:
        print_evaluation(session.out, done)
