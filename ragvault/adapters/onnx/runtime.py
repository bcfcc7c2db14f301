"""ONNX Runtime, opened the one way that ragvault uses it: one thread a session, no telemetry."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def load() -> Any:
    """The module ``onnxruntime``. Raises ImportError."""
    # Read once, on import: from 1.31 on it would otherwise make a device id under ~/.cache and
    # report to its makers.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    return onnxruntime


def open_session(file: Path) -> Any:
    """An ``InferenceSession`` on the processor that computes on the thread it is called from.

    Raises what onnxruntime raises: a dozen classes that share no base but Exception.
    """
    ort = load()
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return ort.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
