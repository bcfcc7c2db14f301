"""stdout and stderr as this program needs them: any encoding, a closed pipe, a quiet end."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO


def prepare_streams() -> None:
    """Print what the stream's encoding lacks as ``?`` rather than fail on it. A stream that was
    closed before the start (``>&-``) goes nowhere."""
    if sys.stdout is None:
        sys.stdout = _nowhere()
    if sys.stderr is None:
        sys.stderr = _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    if isinstance(sys.stdin, TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


def close_stdout_quietly() -> None:
    """After the reader of stdout has gone (``| head``): let the interpreter's last flush go
    nowhere instead of failing."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
