"""Vaults into the index: once, or for as long as they are watched."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ragvault.errors import (
    Interrupted,
    ModelError,
    NoIndexError,
    StoreDamagedError,
    UsageError,
    VaultPathError,
)
from ragvault.model import IndexReport, VaultInfo
from ragvault.ports import Catalog, Progress
from ragvault.service.vaults import kind_of, known_vaults, vaults_at
from ragvault.wiring import Container


@dataclass(frozen=True, slots=True)
class IndexRequest:
    """What is to be indexed: folders, known or new (one that is new may be given a name), else
    the remembered vaults of these names, else all. ``full``, ``thorough`` and ``dry_run``: as
    ``ingest.sync.Sync``; the first two check the catalog before."""

    paths: tuple[Path, ...] = ()
    name: str | None = None
    vaults: tuple[str, ...] = ()
    full: bool = False
    thorough: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class OutOfReach:
    """A vault that was left as it is: its folder isn't there now."""

    vault: VaultInfo
    error: VaultPathError


@dataclass(frozen=True, slots=True)
class SetAside:
    """The index was damaged, and all begins again: what was reported before is void. ``kept`` is
    where the old catalog is; None when that was gone, or sound and only the vectors were lost."""

    kept: Path | None


IndexEvent = IndexReport | OutOfReach | SetAside


def index(
    container: Container, request: IndexRequest, *, progress: Progress | None = None
) -> Generator[IndexEvent, None, None]:
    """Bring vaults up to date: a report or an OutOfReach for each.

    The index is locked from the first vault on until the iterator ends or is closed. Of several
    vaults one whose folder is gone doesn't keep the others from being refreshed; one alone raises
    VaultPathError. Raises UsageError, NoIndexError, IndexBusyError, and what ``Sync`` does.
    """
    try:
        is_checked = request.full or request.thorough or container.files.is_catalog_gone()
        if is_checked and (problems := container.files.catalog_problems()):
            raise StoreDamagedError(f"The index is damaged: {problems[0]}.")
        yield from _run(container, request, progress)
    except StoreDamagedError:
        if request.dry_run:
            raise
        yield _begin_again(container, request)
        yield from _run(container, request, progress)


def _begin_again(container: Container, request: IndexRequest) -> SetAside:
    """Take what is damaged away: the vectors where the catalog is sound, else the catalog."""
    with container.lock():
        if not container.files.catalog_problems():
            container.vectors.reset()
            return SetAside(None)
        kept, vaults = container.set_catalog_aside()
        for vault in vaults:
            container.new_catalog.add_vault(vault)
        if kept is not None and kept.is_file():  # a pipe would be waited for
            container.new_catalog.adopt_vectors(kept)
    if not vaults and not request.paths:
        raise NoIndexError(
            f"The damaged index, kept as {kept}, doesn't say any more which folders were in it.",
            "Index them again: `ragvault index PATH`.",
        ) from None
    return SetAside(kept)


def chosen_vaults(container: Container, request: IndexRequest) -> list[VaultInfo]:
    """Those that the request is about, in the order in which they are worked on. Raises as
    ``vaults_at`` and ``known_vaults``."""
    if request.paths:
        return vaults_at(container, request.paths, request.name)
    return known_vaults(container, request.vaults)


def _run(
    container: Container, request: IndexRequest, progress: Progress | None
) -> Iterator[IndexEvent]:
    chosen = chosen_vaults(container, request)
    if request.full and {one.name for one in container.vaults()} <= {one.name for one in chosen}:
        container.wanted_embedder.keep_to(())  # every vector is made anew
    with nullcontext() if request.dry_run else container.lock():
        for vault in chosen:
            try:
                yield refreshed(container, vault, request, progress)
            except VaultPathError as error:
                if len(chosen) == 1:
                    raise
                yield OutOfReach(vault, error)


def refreshed(
    container: Container,
    vault: VaultInfo,
    request: IndexRequest = IndexRequest(),
    progress: Progress | None = None,
) -> IndexReport:
    """Bring one vault up to date, as the request says. The caller holds the lock, unless it is a
    dry run."""
    from ragvault.ingest.sync import Silent, Sync
    from ragvault.wiring import embedder_settings

    with ExitStack() as opened:
        run = Sync(
            vault=vault,
            settings=container.settings,
            catalog=_catalog_for(container, opened, dry_run=request.dry_run),
            counter=container.counter,
            embedder=lambda: container.wanted_embedder,
            embedder_settings=embedder_settings(container.settings),
            vectors=lambda: container.vectors,
            stored=container.vectors.stored_identity,
            progress=progress or Silent(),
            full=request.full,
            thorough=request.thorough,
        )
        report = run.run(dry_run=request.dry_run)
    if not request.dry_run:
        container.files.remember_vaults(container.catalog.vaults())
        if report.embedded:
            _measure(container)
    return report


def _measure(container: Container) -> None:
    """The background of a model that nobody measured."""
    from ragvault.retrieval.ranking.blend import measured
    from ragvault.service.models import background_of

    if measured(container.wanted_embedder.model) is None:
        with suppress(ModelError):  # of an answer's confidence; the index is whole without
            background_of(container, container.wanted_embedder)


def _catalog_for(container: Container, opened: ExitStack, *, dry_run: bool) -> Catalog:
    """The catalog to work on; a dry run before the first index leaves no trace of one."""
    if not dry_run:
        return container.new_catalog
    try:
        return container.catalog
    except NoIndexError:
        import tempfile

        folder = opened.enter_context(tempfile.TemporaryDirectory())
        return opened.enter_context(closing(container.make_catalog(Path(folder))))


def move_vault(container: Container, name: str, path: Path) -> IndexReport:
    """Follow a vault to another folder and refresh it there, embedding nothing again. Raises
    VaultPathError when the folder can't be indexed or holds none of the vault's notes, UsageError
    when it is another vault's."""
    from ragvault.ingest.paths import check_vault_path
    from ragvault.ingest.walk import walk

    vault = known_vaults(container, [name])[0]
    known = container.catalog.vaults()
    place = check_vault_path(path, container.data_dir, known)
    owner = next((v for v in known if v.name != name and v.path == place), None)
    if owner is not None:
        raise UsageError(f"{place} is the vault '{owner.name}'.", "Choose another folder.")
    notes = container.catalog.file_states(name).keys()
    found = {file.rel_path for file in walk(place, container.settings.index).files}
    if notes and not notes & found:
        raise VaultPathError(
            f"None of the {len(notes):,} notes of '{name}' is in {place}.",
            "Give the folder that they were moved to, or index it anew: "
            f"`ragvault index {shlex.quote(str(place))}`.",
        )
    moved = replace(vault, path=place, kind=kind_of(place))
    with container.lock():
        container.catalog.add_vault(moved)
        return refreshed(container, moved)


def watch(
    container: Container,
    vaults: Sequence[VaultInfo],
    on_report: Callable[[IndexReport], None],
    notify: Callable[[str], None],
    *,
    progress: Progress | None = None,
) -> None:
    """Refresh each vault, now and whenever it has changed. ``on_report`` is told of each run that
    changed something; ``notify``, in a line, of failures, after which it is tried again later.
    Returns on Ctrl-C; ``notify`` is told what a run that was under way then leaves."""
    import threading

    from ragvault.ingest.watch import Watch

    by_path = {vault.path: vault for vault in vaults}

    def refresh(path: Path) -> None:
        with container.lock():
            report = refreshed(container, by_path[path], progress=progress)
        if has_news(report):
            on_report(report)

    settings, stop = container.settings.index, threading.Event()
    try:
        with suppress(KeyboardInterrupt):
            Watch(list(by_path), refresh, stop, settings, notify).run()
    except Interrupted as error:
        notify(error.message)


def has_news(report: IndexReport) -> bool:
    """Whether something changed. What is skipped, or warned about, every time is no news."""
    changes = (report.added, report.changed, report.removed, report.renamed)
    return any(changes) or report.embedded > 0
