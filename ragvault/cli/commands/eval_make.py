"""``ragvault eval --generate`` and ``--compare``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from ragvault.cli.commands.eval_places import check_target
from ragvault.cli.render import words
from ragvault.cli.render.progress import counting
from ragvault.errors import UsageError
from ragvault.evaluation.generate import as_lines
from ragvault.evaluation.make import MadeSet, make_set
from ragvault.service.files import write_text
from ragvault.service.vaults import known_vaults

if TYPE_CHECKING:
    from ragvault.cli.commands.eval_options import EvalOptions
    from ragvault.cli.session import Session
    from ragvault.model import VaultInfo


def one_vault(session: Session, wanted: str | None) -> VaultInfo:
    """The vault named, or the only one. Raises UsageError when there are several."""
    known = known_vaults(session.container, [] if wanted is None else [wanted])
    if len(known) > 1:
        names = ", ".join(vault.name for vault in known)
        raise UsageError("There is more than one vault.", f"Choose with --vault: {names}.")
    return known[0]


def generate_set(session: Session, options: EvalOptions, n: int) -> int:
    """``n`` questions to a file or stdout; what they are to stderr."""
    vault = one_vault(session, options.vault)
    check_target(session, options.out)
    if options.out is not None and options.out.exists():
        raise UsageError(
            f"{options.out} is there already, perhaps with changes of yours.",
            "Name another file, or remove this one first.",
        )
    with counting(session.err, f"Reading {vault.name}", vault.notes, "notes") as advance:
        made = make_set(
            session.container,
            vault,
            n,
            seed=options.seed,
            with_model=options.with_ollama,
            advance=advance,
        )
    if not made.questions:
        raise UsageError(f"{vault.name} holds nothing that a question could be made of.")
    text = as_lines(made.questions)
    if options.out is None:
        session.out.print(text, end="")
    else:
        write_text(options.out, text)
    session.notices([line for line in (made.notice, _told(made, n, options.out)) if line])
    return 0


def _told(made: MadeSet, n: int, out: Path | None) -> str:
    """ "60 questions in q.jsonl: 30 with an answer (…), 30 without (…); made by rules." """
    good = [one for one in made.questions if one.answerable]
    bad = [one for one in made.questions if not one.answerable]
    place = f" in {out}" if out is not None else ""
    fewer = f" (the vault gives no more than these of {n:,})" if len(made.questions) < n else ""
    how = f"the answerable ones by {made.model}" if made.model else "by rules, no model"
    parts = [f"{len(good):,} with an answer ({_kinds([one.kind for one in good])})"]
    parts.append(f"{len(bad):,} without ({_kinds([one.kind for one in bad])})")
    total = words.count(len(made.questions), "question")
    return f"{total}{place}{fewer}: {', '.join(parts)}; made {how}."


def _kinds(kinds: list[str]) -> str:
    counts = Counter("swapped" if kind.endswith("-swapped") else kind for kind in kinds)
    return ", ".join(f"{n:,} {kind.replace('_', ' ')}" for kind, n in counts.items()) or "none"


def compare_runs(session: Session, a: Path, b: Path, *, seed: int, as_json: bool) -> int:
    """Two saved runs side by side; nothing is asked. Raises UsageError for what is none."""
    from ragvault.evaluation.compare import as_object, compare

    comparison = compare(a, b, seed=seed)
    if as_json:
        from ragvault.cli.render.terminal import print_json

        print_json(as_object(comparison))
    else:
        from ragvault.cli.render.eval import print_comparison

        print_comparison(session.out, comparison, a.name, b.name)
    return 0
