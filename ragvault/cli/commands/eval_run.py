"""The work behind ``ragvault eval run`` and ``compare``."""

from __future__ import annotations

from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from ragvault.cli.render import eval as render
from ragvault.cli.render.progress import counting
from ragvault.cli.render.terminal import print_json
from ragvault.errors import ModelError, UsageError
from ragvault.evaluation import compare, dataset, document, places
from ragvault.evaluation.document import Evaluation, Setting
from ragvault.evaluation.runner import RunOptions, run, vault_for
from ragvault.evaluation.summary import summarise
from ragvault.service.status import ollama_status

if TYPE_CHECKING:
    from ragvault.cli.commands.eval import Asking, Measuring
    from ragvault.cli.session import Session
    from ragvault.evaluation.dataset import Question
    from ragvault.model import VaultInfo
    from ragvault.wiring import Container


# --------------------------------------------------------------------------- run


def run_set(
    session: Session,
    file: Path,
    asking: Asking,
    measuring: Measuring,
    *,
    now: datetime,
    as_json: bool,
) -> int:
    """Ask, and show what came of it. Raises UsageError for a set that is none, or doesn't fit the
    vault; NoIndexError."""
    container, settings = session.container, session.settings
    vault, questions = questions_of(session, file, asking)
    how = RunOptions(
        each_retriever=measuring.retrievers,
        answers=measuring.answers,
        use_model=measuring.answers
        and not measuring.no_llm
        and ollama_status(container).problem is None,
        gate=not measuring.ranking_only,
    )
    with counting(session.err, f"Asking {vault.name}", len(questions)) as advance:
        done = run(container, vault, questions, how, now=now, advance=advance)
    setting = Setting(
        name=set_name(file),
        vault=vault,
        model=_model_of(container),
        threshold=settings.gate.min_confidence,
        seed=asking.seed,
    )
    summary = summarise(done.results, threshold=setting.threshold, seed=asking.seed)
    passages = cache(partial(container.catalog.note_chunks, vault.name))
    gold_nowhere = places.notices(questions, passages, places.Notes(vault.path))
    notices = (*gold_nowhere, *done.notices)
    evaluation = Evaluation(setting, done.results, summary, done.seconds, notices)
    session.notices(notices)
    if as_json:
        print_json(document.as_object(evaluation))
    else:
        render.print_evaluation(session.out, evaluation)
    return 0


def _model_of(container: Container) -> str:
    """The embedding model's name; "" when only a server knows it that can't be asked."""
    try:
        return container.embedder.model
    except ModelError:
        return ""


def set_name(path: Path) -> str:
    """A file's name; that of its folder too where all sets are called alike."""
    return path.parent.name if path.stem == "questions" and path.parent.name else path.stem


def questions_of(session: Session, file: Path, asking: Asking) -> tuple[VaultInfo, list[Question]]:
    """The vault, and the questions of all files. Raises as ``run_set``."""
    own = dataset.load_questions(file, limit=asking.limit, seed=asking.seed)
    vault = vault_for(session.container, asking.vault, own, file.name)
    return vault, [*own, *off_topic_questions(asking)]


def off_topic_questions(asking: Asking) -> list[Question]:
    """Those of --off-topic, under their sets' names."""
    found: list[Question] = []
    names: set[str] = set()
    for path in asking.off_topic or ():
        name = set_name(path)
        if name in names:
            raise UsageError(f"Two off-topic sets are called '{name}'.", "Rename one of them.")
        names.add(name)
        questions = dataset.load_questions(path, limit=asking.limit, seed=asking.seed)
        found += dataset.as_off_topic(questions, name)
    return found


# --------------------------------------------------------------------------- compare


def compare_runs(session: Session, a: Path, b: Path, *, as_json: bool) -> int:
    """Two saved runs side by side. Raises UsageError for what is none."""
    comparison = compare.compare(a, b)
    if as_json:
        print_json(compare.as_object(comparison))
    else:
        render.print_comparison(session.out, comparison, a.name, b.name)
    return 0
