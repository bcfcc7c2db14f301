"""stdout and stderr as this program needs them: any encoding, a closed pipe, a quiet end."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper


def prepare_streams() -> None:
    """Print what the stream's encoding lacks as ``?`` rather than fail on it."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    if isinstance(sys.stdin, TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")


def close_stdout_quietly() -> None:
    """After the reader of stdout has gone (``| head``): let the interpreter's last flush go
    nowhere instead of failing."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
