"""The file system under the index: private folders, whole-or-nothing writes, the writer's lock.

What the operating system reports stops here: ``os_error`` turns an OSError into a StoreError.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from ragvault.errors import DiskFullError, IndexBusyError, RagvaultError, StoreError

LOCK_NAME = "index.lock"
HOLDER_NAME = "index.lock.json"

_ELSEWHERE = "set index.path in the config to another folder."
CHECK_FOLDER = f"Check its owner and permissions, or {_ELSEWHERE}"
_ALMOST_FULL_BYTES = 1 << 20
FULL = frozenset(
    {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}  # Windows has no EDQUOT
)


class Translation(NamedTuple):
    """What a library's exception becomes: ``message`` names in braces what is put in; ``hint`` None
    is the class's own."""

    kind: type[RagvaultError]
    message: str
    hint: str | None = None


def os_error(error: OSError, path: Path | str) -> StoreError:
    """What the operating system says of one of ragvault's own files, read or written."""
    if error.errno in FULL:
        return DiskFullError(f"There is no space left for {path}.")
    reason, hint = error.strerror or str(error), access_hint(Path(path))
    if isinstance(error, FileExistsError | NotADirectoryError):
        reason, hint = "a file is in its place", f"Move it away, or {_ELSEWHERE}"
    return StoreError(f"The index at {path} can't be used: {reason[:1].lower()}{reason[1:]}.", hint)


def access_hint(path: Path) -> str:
    """What gives ragvault the access to its folder, or a file in it, that it lacks: the command
    where one does."""
    is_there = os.path.isdir  # may not raise
    folder = path if is_there(path) else path.parent
    try:
        if os.statvfs(next(filter(is_there, (path, *path.parents)))).f_flag & os.ST_RDONLY:
            return f"The disk is mounted read-only: mount it for writing, or {_ELSEWHERE}"
        # Only a folder that is ragvault's own is looked through, and opened with all that is in it.
        is_closed = folder == path and not os.access(folder, os.X_OK)
        locks = (at / LOCK_NAME for at in (folder, folder.parent))
        is_own = is_closed or any(os.access(lock, os.F_OK) for lock in locks)
        walked = os.walk(folder) if is_own else ()
        below = (Path(place) / name for place, _, names in walked for name in ("", *names))
        closed = (one for one in (folder, *below) if not os.access(one, os.R_OK | os.W_OK))
        if (first := next(closed, None)) is None:
            return CHECK_FOLDER
        if first.stat().st_uid == os.geteuid():
            how = "-R u+rwX" if is_own else "u+rwx"
            return f"Run `chmod {how} {shlex.quote(str(folder))}`, or {_ELSEWHERE}"
        return f"{first} is another user's: have its permissions changed, or {_ELSEWHERE}"
    except (OSError, AttributeError):  # it may not be looked at; no owners on Windows
        return CHECK_FOLDER


def disk_is_full(path: Path) -> bool:
    """Whether next to nothing is free where ``path`` lies: then any failure to write is that."""
    try:
        return shutil.disk_usage(path.parent).free < _ALMOST_FULL_BYTES
    except OSError:
        return False  # the folder is gone: whatever it is, it isn't full


@contextlib.contextmanager
def reported(path: Path | str) -> Iterator[None]:
    """Turn an OSError of the block into a StoreError about ``path``."""
    try:
        yield
    except OSError as error:
        raise os_error(error, path) from error


def read_object(file: Path) -> dict[str, Any]:
    """The JSON object in a file; an empty one where none can be read (a pipe would be waited for):
    what is kept so can be found out again."""
    try:
        value = json.loads(file.read_bytes() if file.is_file() else b"")
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def private_folder(path: Path) -> Path:
    """Make sure that a folder is there, readable by its owner only (0700) if it is new.

    A folder that exists keeps its mode: it may be the user's own choice. Raises StoreError.
    """
    with reported(path):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def atomic_write(path: Path, data: bytes | str) -> None:
    """Replace a file whole or not at all, also if the machine stops in between. Raises
    DiskFullError or StoreError; the old file is then still there."""
    with reported(path):
        replace_file(path, data.encode() if isinstance(data, str) else data, 0o600)


def replace_file(path: Path, content: bytes, mode: int) -> None:
    """Written beside, synced, renamed over; then the folder is synced so that the rename lasts.
    Raises OSError."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if os.name == "posix":
            Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make a rename in a folder durable. Some file systems can't sync a folder; nothing is lost
    there but the guarantee."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOTSUP, errno.EBADF}:
            raise
    finally:
        os.close(descriptor)


def folder_size(folder: Path) -> int:
    """Bytes of the files below a folder (0 if there is none). Linear in the files."""
    return total_size(Path(place) / name for place, _, names in os.walk(folder) for name in names)


def total_size(files: Iterable[Path]) -> int:
    """Bytes of those that are still there: another process may close, or rebuild, meanwhile."""
    total = 0
    for file in files:
        with contextlib.suppress(FileNotFoundError):
            total += file.lstat().st_size
    return total


@contextlib.contextmanager
def index_lock(index_dir: Path, *, timeout_s: float = 0.0, command: str = "") -> Iterator[None]:
    """The writer's lock: one ``index`` at a time on an index folder, across processes. Another
    holder is waited for ``timeout_s``.

    An OS lock on ``index.lock``: it falls with its holder, however that dies. The file beside it
    is only for people; a stale one (kill -9) is overwritten by the next holder. Raises
    IndexBusyError, naming the holder; StoreError if the folder can't be written.
    """
    from filelock import FileLock, Timeout

    private_folder(index_dir)
    path, holder = index_dir / LOCK_NAME, index_dir / HOLDER_NAME
    lock = FileLock(path, timeout=timeout_s, mode=0o600)
    with reported(path):
        try:
            lock.acquire()
        except Timeout:
            raise _busy(holder, timeout_s) from None
    try:
        mine = {"pid": os.getpid(), "command": command or _this_command(), "since": time.time()}
        atomic_write(holder, json.dumps(mine))
        yield
    finally:
        # Before the release: after it the file may already be the next holder's.
        with contextlib.suppress(OSError):
            holder.unlink()
        lock.release()


def _busy(holder: Path, timeout_s: float) -> IndexBusyError:
    try:
        seen = json.loads(holder.read_text())
        since = datetime.fromtimestamp(float(seen["since"])).strftime("%Y-%m-%d %H:%M:%S")
        who = f"process {int(seen['pid'])} (`{seen['command']}`, since {since})"
    except (OSError, ValueError, KeyError, TypeError):
        who = "another process"
    waited = f" after {timeout_s:g} s" if timeout_s else ""
    return IndexBusyError(f"The index is still being written{waited} by {who}.")


def _this_command() -> str:
    """What a person would look for in the process list, shortened."""
    words = [Path(sys.argv[0]).name, *sys.argv[1:]]
    command = " ".join(words)
    return command if len(command) <= 120 else command[:119] + "…"
