"""The work behind ``ragvault eval run``, ``compare`` and ``generate``."""

from __future__ import annotations

import os
from collections import Counter
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from ragvault.cli.render import eval as render, words
from ragvault.cli.render.progress import counting
from ragvault.cli.render.terminal import print_json
from ragvault.errors import UsageError
from ragvault.evaluation import compare, dataset, document, places
from ragvault.evaluation.document import Evaluation, Setting
from ragvault.evaluation.generate import MadeSet, as_lines, make_set
from ragvault.evaluation.runner import RunOptions, run, vault_for
from ragvault.evaluation.summary import summarise
from ragvault.service.calibration import embedding_model
from ragvault.service.files import write_text
from ragvault.service.status import server_is_there
from ragvault.service.vaults import known_vaults

if TYPE_CHECKING:
    from ragvault.cli.commands.eval import Asking, Measuring
    from ragvault.cli.session import Session
    from ragvault.evaluation.dataset import Question
    from ragvault.model import VaultInfo


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
    check_target(session, measuring.report)
    how = RunOptions(
        each_retriever=measuring.retrievers,
        answers=measuring.answers,
        use_model=measuring.answers and not measuring.no_llm and server_is_there(container),
        gate=not measuring.ranking_only,
    )
    with counting(session.err, f"Asking {vault.name}", len(questions)) as advance:
        done = run(container, vault, questions, how, now=now, advance=advance)
    setting = Setting(
        name=set_name(file),
        vault=vault,
        model=embedding_model(container),
        threshold=settings.gate.min_confidence,
        seed=asking.seed,
    )
    summary = summarise(done.results, threshold=setting.threshold, seed=asking.seed)
    passages = cache(partial(container.catalog.note_chunks, vault.name))
    gold_nowhere = places.notices(questions, passages, places.Notes(vault.path))
    notices = (*gold_nowhere, *done.notices)
    evaluation = Evaluation(setting, done.results, summary, done.seconds, notices)
    session.notices(notices)
    if measuring.report is not None:
        from ragvault.evaluation.report import page

        write_text(measuring.report, page(evaluation))
        session.notices([f"The report is in {measuring.report}."])
    if as_json:
        print_json(document.as_object(evaluation))
    else:
        render.print_evaluation(session.out, evaluation)
    return 0


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


# --------------------------------------------------------------------------- generate


def generate_set(
    session: Session, n: int, vault: str | None, out: Path | None, *, with_model: bool, seed: int
) -> int:
    """``n`` questions to a file or stdout; what they are to stderr."""
    read = only_vault(session, vault)
    check_target(session, out)
    if out is not None and out.exists():
        raise UsageError(
            f"{out} is there already, perhaps with changes of yours.",
            "Name another file, or remove this one first.",
        )
    with counting(session.err, f"Reading {read.name}", read.notes, "notes") as advance:
        made = make_set(
            session.container, read, n, seed=seed, with_model=with_model, advance=advance
        )
    if not made.questions:
        raise UsageError(f"{read.name} holds nothing that a question could be made of.")
    text = as_lines(made.questions)
    if out is None:
        session.out.print(text, end="")
    else:
        write_text(out, text)
    session.notices([line for line in (made.notice, _what_was_made(made, n, out)) if line])
    return 0


def only_vault(session: Session, wanted: str | None) -> VaultInfo:
    """The vault named, or the only one. Raises UsageError when there are several."""
    known = known_vaults(session.container, [] if wanted is None else [wanted])
    if len(known) > 1:
        names = ", ".join(vault.name for vault in known)
        raise UsageError("There is more than one vault.", f"Choose with --vault: {names}.")
    return known[0]


def _what_was_made(made: MadeSet, n: int, out: Path | None) -> str:
    """ "60 questions in q.jsonl: 30 with an answer (…), 30 without (…); made by …"."""
    sides = []
    for answerable in (True, False):
        kinds = [one.kind for one in made.questions if one.answerable is answerable]
        counts = Counter("swapped" if "-swapped" in k else k.replace("_", " ") for k in kinds)
        listed = ", ".join(f"{number:,} {kind}" for kind, number in counts.items()) or "none"
        sides.append(f"{len(kinds):,} {'with an answer' if answerable else 'without'} ({listed})")
    place = f" in {out}" if out is not None else ""
    fewer = f" (the vault gives no more than these of {n:,})" if len(made.questions) < n else ""
    how = f"the answerable ones by {made.model}" if made.model else "by rules, no model"
    total = words.count(len(made.questions), "question")
    return f"{total}{place}{fewer}: {', '.join(sides)}; made {how}."


# --------------------------------------------------------------------------- where it may write


def check_target(session: Session, target: Path | None) -> None:
    """Before minutes of asking are spent: raises UsageError for a file that can't be written, and
    for a note of a vault."""
    if target is None:
        return
    where, reason = target.resolve(), None
    if where.is_dir():
        reason = "it is a folder"
    elif not where.parent.is_dir():
        reason = f"there is no folder {where.parent}"
    elif not os.access(where if where.exists() else where.parent, os.W_OK):
        reason = "permission denied"
    if reason is not None:
        raise UsageError(f"{target} can't be written: {reason}.", "Name another file.")
    vaults = session.container.catalog.vaults()
    mine = next((v.name for v in vaults if where.is_relative_to(v.path.resolve())), None)
    if mine is not None and where.suffix.lower() in session.settings.index.extensions:
        told = f"{target} would be a note of the vault '{mine}', and ragvault writes none."
        raise UsageError(told, "Name another file.")
