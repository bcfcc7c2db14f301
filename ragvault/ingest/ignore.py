"""Which names the walk and the watch pass over: hidden ones, and those that ignore files name.

The rules are git's (gitignore(5)): patterns hold relative to the folder of their file, a deeper
file outranks a shallower one, the last matching line of a file wins, and nothing below an
ignored folder can be brought back. ``.ragvaultignore`` outranks ``.gitignore`` in the same
folder; the setting ``index.exclude`` outranks both and applies from the vault's root. Only files
inside the vault count: neither a repository above it nor the user's global excludes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ragvault.config.settings import IndexSettings
from ragvault.errors import ConfigError
from ragvault.ingest.paths import start_of

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

EXCLUDE = "index.exclude"
MAX_IGNORE_BYTES = 1_000_000  # beyond any that a person keeps; bounds what a hostile vault costs


def is_hidden(name: str) -> bool:
    """Dot files and folders: .obsidian, .git, .trash, .stversions, ._resource forks, .#locks."""
    return name.startswith(".")


@dataclass(frozen=True, slots=True)
class Rule:
    """One ignore file (or the setting): its patterns, and where they hold from."""

    source: str  # "notes/.gitignore", or "index.exclude"
    base: str  # the folder's path in the vault with a slash at its end, or ""
    spec: GitIgnoreSpec


# The rules that hold in one folder, the strongest first.
Rules: TypeAlias = tuple[Rule, ...]


def ignored_by(rules: Rules, rel: str, is_dir: bool) -> str | None:
    """The source of the rule that ignores ``rel`` (the raw path in the vault), or None."""
    for rule in rules:
        tail = rel[len(rule.base) :]
        ignores = rule.spec.check_file(tail + "/" if is_dir else tail).include
        if ignores is not None:  # True: ignored; False: kept by a ``!`` pattern
            return rule.source if ignores else None
    return None


def rules_inside(
    rules: Rules, folder: str, base: str, names: Sequence[str], on_bad: Callable[[str, str], None]
) -> Rules:
    """``rules`` and those of a folder's own ignore files ``names``, strongest first. ``folder`` is
    its real path, ``base`` that in the vault. ``on_bad(path in the vault, reason)`` is told of what
    can't be used."""
    found: list[Rule] = []
    for name in names:
        source = base + name
        try:
            data = start_of(Path(folder) / name, MAX_IGNORE_BYTES)
        except OSError as error:
            on_bad(source, f"ignore file can't be read: {error.strerror or error}")
            continue
        spec, bad = _compile(data.decode("utf-8-sig", "surrogateescape").splitlines())
        for pattern in bad:
            on_bad(source, f"pattern {pattern!r} is not valid and was left out")
        found.append(Rule(source, base, spec))
    fixed = tuple(r for r in rules if r.source == EXCLUDE)
    return (*fixed, *found, *rules[len(fixed) :])


def ignore_files(settings: IndexSettings) -> tuple[str, ...]:
    """The names of ignore files that count, the strongest first."""
    return (".ragvaultignore", ".gitignore") if settings.respect_gitignore else (".ragvaultignore",)


def exclude_rules(settings: IndexSettings) -> Rules:
    """``index.exclude`` as rules. Raises ConfigError for a bad pattern."""
    if not settings.exclude:
        return ()
    spec, bad = _compile(settings.exclude)
    if bad:
        raise ConfigError(f"index.exclude holds a pattern that is not valid: {bad[0]!r}.")
    return (Rule(EXCLUDE, "", spec),)


def _compile(patterns: Iterable[str]) -> tuple[GitIgnoreSpec, list[str]]:
    """The patterns as one spec, and the bad ones, which it leaves out."""
    from pathspec import GitIgnoreSpec  # here: a vault without ignore rules doesn't pay for it

    good: list[str] = []
    bad: list[str] = []
    for pattern in patterns:
        if not pattern.strip() or pattern.startswith("#"):
            continue
        try:
            GitIgnoreSpec.from_lines([pattern])
        except ValueError:  # pathspec's GitIgnorePatternError is one
            bad.append(pattern)
        else:
            good.append(pattern)
    return GitIgnoreSpec.from_lines(good), bad
