"""The work behind ``ragvault eval calibrate``: the gate fitted to one's own notes, and put into the
configuration."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ragvault.cli.commands.eval_run import (
    off_topic_questions,
    only_vault,
    questions_of,
)
from ragvault.cli.render.eval import print_calibration
from ragvault.cli.render.progress import counting
from ragvault.cli.render.terminal import print_json
from ragvault.config.edit import with_value
from ragvault.config.file import read_text
from ragvault.config.keys import keys
from ragvault.config.settings import CalibrationSettings, LogisticSettings
from ragvault.errors import UsageError
from ragvault.evaluation.calibrate import (
    FEWEST,
    MADE,
    CalibrationResult,
    as_object,
    calibrate,
    check_enough,
)
from ragvault.evaluation.dataset import parse_questions
from ragvault.evaluation.fit import check_installed
from ragvault.evaluation.generate import as_lines, make_set
from ragvault.evaluation.runner import RunOptions, run
from ragvault.service.calibration import built_in_calibration, embedding_model
from ragvault.service.files import backup_of, write_config
from ragvault.wiring import locate_config

if TYPE_CHECKING:
    from ragvault.cli.commands.eval import Asking
    from ragvault.cli.session import Session
    from ragvault.evaluation.dataset import Question
    from ragvault.model import VaultInfo
    from ragvault.retrieval.confidence.calibration import Calibration

_WORSE = 0.02  # more of the unanswerable answered than before: said


def calibrate_gate(
    session: Session,
    file: Path | None,
    asking: Asking,
    *,
    apply: bool,
    config: Path | None,
    now: datetime,
    as_json: bool,
) -> int:
    """Fit, show, and write with ``apply``. Raises UsageError for too few questions or without
    SciPy, ModelError when there is no embedding model."""
    check_installed()
    target = locate_config(config)[0]
    if apply:
        _check_writable(target)
    result = _fitted(session, file, asking, now)
    applied = apply and bool(result.fits)
    if applied:
        _write(target, result.settings)
    if as_json:
        print_json(as_object(result, applied=str(target) if applied else None))
    else:
        print_calibration(session.out, result, session.settings.gate.min_confidence)
    session.notices(_told(result, target, applied=applied))
    return 0


def _told(result: CalibrationResult, target: Path, *, applied: bool) -> list[str]:
    """What was written, or why nothing was; and where it would make things worse."""
    lines = []
    before, after = result.before.false_answers, result.after.false_answers
    if before is not None and after is not None and after.value > before.value + _WORSE:
        lines.append(
            f"With it, {after.value:.1%} of the unanswerable would be answered instead of "
            f"{before.value:.1%}: raise `gate.min_confidence`, as the table shows, or leave it."
        )
    if not result.fits:
        lines.append(
            f"Nothing was fitted or written: each of the two parts needs {FEWEST} questions with "
            f"an answer and {FEWEST} without (off-topic ones for the topic)."
        )
    elif applied:
        backup = backup_of(target).name
        lines.append(
            f"Written to {target}, for all vaults; what it was is in {backup}. "
            "Without the block `gate.calibration` the built-in one counts again."
        )
    else:
        lines.append(f"Nothing was written: --apply puts it into {target}.")
    return lines


def _fitted(
    session: Session, file: Path | None, asking: Asking, now: datetime
) -> CalibrationResult:
    container = session.container
    container.embedder.embed_query("is the model there?")  # without it there is nothing to fit
    if file is None:
        vault, questions = _made(session, asking)
    else:
        vault, questions = questions_of(session, file, asking)
    check_enough(question.answerable for question in questions)  # before minutes of asking
    with counting(session.err, f"Asking {vault.name}", len(questions)) as advance:
        done = run(container, vault, questions, RunOptions(), now=now, advance=advance)
    session.notices(done.notices)
    return calibrate(
        done.results,
        _as_settings(built_in_calibration(container), embedding_model(container)),
        threshold=session.settings.gate.min_confidence,
        seed=asking.seed,
    )


def _check_writable(target: Path) -> None:
    """Before minutes of asking, and although a file can be replaced against its own mode: its
    owner made it read-only for a reason. Raises UsageError."""
    if target.exists() and not target.stat().st_mode & 0o222:
        raise UsageError(
            f"{target} is read-only.",
            f"Make it writable (`chmod u+w {target}`), or name another with --config FILE.",
        )
    if target.is_dir():
        raise UsageError(f"{target} is a folder.", "Name a file with --config FILE.")


def _as_settings(calibration: Calibration, model: str) -> CalibrationSettings:
    topic, answered = (
        LogisticSettings(
            features=part.features, coefficients=part.coefficients, intercept=part.intercept
        )
        if part is not None
        else None
        for part in (calibration.topic, calibration.answered)
    )
    assert topic is not None
    return CalibrationSettings(model=model, topic=topic, answered=answered)


def _made(session: Session, asking: Asking) -> tuple[VaultInfo, list[Question]]:
    vault = only_vault(session, asking.vault)
    n = asking.limit or MADE
    with counting(session.err, f"Reading {vault.name}", vault.notes, "notes") as advance:
        made = make_set(session.container, vault, n, seed=asking.seed, advance=advance)
    session.notices([f"{len(made.questions):,} questions were made from {vault.name} by rules."])
    own = parse_questions(as_lines(made.questions), "the questions that were made")
    return vault, [*own, *off_topic_questions(asking)]


def _write(target: Path, calibration: CalibrationSettings) -> None:
    """Put the block into the configuration file; what was there before is kept beside it. Raises
    ConfigError, or UsageError when the file can't be written."""
    text = read_text(target) if target.exists() else ""
    key = keys()["gate.calibration"]
    write_config(target, with_value(target, text, key, calibration), keep_old=True)
