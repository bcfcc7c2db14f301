"""``ragvault eval --calibrate``: the gate fitted to one's own notes, and put into the config."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ragvault.cli.commands.eval_make import one_vault
from ragvault.cli.commands.eval_run import asked_for, questions_of, threshold_in_force
from ragvault.cli.render.progress import counting
from ragvault.errors import UsageError
from ragvault.evaluation.calibrate import (
    FEWEST,
    MADE,
    CalibrationResult,
    Priors,
    as_object,
    calibrate,
)
from ragvault.evaluation.config_block import with_calibration
from ragvault.evaluation.dataset import parse_questions
from ragvault.evaluation.fit import Prior
from ragvault.evaluation.generate import as_lines
from ragvault.evaluation.make import make_set
from ragvault.evaluation.runner import RunOptions, run
from ragvault.service.calibration import built_in_calibration, embedding_model
from ragvault.service.files import backup_of, write_config
from ragvault.wiring import locate_config

if TYPE_CHECKING:
    from ragvault.cli.commands.eval_options import EvalOptions
    from ragvault.cli.session import Session
    from ragvault.config.settings import CalibrationSettings
    from ragvault.evaluation.dataset import Question
    from ragvault.model import VaultInfo
    from ragvault.retrieval.confidence.calibration import Logistic


_WORSE = 0.02  # more of the unanswerable answered than before: said


def calibrate_gate(
    session: Session,
    options: EvalOptions,
    *,
    now: datetime,
    config: Path | None,
    as_json: bool,
) -> int:
    """Fit, show, and write with ``--apply``."""
    target = locate_config(config)[0]
    if options.apply:
        _check_writable(target)
    result = fitted(session, options, now)
    applied = options.apply and bool(result.fits)
    if applied:
        _write(target, result.settings)
    if as_json:
        from ragvault.cli.render.terminal import print_json

        print_json(as_object(result, applied=str(target) if applied else None))
    else:
        from ragvault.cli.render.eval import print_calibration

        print_calibration(session.out, result, threshold_in_force(session.settings))
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


def fitted(session: Session, options: EvalOptions, now: datetime) -> CalibrationResult:
    """Raises UsageError for too few questions, ModelError when there is no embedding model."""
    container = session.container
    container.embedder.embed_query("is the model there?")  # without it there is nothing to fit
    if options.questions is None:
        vault, questions = _made(session, options)
    else:
        vault, questions = questions_of(session, options.questions, options)
    _check_enough(vault, questions, is_made=options.questions is None)
    with counting(session.err, f"Asking {vault.name}", len(questions)) as advance:
        done = run(container, vault, questions, RunOptions(legs=()), now=now, advance=advance)
    session.notices(done.notices)
    built_in = built_in_calibration(container)
    model = embedding_model(session.settings)
    return calibrate(
        done.results,
        Priors(
            _prior(built_in.topic),
            None if built_in.answered is None else _prior(built_in.answered),
        ),
        model=model,
        threshold=threshold_in_force(session.settings),
        seed=options.seed,
    )


def _check_enough(vault: VaultInfo, questions: Sequence[Question], *, is_made: bool) -> None:
    """Before they are asked. (How many the embedding model can read is known only then.)"""
    n_good = sum(question.answerable for question in questions)
    n_bad = len(questions) - n_good
    if min(n_good, n_bad) >= FEWEST:
        return
    if is_made:
        raise UsageError(
            f"{vault.name} gives too few questions to calibrate with: {n_good} with an answer and "
            f"{n_bad} without, of {FEWEST} each.",
            "Write your own into a file (see the README), or keep the built-in calibration.",
        )
    raise UsageError(
        f"A calibration needs at least {FEWEST} questions with an answer and {FEWEST} without; "
        f"these are {n_good} and {n_bad}.",
        "Add questions, or --off-topic FILE; or leave QUESTIONS out: they are made then.",
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


def _prior(logistic: Logistic) -> Prior:
    return Prior(logistic.features, logistic.coefficients, logistic.intercept)


def _made(session: Session, options: EvalOptions) -> tuple[VaultInfo, list[Question]]:
    vault = one_vault(session, options.vault)
    n = options.limit or MADE
    with counting(session.err, f"Reading {vault.name}", vault.notes, "notes") as advance:
        made = make_set(session.container, vault, n, seed=options.seed, advance=advance)
    session.notices([f"{len(made.questions):,} questions were made from {vault.name} by rules."])
    own = parse_questions(as_lines(made.questions), "the questions that were made")
    return vault, [*own, *asked_for(options)]


def _write(target: Path, calibration: CalibrationSettings) -> None:
    """Put the block into the configuration file; what was there before is kept beside it. Raises
    ConfigError, or UsageError when the file can't be read or written."""
    try:
        text = target.read_bytes().decode("utf-8") if target.exists() else ""
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(f"{target} can't be read: {reason}.") from error
    write_config(target, with_calibration(text, calibration), keep_old=True)
