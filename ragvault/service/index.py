"""A vault into the index: once, or for as long as it is watched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ragvault.errors import Interrupted, NoIndexError
from ragvault.model import IndexReport, VaultInfo

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ragvault.ports import Catalog, Progress
    from ragvault.wiring import Container


def sync(
    container: Container,
    vault: VaultInfo,
    *,
    full: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> IndexReport:
    """Bring one vault up to date. The caller holds the lock, unless it is a dry run.

    Raises as ``ingest.sync.sync_vault`` does.
    """
    from ragvault.ingest.sync import SyncParts, sync_vault

    with _catalog_for(container, dry_run=dry_run) as catalog:
        parts = SyncParts(
            catalog=catalog,
            embedder=lambda: container.embedder,
            vectors=lambda: container.vectors,
            stored=container.vector_store.stored_identity,
        )
        return sync_vault(
            vault, container.settings, parts, full=full, dry_run=dry_run, progress=progress
        )


@contextmanager
def _catalog_for(container: Container, *, dry_run: bool) -> Iterator[Catalog]:
    """The catalog to work on; a dry run before the first index leaves no trace of one."""
    if not dry_run:
        yield container.new_catalog
        return
    try:
        yield container.catalog
    except NoIndexError:
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            catalog = container.make_catalog(Path(folder))
            try:
                yield catalog
            finally:
                catalog.close()


def watch(
    container: Container,
    vaults: Sequence[VaultInfo],
    refresh: Callable[[VaultInfo], None],
    notify: Callable[[str], None],
) -> None:
    """Call ``refresh`` once for each vault, then whenever one has changed and been quiet for a
    moment. Its RagvaultErrors go to ``notify`` and it is tried again later.

    Returns on Ctrl-C or SIGTERM.
    """
    import signal
    import threading

    from ragvault.ingest.watch import watch_vaults

    by_path = {vault.path: vault for vault in vaults}
    stop = threading.Event()
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        watch_vaults(
            list(by_path),
            lambda path, _changed: refresh(by_path[path]),
            stop,
            container.settings.index,
            notify=notify,
        )
    except (KeyboardInterrupt, Interrupted):
        stop.set()
    finally:
        signal.signal(signal.SIGTERM, before)
