"""A real Chroma server on a free loopback port, in a process of its own."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_START_S = 60.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def chroma_server(folder: Path) -> Iterator[int]:
    """Yields the port as soon as the server accepts a connection."""
    program = Path(sys.executable).with_name("chroma")
    command = str(program) if program.exists() else shutil.which("chroma")
    assert command, "the package chromadb installs the program `chroma`"
    port = free_port()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f"{folder.name}.log").open("wb") as log:
        process = subprocess.Popen(
            [command, "run", "--host", "127.0.0.1", "--port", str(port), "--path", str(folder)],
            stdout=log,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )
        try:
            _wait_for(port, process)
            yield port
        finally:
            process.terminate()
            process.wait(timeout=30)


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            raise AssertionError(f"the server ended with {process.wait(timeout=0.05)}")
    raise AssertionError("the server did not start")
