"""Which names the walk and the watch pass over: hidden ones, and those that ignore files name.

The rules are git's (gitignore(5)): patterns hold relative to the folder of their file, a deeper
file outranks a shallower one, the last matching line of a file wins, and nothing below an
ignored folder can be brought back. ``.ragvaultignore`` outranks ``.gitignore`` in the same
folder; the setting ``index.exclude`` outranks both and applies from the vault's root. Only files
inside the vault count: neither a repository above it nor the user's global excludes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ragvault.config.settings import IndexSettings
from ragvault.errors import ConfigError

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

RAGVAULT_IGNORE = ".ragvaultignore"
GIT_IGNORE = ".gitignore"
MAX_IGNORE_BYTES = 1_000_000  # beyond any that a person keeps; bounds what a hostile vault costs


def is_hidden(name: str) -> bool:
    """Dot files and folders: .obsidian, .git, .trash, .stversions, ._resource forks, .#locks."""
    return name.startswith(".")


def compile_rules(patterns: Iterable[str], on_bad: Callable[[str], None]) -> GitIgnoreSpec | None:
    """The patterns as one spec, or None when there is none. A bad one is told and left out.

    Imports pathspec here, so that a vault without ignore rules doesn't pay for it.
    """
    from pathspec import GitIgnoreSpec

    good: list[str] = []
    for pattern in patterns:
        if not pattern.strip() or pattern.startswith("#"):
            continue
        try:
            GitIgnoreSpec.from_lines([pattern])
        except ValueError:  # pathspec's GitIgnorePatternError is one
            on_bad(pattern)
        else:
            good.append(pattern)
    return GitIgnoreSpec.from_lines(good) if good else None


@dataclass(frozen=True, slots=True)
class Rule:
    """One ignore file (or the setting): its patterns, and where they hold from."""

    source: str  # "notes/.gitignore", or "index.exclude"
    base: str  # the folder's path in the vault with a slash at its end, or ""
    spec: GitIgnoreSpec

    def verdict(self, rel: str, is_dir: bool) -> bool | None:
        """True: ignored; False: kept by a ``!`` pattern; None: nothing here matches.

        ``rel`` is the raw path in the vault; it lies below ``base``.
        """
        tail = rel[len(self.base) :]
        return self.spec.check_file(tail + "/" if is_dir else tail).include


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules that hold in one folder, the strongest first."""

    rules: tuple[Rule, ...] = ()

    def ignored_by(self, rel: str, is_dir: bool) -> str | None:
        """The source of the rule that ignores ``rel``, or None. Linear in the rules."""
        for rule in self.rules:
            verdict = rule.verdict(rel, is_dir)
            if verdict is not None:
                return rule.source if verdict else None
        return None

    def entering(
        self,
        folder: str,
        base: str,
        names: Sequence[str],
        on_bad: Callable[[str, str], None],
    ) -> IgnoreRules:
        """The rules inside a folder. ``folder`` is its real path, ``base`` its path in the vault
        with a slash at the end, ``names`` the ignore files that it holds, strongest first.

        ``on_bad(path in the vault, reason)`` is told of a file or pattern that can't be used.
        """
        found: list[Rule] = []
        for name in names:
            source = base + name
            try:
                with (Path(folder) / name).open("rb") as handle:
                    data = handle.read(MAX_IGNORE_BYTES)
            except OSError as error:
                on_bad(source, f"ignore file can't be read: {error.strerror or error}")
                continue
            lines = data.decode("utf-8-sig", "surrogateescape").splitlines()

            def bad(pattern: str, source: str = source) -> None:
                on_bad(source, f"pattern {pattern!r} is not valid and was left out")

            spec = compile_rules(lines, bad)
            if spec is not None:
                found.append(Rule(source, base, spec))
        if not found:
            return self
        fixed = [r for r in self.rules if r.source == "index.exclude"]
        rest = [r for r in self.rules if r.source != "index.exclude"]
        return IgnoreRules((*fixed, *found, *rest))


def ignore_files(settings: IndexSettings) -> tuple[str, ...]:
    """The names of ignore files that count, the strongest first."""
    return (RAGVAULT_IGNORE, GIT_IGNORE) if settings.respect_gitignore else (RAGVAULT_IGNORE,)


def exclude_rules(settings: IndexSettings) -> IgnoreRules:
    """``index.exclude`` as rules. Raises ConfigError for a bad pattern."""
    if not settings.exclude:
        return IgnoreRules()

    def bad(pattern: str) -> None:
        raise ConfigError(f"index.exclude holds a pattern that is not valid: {pattern!r}.")

    spec = compile_rules(settings.exclude, bad)
    return IgnoreRules((Rule("index.exclude", "", spec),) if spec is not None else ())


class PathRules:
    """Whether single paths are passed over, as the walk would: for events on paths.

    Reads ignore files when first needed; ``forget`` after one of them changed. Linear in a
    path's depth.
    """

    def __init__(self, root: str, exclude: IgnoreRules, names: Sequence[str]) -> None:
        """``exclude``: what holds from the root on; ``names``: ignore files, strongest first."""
        self._root = root
        self._exclude = exclude
        self._names = tuple(names)
        self._known: dict[str, IgnoreRules] = {}

    def forget(self) -> None:
        self._known.clear()

    def passes_over(self, rel: str, is_dir: bool) -> bool:
        """``rel``: the raw path in the vault, with slashes. An ignore file itself is not passed
        over: what it says matters."""
        parts = rel.split("/")
        if any(is_hidden(part) for part in parts[:-1]):
            return True
        if is_hidden(parts[-1]):
            return is_dir or parts[-1] not in self._names
        for depth in range(1, len(parts) + 1):
            base = "".join(f"{part}/" for part in parts[: depth - 1])
            part_is_dir = is_dir or depth < len(parts)
            if self._rules(base).ignored_by("/".join(parts[:depth]), part_is_dir) is not None:
                return True
        return False

    def _rules(self, base: str) -> IgnoreRules:
        """The rules inside the folder ``base`` ("" or with a slash at its end)."""
        if base not in self._known:
            above = self._exclude
            if base:
                above = self._rules(base[: base.rstrip("/").rfind("/") + 1])
            folder = f"{self._root.rstrip(os.sep)}{os.sep}{base}"
            names = [n for n in self._names if os.path.isfile(folder + n)]  # noqa: PTH113 - Path's raises
            # A bad pattern is reported by the walk, on each run.
            self._known[base] = above.entering(folder, base, names, lambda *_: None)
        return self._known[base]
