"""``ragvault eval``: how well it finds, and how honestly it refuses, on one's own notes."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from ragvault.cli.group import command_app
from ragvault.cli.options import JSON, argument, flag, option
from ragvault.cli.render.terminal import BarProgress, print_json
from ragvault.cli.session import Session
from ragvault.errors import Interrupted, UsageError

app = command_app(no_args_is_help=True)


app.callback()(lambda: None)  # so that `run` has to be said


@app.command("run")
def run(
    session: Session,
    file: Path = argument("QUESTIONS", "Questions with known places (docs/evaluation.md)."),
    vault: str | None = option("--vault", "The vault to ask, where there are several.", "NAME"),
    limit: int | None = option("--limit", "Ask N questions, drawn alike each time.", "N", min=1),
    today: datetime | None = option(
        "--today", "Ask as if it were noon of that day.", "DATE", formats=["%Y-%m-%d"]
    ),
    ranking_only: bool = flag("--ranking-only", "Leave out the refusals: several times faster."),
    answers: bool = flag("--answers", "Have the model write the answers, else they are quotes."),
    as_json: bool = JSON,
) -> None:
    """Ask every question of a set and compare with the known places.

    Ranking, hit rates, refusals, confidence, citations; each with its 95 % interval."""
    from ragvault.cli.render.eval import print_evaluation
    from ragvault.evaluation.dataset import load_questions
    from ragvault.evaluation.runner import evaluate, evaluation_object, vault_for

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
