"""What comes next is made in a thread, while this one works on what is there."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


@contextmanager
def ahead(
    work: Callable[[T], R], items: Sequence[T], size: Callable[[T], int], most: int
) -> Iterator[Iterator[tuple[T, R]]]:
    """Each item with what ``work`` makes of it, in their order. The thread goes on until the items
    that wait come to more than ``most``. What ``work`` raises is raised where its item is asked
    for; Ctrl-C doesn't wait for the thread, so ``work`` must do no harm that goes on after it."""
    from concurrent.futures import Future, ThreadPoolExecutor

    jobs: deque[tuple[T, Future[R]]] = deque()
    pool, wait = ThreadPoolExecutor(1, "ragvault-ahead"), True

    def in_turn() -> Iterator[tuple[T, R]]:
        waiting = 0
        for place, item in enumerate(items, 1):
            jobs.append((item, pool.submit(work, item)))
            waiting += size(item)
            while jobs and (waiting > most or place == len(items)):
                done, job = jobs.popleft()
                waiting -= size(done)
                yield done, job.result()

    try:
        yield in_turn()
    except KeyboardInterrupt:
        wait = False
        raise
    finally:
        pool.shutdown(wait=wait, cancel_futures=True)
