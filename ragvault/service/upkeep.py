"""The index kept sound: the vaults against the catalog against the vectors (``doctor`` runs the
same checks), what is found mended, and all of it in one file and back.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from ragvault.errors import ModelError, NoIndexError, StoreError, VaultPathError
from ragvault.model import VaultInfo, collection_of
from ragvault.service.index import IndexEvent, IndexRequest, index, refreshed
from ragvault.service.vaults import keep_out
from ragvault.wiring import Container

_PAGE = 1000  # vectors compared at a time
_ALIKE = 0.999  # cosine of a vector with itself, rounded on the way


class Kind(StrEnum):
    """How a part differs from what stands before it: notes, then catalog, then vectors."""

    MISSING = "missing"
    ORPHANED = "orphaned"
    DIFFERING = "differing"
    DAMAGED = "damaged"
    OUT_OF_REACH = "out of reach"


@dataclass(frozen=True, slots=True)
class Finding:
    """``part`` is "history", "catalog", "notes" or "vectors" (of ``vault``, None: all); ``count``
    how many of ``what``; ``paths`` the notes that they belong to, as far as that is known."""

    part: str
    kind: Kind
    what: str
    vault: str | None = None
    count: int = 1
    paths: tuple[str, ...] = ()
    remedy: str = "Run `ragvault repair`."


def verify(container: Container, *, quick: bool = False) -> Iterator[Finding]:
    """Everything that isn't as it should be; nothing is written. Reads every note, passage and
    vector; ``quick`` goes by sizes, times and counts. Raises NoIndexError, StoreError."""
    if problems := container.files.history_problems():
        what = f"{problems[0]} (it is set aside, and another begun)"
        yield Finding("history", Kind.DAMAGED, what, count=len(problems))
    damage = list(check_catalog(container, quick=quick))
    yield from damage
    if damage:  # what it says of notes and vectors is worth nothing
        return
    for vault in container.catalog.vaults():
        yield from check_notes(container, vault, quick=quick)
        yield from check_vectors(container, vault, quick=quick)


def repair(
    container: Container,
) -> Generator[Finding | IndexEvent | tuple[Finding, ...], None, None]:
    """Mend what ``verify`` finds, embedding only what no vector is left of: first what is found,
    then what ``index`` does about it, then all that remains, in a tuple. Raises as ``index``."""
    found = list(verify(container))
    yield from found
    if not found:
        return
    if any(one.part == "history" for one in found):
        container.set_history_aside()
    if all(one.part != "catalog" for one in found):
        with container.lock():
            for name in {one.vault for one in found if one.part == "vectors"} - {None}:
                container.catalog.set_vector_watermark(str(name), None)  # it is filled afresh
    try:
        yield from index(container, IndexRequest(thorough=True))
    except VaultPathError:  # the only vault there is
        if not any(one.kind is Kind.OUT_OF_REACH for one in found):
            raise
    yield tuple(verify(container))


def check_catalog(container: Container, *, quick: bool = False) -> Iterator[Finding]:
    """Whether SQLite, and ragvault, find their own in it."""
    if problems := container.files.catalog_problems(quick=quick):
        yield Finding("catalog", Kind.DAMAGED, problems[0], count=len(problems))


def check_notes(container: Container, vault: VaultInfo, *, quick: bool) -> Iterator[Finding]:
    """The vault's folder against the catalog."""
    try:
        report = refreshed(container, vault, IndexRequest(dry_run=True, thorough=not quick))
    except (VaultPathError, NoIndexError) as error:
        what = error.message.rstrip(".")
        yield Finding("notes", Kind.OUT_OF_REACH, what, vault.name, remedy=error.hint)
        return
    gone = [*report.removed, *(old for old, _ in report.renamed)]
    new = [*report.added, *(new for _, new in report.renamed)]
    how = "Run `ragvault index`."
    mount = "Mount the drive that they are on; gone for good: `ragvault index --full`."
    for kind, paths, what, remedy in (
        (Kind.MISSING, new, "notes that aren't indexed", how),
        (Kind.ORPHANED, gone, "indexed notes that are gone from the folder", how),
        (Kind.ORPHANED, report.spared, "indexed notes, more than half, that are gone", mount),
        (Kind.DIFFERING, report.changed, "notes that aren't indexed as they are now", how),
    ):
        if paths:
            shown = tuple(sorted(paths))
            yield Finding("notes", kind, what, vault.name, len(paths), shown, remedy)


def check_vectors(
    container: Container, vault: VaultInfo, *, quick: bool = False
) -> Iterator[Finding]:
    """The catalog's passages against the embeddings, and these against the vector store."""
    catalog, in_force = container.catalog, container.catalog.embedder_in_force()
    model = in_force[0] if in_force else ""
    if lacking := catalog.lacking(vault.name, model):
        paths = tuple(path for path, _ in lacking)
        count = sum(chunks for _, chunks in lacking)
        is_under_way = vault.embedded < vault.notes  # else `index` takes them for whole
        how = "Run `ragvault index`: it goes on." if is_under_way else "Run `ragvault repair`."
        try:
            container.wanted_embedder.fingerprint  # noqa: B018 - whether the model is here
        except ModelError as error:
            how = f"{error.message} {error.hint} {how}"
        what = "passages without an embedding"
        yield Finding("vectors", Kind.MISSING, what, vault.name, count, paths, how)
    try:
        found = list(_in_store(container, vault, model, quick=quick, lacking=bool(lacking)))
        if catalog.vector_watermark(vault.name) is None:  # `index` goes on
            if vault.chunks and not lacking and not found:
                found = [Finding("vectors", Kind.DAMAGED, "not known to be whole", vault.name)]
            found = [replace(one, remedy="Run `ragvault index`.") for one in found]
        yield from found
    except StoreError as error:
        what = error.message.rstrip(".")
        yield Finding("vectors", Kind.DAMAGED, what, vault.name, remedy=error.hint)


def _in_store(
    container: Container, vault: VaultInfo, model: str, *, quick: bool, lacking: bool
) -> Iterator[Finding]:
    catalog, store, key = container.catalog, container.vectors, collection_of(vault.name, model)
    store.sync_to(catalog.generation)
    count = store.count(key)
    if quick or lacking:
        if count != vault.chunks and not lacking:
            what = f"vectors in the store, for {vault.chunks:,} passages"
            yield Finding("vectors", Kind.DIFFERING, what, vault.name, count)
        return
    visible, held = catalog.chunk_ids(vault.name), store.ids(key)
    if lost := visible - held:
        yield _of_passages(container, vault, Kind.MISSING, "passages not in the vector store", lost)
    if orphans := held - visible:
        what = "vectors of passages that are no more"
        yield Finding("vectors", Kind.ORPHANED, what, vault.name, len(orphans))
    wrong: set[str] = set()
    both = sorted(visible & held)
    for start in range(0, len(both), _PAGE):
        right = catalog.vectors(model, both[start : start + _PAGE])
        seen = store.vectors(key, list(right))
        wrong |= {i for i, vector in right.items() if i not in seen or seen[i] @ vector < _ALIKE}
    if wrong:
        yield _of_passages(container, vault, Kind.DIFFERING, "vectors of other texts", wrong)
    elif both and not store.query(key, right[max(right)], 1):
        yield Finding("vectors", Kind.DAMAGED, "queries that find nothing", vault.name)


def _of_passages(
    container: Container, vault: VaultInfo, kind: Kind, what: str, ids: Collection[str]
) -> Finding:
    paths = {stored.note.rel_path for stored in container.catalog.chunks(ids).values()}
    return Finding("vectors", kind, what, vault.name, len(ids), tuple(sorted(paths)))


def back_up(container: Container, target: Path) -> tuple[Path, Sequence[VaultInfo], int]:
    """Write all that can't be made again from the notes into one file. Others may read and write
    the index meanwhile. Returns the file, what is in it and its bytes. Raises UsageError (the file
    is another's, or would lie in a vault), NoIndexError, StoreDamagedError, StoreError."""
    vaults = container.catalog.vaults()
    target = target.expanduser().resolve()
    keep_out(vaults, target)
    return target, vaults, container.files.write_backup(target)


def restore(container: Container, source: Path) -> tuple[Sequence[VaultInfo], Path | None]:
    """Put an index from its backup in place, the one that is there aside. Returns what is in it,
    and where the old one is (None: there was none). Raises UsageError for a file that isn't a whole
    backup, IndexBusyError, StoreError (also of a newer schema)."""
    source = source.expanduser().resolve()
    with container.lock():
        kept = container.files.restore(source)
        return container.catalog.vaults(), kept
