"""What the catalog knows against what the walk found → what has to be done. Pure.

A file whose size and time of change are the catalog's is unchanged, unopened. There is one trap,
git's "racy" entry: a file written again within the tick of the clock in which it was read can
keep both. So an mtime within ``RACY_NS`` of the moment the content was read is not believed and
the content is hashed; once that was done later, it is believed from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ragvault.config.settings import ChunkingSettings
from ragvault.model import FileState, NoteFile

CHUNK_FORMAT = "c2"  # changes whenever the same note would give other chunks or embed texts
RACY_NS = 2_000_000_000  # the coarsest clock in use: FAT's 2 s


def index_fingerprint(embedder_fingerprint: str, settings: ChunkingSettings) -> str:
    """Names all that decides chunks and vectors; when it moves, the notes are indexed afresh."""
    return (
        f"{embedder_fingerprint}|chunks={CHUNK_FORMAT}"
        f"|max_tokens={settings.max_tokens}|overlap={settings.overlap:g}"
    )


HashOf = Callable[[NoteFile], str | None]
"""SHA-256 of a file's content in hex; None when it can't be read (the run then reports it)."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run has to do, each part in path order.

    ``touched`` have the content that the catalog knows, at another time of change (or a racy
    one). ``renamed`` are (old path, file). ``kept`` are known notes in places that can't be read
    now. ``outdated`` says how many of ``changed`` have the content that the catalog knows, but
    were written by another model or with other settings.
    """

    added: tuple[NoteFile, ...] = ()
    changed: tuple[NoteFile, ...] = ()
    touched: tuple[NoteFile, ...] = ()
    removed: tuple[str, ...] = ()
    renamed: tuple[tuple[str, NoteFile], ...] = ()
    unchanged: int = 0
    kept: tuple[str, ...] = ()
    outdated: int = 0

    @property
    def is_empty(self) -> bool:
        return not (self.added or self.changed or self.touched or self.removed or self.renamed)

    @property
    def writes(self) -> tuple[NoteFile, ...]:
        """Every file to read, in path order."""
        files = [*self.added, *self.changed, *(f for _, f in self.renamed)]
        return tuple(sorted(files, key=lambda f: f.rel_path))


@dataclass(slots=True)
class _Sorted:
    added: list[NoteFile] = field(default_factory=list)
    changed: list[NoteFile] = field(default_factory=list)
    touched: list[NoteFile] = field(default_factory=list)
    unchanged: int = 0
    outdated: int = 0


def make_plan(
    states: Mapping[str, FileState],
    files: Sequence[NoteFile],
    *,
    hash_of: HashOf,
    fingerprint: str = "",
    full: bool = False,
    unreadable: Sequence[str] = (),
) -> Plan:
    """Compare. Linear in files and states; hashes only what size and time leave in doubt.

    ``fingerprint`` is today's index fingerprint: a note that was written under another one is
    changed. ``full`` makes every known note changed. ``unreadable`` are the paths of the walk's
    result: known notes at or below them are kept, not removed.
    """
    sorted_ = _Sorted()
    present: set[str] = set()
    for file in files:
        present.add(file.rel_path)
        _place(sorted_, file, states.get(file.rel_path), hash_of, fingerprint, full)
    gone = [path for path in states if path not in present]
    kept = [path for path in gone if _is_below(path, unreadable)]
    lost = sorted(set(gone).difference(kept))
    renamed, added, removed = _renames(states, sorted_.added, lost, hash_of)
    return Plan(
        added=_by_path(added),
        changed=_by_path(sorted_.changed),
        touched=_by_path(sorted_.touched),
        removed=tuple(removed),
        renamed=tuple(sorted(renamed, key=lambda pair: pair[1].rel_path)),
        unchanged=sorted_.unchanged,
        kept=tuple(sorted(kept)),
        outdated=sorted_.outdated,
    )


def _place(
    into: _Sorted,
    file: NoteFile,
    state: FileState | None,
    hash_of: HashOf,
    fingerprint: str,
    full: bool,
) -> None:
    if state is None:
        into.added.append(file)
        return
    is_outdated = state.fingerprint != fingerprint
    if is_outdated or full:
        into.outdated += is_outdated
        into.changed.append(file)
        return
    if file.size != state.size:
        into.changed.append(file)
        return
    is_racy = abs(state.seen_ns - state.mtime_ns) < RACY_NS
    if file.mtime_ns == state.mtime_ns and not is_racy:
        into.unchanged += 1
    elif hash_of(file) == state.content_hash:
        into.touched.append(file)
    else:
        into.changed.append(file)


def _renames(
    states: Mapping[str, FileState],
    added: Sequence[NoteFile],
    lost: Sequence[str],
    hash_of: HashOf,
) -> tuple[list[tuple[str, NoteFile]], list[NoteFile], list[str]]:
    """Pair new files with lost notes of the same content: (renamed, added, removed).

    Each is used once. Among notes of equal content (empty ones, templates) the same file name
    goes first, then the same folder, then path order. Only a file as long as a lost note is read.
    """
    by_hash: dict[str, list[str]] = {}
    sizes: set[int] = set()
    for path in lost:
        by_hash.setdefault(states[path].content_hash, []).append(path)
        sizes.add(states[path].size)
    candidates: dict[str, list[NoteFile]] = {}
    for file in sorted(added, key=lambda f: f.rel_path):
        content = hash_of(file) if file.size in sizes else None
        if content in by_hash:
            candidates.setdefault(content, []).append(file)
    renamed: list[tuple[str, NoteFile]] = []
    for content, news in candidates.items():
        renamed.extend(_pair(by_hash[content], news))
    old_used = {old for old, _ in renamed}
    new_used = {new.rel_path for _, new in renamed}
    return (
        renamed,
        [f for f in added if f.rel_path not in new_used],
        [p for p in lost if p not in old_used],
    )


def _pair(olds: Sequence[str], news: Sequence[NoteFile]) -> list[tuple[str, NoteFile]]:
    """Match notes of equal content: by file name, then by folder, then in order. Linear."""
    pairs: list[tuple[str, NoteFile]] = []
    left_old, left_new = list(olds), list(news)
    keys: tuple[Callable[[str], str], ...] = (_file_name, _folder, lambda _: "")
    for key in keys:
        waiting: dict[str, list[str]] = {}
        for old in reversed(left_old):
            waiting.setdefault(key(old), []).append(old)
        unmatched: list[NoteFile] = []
        for new in left_new:
            place = waiting.get(key(new.rel_path))
            if place:
                pairs.append((place.pop(), new))
            else:
                unmatched.append(new)
        taken = {old for old, _ in pairs}
        left_old = [old for old in left_old if old not in taken]
        left_new = unmatched
    return pairs


def _file_name(path: str) -> str:
    return path.rpartition("/")[2]


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _is_below(path: str, places: Sequence[str]) -> bool:
    """Whether a path is one of the places or below one (folders end with a slash)."""
    return any(
        path == place or (place.endswith("/") and path.startswith(place)) for place in places
    )


def _by_path(files: Sequence[NoteFile]) -> tuple[NoteFile, ...]:
    return tuple(sorted(files, key=lambda f: f.rel_path))
