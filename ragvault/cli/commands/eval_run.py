"""The run behind ``ragvault eval QUESTIONS``: load, ask, show."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ragvault.cli.commands.eval_places import check_target
from ragvault.cli.render.progress import counting
from ragvault.errors import NoIndexError, UsageError
from ragvault.evaluation import dataset, gold_check
from ragvault.evaluation.dataset import Question
from ragvault.evaluation.document import Evaluation, Setting, as_object
from ragvault.evaluation.places import Notes
from ragvault.evaluation.runner import RunOptions, run
from ragvault.evaluation.summary import summarise
from ragvault.service.calibration import embedding_model
from ragvault.service.status import server_is_there
from ragvault.service.vaults import known_vaults

if TYPE_CHECKING:
    from ragvault.cli.commands.eval_options import EvalOptions
    from ragvault.cli.session import Session
    from ragvault.config.settings import Settings
    from ragvault.model import StoredChunk, VaultInfo
    from ragvault.wiring import Container


def set_name(path: Path) -> str:
    """A file's name; that of its folder too where all sets are called alike."""
    return path.parent.name if path.stem == "questions" and path.parent.name else path.stem


def run_set(session: Session, options: EvalOptions, *, now: datetime, as_json: bool) -> int:
    """Ask, and show what came of it. Raises as ``evaluated``."""
    evaluation = evaluated(session, options, now)
    session.notices(evaluation.notices)
    if options.report is not None:
        from ragvault.evaluation.report import page
        from ragvault.service.files import write_text

        write_text(options.report, page(evaluation))
        session.notices([f"The report is in {options.report}."])
    if as_json:
        from ragvault.cli.render.terminal import print_json

        print_json(as_object(evaluation))
    else:
        from ragvault.cli.render.eval import print_evaluation

        print_evaluation(session.out, evaluation)
    return 0


def evaluated(session: Session, options: EvalOptions, now: datetime) -> Evaluation:
    """Raises UsageError for a set that is none, or doesn't fit the vault, and for a leg that there
    isn't; NoIndexError."""
    container = session.container
    if options.questions is None:
        raise UsageError(
            "eval needs a file of questions.",
            "Make one: `ragvault eval --generate 100 --out questions.jsonl`.",
        )
    rankings = options.rankings
    vault, questions = questions_of(session, options.questions, options)
    check_target(session, options.report)
    how = RunOptions(
        rankings,
        answers=options.answers,
        use_model=options.answers and not options.no_llm and server_is_there(container),
        gate=not options.ranking_only,
    )
    with counting(session.err, f"Asking {vault.name}", len(questions)) as advance:
        done = run(container, vault, questions, how, now=now, advance=advance)
    settings = session.settings
    setting = Setting(
        name=set_name(options.questions),
        vault=vault,
        model=embedding_model(settings),
        threshold=threshold_in_force(settings),
        seed=options.seed,
    )
    summary = summarise(done.results, threshold=setting.threshold, seed=options.seed)
    told = (*unplaced(container, vault, questions), *done.notices)
    return Evaluation(setting, done.results, summary, done.seconds, told)


def threshold_in_force(settings: Settings) -> float:
    """The confidence below which the gate refuses."""
    return settings.gate.min_confidence


def unplaced(
    container: Container, vault: VaultInfo, questions: Sequence[Question]
) -> tuple[str, ...]:
    """Notices about gold places that no search could find."""

    @cache
    def passages(rel_path: str) -> Sequence[StoredChunk]:
        return container.catalog.note_chunks(vault.name, rel_path)

    return gold_check.notices(questions, passages, Notes(vault.path))


def questions_of(
    session: Session, file: Path, options: EvalOptions
) -> tuple[VaultInfo, list[Question]]:
    """The vault, and the questions of all files. Raises as ``evaluated``."""
    own = dataset.load_questions(file, limit=options.limit, seed=options.seed)
    vault = vault_for(session, options.vault, own, file.name)
    return vault, [*own, *asked_for(options)]


def asked_for(options: EvalOptions) -> list[Question]:
    """The off-topic questions, under their sets' names."""
    found: list[Question] = []
    names: set[str] = set()
    for path in options.off_topic or ():
        name = set_name(path)
        if name in names:
            raise UsageError(f"Two off-topic sets are called '{name}'.", "Rename one of them.")
        names.add(name)
        questions = dataset.load_questions(path, limit=options.limit, seed=options.seed)
        found += dataset.as_off_topic(questions, name)
    return found


def vault_for(
    session: Session, wanted: str | None, questions: Sequence[Question], name: str
) -> VaultInfo:
    """The vault named, or the only one, or the one that holds every gold note.

    Raises NoIndexError for an unknown one, UsageError when the gold notes aren't in it.
    """
    catalog = session.container.catalog
    known = known_vaults(session.container, [] if wanted is None else [wanted])
    if len(known) > 1:
        holding = [
            vault
            for vault in known
            if not dataset.missing_places(questions, catalog.file_states(vault.name))
        ]
        if len(holding) != 1 or not any(q.gold for q in questions):
            names = ", ".join(vault.name for vault in known)
            which = "More than one vault holds" if len(holding) > 1 else "No vault holds all of"
            raise UsageError(
                f"{which} the notes that {name} names.", f"Choose with --vault: {names}."
            )
        known = holding
    vault = known[0]
    if not vault.chunks:
        raise NoIndexError(
            f"There are no notes to search in {vault.name}.", "Run `ragvault index`."
        )
    dataset.check_places(questions, catalog.file_states(vault.name), vault.name, name)
    return vault
