"""Results as JSON objects. The names are a promise to scripts: keys are added, never renamed."""

from __future__ import annotations

import json
import sys
from typing import Any

from ragvault.errors import RagvaultError

SCHEMA_VERSION = 1


def print_json(value: dict[str, Any]) -> None:
    """One object on stdout, ``schema_version`` first."""
    text = json.dumps({"schema_version": SCHEMA_VERSION, **value}, ensure_ascii=False, indent=2)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeError:  # a terminal in another encoding, or a lone surrogate in a file name
        text = json.dumps({"schema_version": SCHEMA_VERSION, **value}, indent=2)
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def error_object(error: RagvaultError) -> dict[str, Any]:
    return {
        "error": {
            "type": error.type,
            "message": error.message,
            "hint": error.hint,
            "exit_code": error.exit_code,
        }
    }
