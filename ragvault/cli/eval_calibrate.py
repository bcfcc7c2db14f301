"""``ragvault eval --calibrate``: the gate fitted to one's own notes, and put into the config."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ragvault.cli.bar import counting
from ragvault.cli.eval_make import one_vault
from ragvault.cli.eval_run import asked_for, questions_of
from ragvault.cli.writing import backup_of, write_config
from ragvault.errors import UsageError
from ragvault.evaluation.calibrate import MADE, CalibrationResult, Priors, as_object, calibrate
from ragvault.evaluation.config_block import with_calibration
from ragvault.evaluation.dataset import parse_questions
from ragvault.evaluation.fit import Prior
from ragvault.evaluation.generate import as_lines
from ragvault.evaluation.make import make_set
from ragvault.evaluation.runner import RunOptions, run
from ragvault.flows.calibration import built_in_calibration, embedding_model
from ragvault.wiring import locate_config

if TYPE_CHECKING:
    from ragvault.cli.eval_options import EvalOptions
    from ragvault.cli.session import Session
    from ragvault.config import CalibrationSettings
    from ragvault.evaluation.dataset import Question
    from ragvault.model import VaultInfo
    from ragvault.retrieval.calibration import Logistic


def calibrate_gate(
    session: Session,
    options: EvalOptions,
    *,
    now: datetime,
    config: Path | None,
    as_json: bool,
) -> int:
    """Fit, show, and write with ``--apply``."""
    result = fitted(session, options, now)
    target = locate_config(config)[0]
    if options.apply:
        _write(target, result.settings)
    if as_json:
        from ragvault.cli.jsonout import print_json

        print_json(as_object(result, applied=str(target) if options.apply else None))
    else:
        from ragvault.cli.render_eval import print_calibration

        print_calibration(session.out, result, session.settings.gate.min_confidence)
    if options.apply:
        session.notices([f"Written to {target}; what it was is in {backup_of(target).name}."])
    else:
        session.notices([f"Nothing was written: --apply puts it into {target}."])
    return 0


def fitted(session: Session, options: EvalOptions, now: datetime) -> CalibrationResult:
    """Raises UsageError for too few questions, ModelError when there is no embedding model."""
    container = session.container
    container.embedder.embed_query("is the model there?")  # without it there is nothing to fit
    if options.questions is None:
        vault, questions = _made(session, options)
    else:
        vault, questions = questions_of(session, options.questions, options)
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
        threshold=session.settings.gate.min_confidence,
        seed=options.seed,
    )


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
