"""Work in a fork of this process, which has everything imported already: a process of its own for a
tenth of the price. The parent must not have opened a store or a model."""

from __future__ import annotations

import functools
import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

# Every step that writes, by the class that it is a method of.
STEPS: dict[str, tuple[str, ...]] = {
    "ragvault.adapters.sqlite.catalog:SqliteCatalog": (
        "add_vault", "set_vector_watermark", "commit", "touch_files", "use_embedder",
        "store_vectors", "finish_vault", "checked_vault", "prune_vectors",
    ),
    "ragvault.adapters.chroma.persistent:PersistentChroma": (
        "upsert", "delete", "drop", "retain", "seal", "reset", "_write_state",
    ),
    "ragvault.adapters.index_files:IndexFiles": ("remember_vaults",),
}  # fmt: skip


def forked(work: Callable[[], Any]) -> tuple[Any, int]:
    """What ``work`` returns (as JSON carries it; an exception as its text), and the signal that
    ended the process (0: none)."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    if not (pid := os.fork()):
        os.close(reader)
        try:
            told = work()
        except BaseException as error:
            if os.environ.get("RAGVAULT_DEBUG"):
                traceback.print_exc()
            told = f"{type(error).__name__}: {error}"
        sys.stdout.flush()
        with os.fdopen(writer, "w") as pipe:
            json.dump(told, pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    _, status = os.waitpid(pid, 0)
    return json.loads(text) if text else None, os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def small_batches() -> None:
    """As many moments between two transactions as a large vault has."""
    import ragvault.ingest.sync as sync
    import ragvault.ingest.write as write

    sync.Sync = functools.partial(sync.Sync, batch_chunks=4)  # type: ignore[misc]
    write.EMBED_SLICE, write.STORE_SLICE = 4, 4


class Fuse:
    """Calls ``act`` at the n-th step from now, before or after it; ``calls`` counts them."""

    def __init__(self, act: Callable[[], object], at: int, *, after: bool = False) -> None:
        self.calls = 0
        for place, names in STEPS.items():
            module, _, owner = place.partition(":")
            kind = getattr(__import__(module, fromlist=[owner]), owner)
            for name in names:
                setattr(kind, name, self._wrapped(getattr(kind, name), act, at, after))

    def _wrapped(self, step: Any, act: Callable[[], object], at: int, after: bool) -> Any:
        @functools.wraps(step)
        def wrapped(*arguments: Any, **options: Any) -> Any:
            self.calls += 1
            mine = self.calls
            if mine == at and not after:
                act()
            result = step(*arguments, **options)
            if mine == at and after:
                act()
            return result

        return wrapped
