"""What the catalog knows against what the walk found → what has to be done. Pure.

A file whose size and time of change are the catalog's is unchanged, unopened. There is one trap,
git's "racy" entry: a file written again within the tick of the clock in which it was read can
keep both. So an mtime within ``RACY_NS`` of the moment the content was read is not believed and
the content is hashed; once that was done later, it is believed from then on. The same goes for a
file of which anything changed (its ctime) after it was read: rsync, and who restores a backup, set
the mtime back.
"""

from __future__ import annotations

import os
import shlex
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ragvault.config.settings import MAX_TOKENS, ChunkingSettings
from ragvault.ingest.paths import is_within
from ragvault.model import FileState, NoteFile

CHUNK_FORMAT = "c4"  # changes whenever the same note would give other chunks or embed texts
RACY_NS = 2_000_000_000  # the coarsest clock in use: FAT's 2 s
LARGE = 1_000_000  # bytes
HOUR_NS = 3_600_000_000_000
FEW = 20  # notes that one may write in an hour
MANY = 10  # notes that one hardly deletes by chance


def longest_passage(settings: ChunkingSettings, window: int | None) -> int:
    """In tokens. ``window`` is how many the embedder reads at once; None: not known now."""
    return min(window or MAX_TOKENS, settings.max_tokens or window or MAX_TOKENS)


def text_fingerprint(settings: ChunkingSettings, window: int | None) -> str:
    """Names all that decides a note's chunks; when it moves, the notes are read afresh. The model
    has no part in it but through a window that is smaller than a passage."""
    longest = longest_passage(settings, window)
    return f"chunks={CHUNK_FORMAT}|max_tokens={longest}|overlap={settings.overlap:g}"


def time_of_copy(files: Sequence[NoteFile]) -> range:
    """The hour, in ns, in which at least half of the files were written; empty where there is none
    or are few. Nobody writes half of all notes in an hour: they were copied, cloned or unpacked
    then, and such a time dates no note."""
    times = sorted(file.mtime_ns for file in files)
    half = max(FEW, (len(times) + 1) // 2)
    for first, last in zip(times, times[half - 1 :], strict=False):
        if last - first < HOUR_NS:
            return range(first, first + HOUR_NS)
    return range(0)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run has to do, each part but ``writes`` in path order. ``touched`` have the content
    that the catalog knows, at another time of change (or a racy one). ``renamed`` are (old path,
    file). ``kept`` are known notes in places that can't be read now; ``spared``: see there.
    ``outdated`` says how many of ``changed`` have the content that the catalog knows, but were cut
    with other settings."""

    added: tuple[NoteFile, ...] = ()
    changed: tuple[NoteFile, ...] = ()
    touched: tuple[NoteFile, ...] = ()
    removed: tuple[str, ...] = ()
    renamed: tuple[tuple[str, NoteFile], ...] = ()
    unchanged: int = 0
    kept: tuple[str, ...] = ()
    spared: tuple[str, ...] = ()
    outdated: int = 0

    @property
    def is_empty(self) -> bool:
        return not (self.added or self.changed or self.touched or self.removed or self.renamed)

    @property
    def writes(self) -> tuple[NoteFile, ...]:
        """Every file to read, the newest first; large ones last, so that none holds up the rest."""
        files = (*self.added, *self.changed, *(f for _, f in self.renamed))
        return tuple(sorted(files, key=lambda f: (f.size >= LARGE, -f.mtime_ns, f.rel_path)))

    def notices(self, vault: str) -> Iterator[str]:
        """What is to be said of it."""
        if self.outdated:
            yield (
                "The length of passages or ragvault's own format changed: "
                f"{self.outdated:,} notes are read again."
            )
        if self.kept:
            stay = "1 note stays" if len(self.kept) == 1 else f"{len(self.kept):,} notes stay"
            yield f"{stay} in the index, in places that can't be read now."
        if self.spared:
            yield (
                f"{len(self.spared):,} notes, more than half, are gone from the folder and stay in"
                " the index, in case a drive is missing. If they are gone for good: "
                f"`ragvault index --full --vault {shlex.quote(vault)}`."
            )


def make_plan(
    states: Mapping[str, FileState],
    files: Sequence[NoteFile],
    *,
    hash_of: Callable[[NoteFile], str | None],
    fingerprint: str = "",
    full: bool = False,
    thorough: bool = False,
    unreadable: Sequence[str] = (),
) -> Plan:
    """Compare. Linear in files and states; hashes only what size and time leave in doubt, all if
    ``thorough``.

    ``hash_of`` gives the SHA-256 of a file's content; None when it can't be read. A note that was
    written under another ``fingerprint`` than today's is changed; with ``full`` every one is. What
    is known at or below ``unreadable`` paths (folders end with a slash) is kept, not removed.
    """
    added: list[NoteFile] = []
    changed: list[NoteFile] = []
    touched: list[NoteFile] = []
    unchanged = outdated = 0
    for file in sorted(files, key=lambda f: f.rel_path):
        state = states.get(file.rel_path)
        if state is None:
            added.append(file)
        elif full or state.fingerprint != fingerprint:
            outdated += state.fingerprint != fingerprint
            changed.append(file)
        elif file.size != state.size:
            changed.append(file)
        elif not thorough and file.mtime_ns == state.mtime_ns and _is_settled(file, state):
            unchanged += 1
        elif hash_of(file) == state.content_hash:
            touched.append(file)
        else:
            changed.append(file)
    gone = sorted(states.keys() - {f.rel_path for f in files})
    kept = [path for path in gone if is_within(path, unreadable)]
    lost = sorted(set(gone).difference(kept))
    renamed = _renames(states, added, lost, hash_of)
    old_paths = {old for old, _ in renamed}
    new_paths = {new.rel_path for _, new in renamed}
    return Plan(
        added=tuple(f for f in added if f.rel_path not in new_paths),
        changed=tuple(changed),
        touched=tuple(touched),
        removed=tuple(p for p in lost if p not in old_paths),
        renamed=tuple(sorted(renamed, key=lambda pair: pair[1].rel_path)),
        unchanged=unchanged,
        kept=tuple(kept),
        outdated=outdated,
    )


def spared(plan: Plan, known: int, root: Path) -> Plan:
    """The plan without its removals where more than half of the ``known`` notes went at once from
    the folder: that is a drive or a share that isn't there more often than a wish. What is there
    and isn't a note any more (it is ignored now) counts as a wish."""
    gone = [path for path in plan.removed if not os.path.lexists(root / path)]
    if len(gone) < MANY or 2 * len(gone) <= known:
        return plan
    removed = tuple(path for path in plan.removed if path not in set(gone))
    return replace(plan, removed=removed, spared=tuple(gone))


def _is_settled(file: NoteFile, state: FileState) -> bool:
    """Nothing can have been written since the content was read: not within the clock's tick of
    it, nor with the time of change set back (``ctime_ns`` tells)."""
    is_racy = abs(state.seen_ns - state.mtime_ns) < RACY_NS
    return not is_racy and file.ctime_ns + RACY_NS <= state.seen_ns


def _renames(
    states: Mapping[str, FileState],
    added: Sequence[NoteFile],
    lost: Sequence[str],
    hash_of: Callable[[NoteFile], str | None],
) -> list[tuple[str, NoteFile]]:
    """Pair new files with lost notes of the same content, each used once, notes of equal content
    (empty ones, templates) in path order. Only a file as long as a lost note is read."""
    waiting: dict[str | None, deque[str]] = defaultdict(deque)
    for path in lost:
        waiting[states[path].content_hash].append(path)
    sizes = {states[path].size for path in lost}
    return [
        (olds.popleft(), file)
        for file in added
        if file.size in sizes and (olds := waiting.get(hash_of(file)))
    ]
