"""The same work on many items, on as many threads as there are cores."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor


class SideBySide:
    """A pool of ``threads`` threads, the caller's among them. Made at its first use."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None

    def run(self, work: Callable[[int], None], order: Sequence[int]) -> None:
        """``work`` on each index, on this thread and ``threads - 1`` others.

        When one fails, or Ctrl-C arrives, the others end after the item they are at, and the
        exception goes on up: no thread is left behind.
        """
        queue, stop = _Queue(order), threading.Event()

        def drain() -> None:
            try:
                for index in queue:
                    if stop.is_set():
                        return
                    work(index)
            except BaseException:
                stop.set()
                raise

        helpers: list[Future[None]] = []
        try:
            extra = min(self._threads, len(order)) - 1
            helpers = [self._executor().submit(drain) for _ in range(extra)]
            drain()
            for helper in helpers:
                helper.result()
        finally:
            stop.set()
            for helper in helpers:
                helper.cancel()

    def close(self) -> None:
        """Waits for what is running. It may be used again."""
        with self._lock:
            if self._pool is not None:
                self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def _executor(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(
                    max(1, self._threads - 1), thread_name_prefix="ragvault-model"
                )
            return self._pool


class _Queue:
    """An iterator that several threads may share."""

    def __init__(self, items: Sequence[int]) -> None:
        self._items = iter(items)
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        with self._lock:
            return next(self._items)
