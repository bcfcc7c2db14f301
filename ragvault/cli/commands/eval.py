"""``ragvault eval``: how well it finds, and how honestly it refuses, on one's own notes."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ragvault.cli.group import command_app
from ragvault.cli.options import JSON, YES, argument, flag, option
from ragvault.cli.render.terminal import BarProgress, print_json
from ragvault.cli.session import Session
from ragvault.errors import Interrupted, UsageError

if TYPE_CHECKING:
    from ragvault.evaluation.runner import Evaluation

app = command_app(no_args_is_help=True)

FILE = argument("QUESTIONS", "Questions with known places (docs/evaluation.md).")
VAULT = option("--vault", "The vault to ask, where there are several.", "NAME")
LIMIT = option("--limit", "Ask N questions, drawn alike each time.", "N", min=1)
TODAY = option("--today", "Ask as if it were noon of that day.", "DATE", formats=["%Y-%m-%d"])
LEAST = 20  # questions with an answer, and without


@app.command("run")
def run(
    session: Session,
    file: Path = FILE,
    vault: str | None = VAULT,
    limit: int | None = LIMIT,
    today: datetime | None = TODAY,
    answers: bool = flag("--answers", "Have the model write the answers, else they are quotes."),
    as_json: bool = JSON,
) -> None:
    """Ask every question of a set and compare with the known places.

    Ranking, hit rates, refusals, confidence, citations; each with its 95 % interval."""
    from ragvault.cli.render.eval import print_evaluation
    from ragvault.evaluation.runner import evaluation_object

    done = _asked(session, file, vault, limit, today, use_model=answers)
    if as_json:
        print_json(evaluation_object(done))
    else:
        print_evaluation(session.out, done)


@app.command("calibrate")
def calibrate(
    session: Session,
    file: Path = FILE,
    vault: str | None = VAULT,
    limit: int | None = LIMIT,
    today: datetime | None = TODAY,
    yes: bool = YES,
) -> None:
    """Fit the confidence from which on is quoted to questions of your own.

    Shows what it comes to now and with the best one, and sets gate.min_confidence after a yes.
    The questions have to say what is `right`, and some to have no answer."""
    from ragvault.cli.commands.config import set_value
    from ragvault.cli.render.eval import print_points
    from ragvault.evaluation.judging import calibrated, curve

    asked = _asked(session, file, vault, limit, today, use_model=False).printed
    with_answer = sum(question.answerable for question, _ in asked)
    if min(with_answer, len(asked) - with_answer) < LEAST:
        raise UsageError(
            f"That takes {LEAST} questions with an answer that say what is `right`, and {LEAST} "
            f"without; here are {with_answer} and {len(asked) - with_answer}.",
            "docs/evaluation.md says how they are written.",
        )
    now = session.loaded.settings.gate.min_confidence
    best = calibrated(asked, now)
    print_points(session.out, curve(asked, tuple(dict.fromkeys((now, best)))))
    session.out.flush()
    if best == now:
        session.notices([f"No threshold is better than {now} by more than chance; it stays."])
    elif session.agrees(f"Set gate.min_confidence to {best}?", yes=yes):
        set_value(key="gate.min_confidence", value=str(best), config=session.loaded.file)


def _asked(
    session: Session,
    file: Path,
    vault: str | None,
    limit: int | None,
    today: datetime | None,
    *,
    use_model: bool,
) -> Evaluation:
    from ragvault.evaluation.dataset import load_questions
    from ragvault.evaluation.runner import evaluate, vault_for

    # Where all sets are called alike, the folder's name tells them apart.
    name = file.parent.name if file.stem == "questions" and file.parent.name else file.stem
    now = today.replace(hour=12) if today else datetime.now()
    container = session.container
    container.change("history", enabled=False)  # these questions are nobody's
    try:
        questions = load_questions(file, limit=limit)
        chosen = vault_for(container, vault, questions, file.name)
        bar = BarProgress(session.err)
        done = evaluate(
            container, name, chosen, questions, now=now, progress=bar, use_model=use_model
        )
    except KeyboardInterrupt:  # nothing of it is kept, unlike with ``index``
        hint = "Fewer questions take less time: `--limit 100`."
        raise Interrupted("Interrupted.", hint) from None
    session.notices(done.notices)
    return done
