"""``gate.calibration`` put into the text of a configuration file; all else stays as it is.

The file is a person's own: comments, order, quotes and line ends are kept. Only lines of the
block itself are added or replaced, and the outcome is read again to make sure of that.
"""

from __future__ import annotations

import json
from typing import Any

import yaml

from ragvault.config.settings import CalibrationSettings
from ragvault.errors import ConfigError

_COMMENT = "# Fitted by `ragvault eval calibrate`."


def block(calibration: CalibrationSettings, indent: str = "  ") -> str:
    """The block's lines, for below ``gate:``, without a last line end."""
    inner = indent * 2
    lines = [f"{indent}calibration:  {_COMMENT}", f"{inner}model: {json.dumps(calibration.model)}"]
    for name in ("topic", "answered"):
        part = getattr(calibration, name)
        if part is None:
            continue
        numbers = ", ".join(f"{value:g}" for value in part.coefficients)
        lines += [
            f"{inner}{name}:",
            f"{inner}{indent}features: [{', '.join(part.features)}]",
            f"{inner}{indent}coefficients: [{numbers}]",
            f"{inner}{indent}intercept: {part.intercept:g}",
        ]
    return "\n".join(lines)


def with_calibration(text: str, calibration: CalibrationSettings) -> str:
    """The file's text with the block. Raises ConfigError where it can't be put in by lines."""
    end = "\r\n" if "\r\n" in text else "\n"
    lines = text.replace("\r\n", "\n").split("\n")
    gate = _entry(yaml.compose(text, Loader=yaml.SafeLoader), "gate")
    if gate is None:
        while lines and not lines[-1].strip():
            lines.pop()
        lines += [*([""] if lines else []), "gate:", block(calibration), ""]
    else:
        _put_in(lines, gate, calibration)
    new = end.join("\n".join(lines).split("\n"))
    if not _only_adds(text, new, calibration):
        raise _by_hand(calibration)
    return new


def _entry(mapping: Any, name: str) -> tuple[Any, Any] | None:
    """The nodes of a mapping's key and value, if it is one and has the key."""
    if mapping is None or mapping.id != "mapping":
        return None
    return next(((k, v) for k, v in mapping.value if k.value == name), None)


def _put_in(lines: list[str], gate: tuple[Any, Any], calibration: CalibrationSettings) -> None:
    key, value = gate
    if value.id != "mapping":  # null: nothing below it, or comments only
        lines.insert(key.start_mark.line + 1, block(calibration))
        return
    if value.flow_style or not value.value:
        raise _by_hand(calibration)
    new = block(calibration, " " * value.value[0][0].start_mark.column)
    old = _entry(value, "calibration")
    if old is None:
        lines.insert(key.start_mark.line + 1, new)
    else:
        lines[old[0].start_mark.line : _last_line(old[1]) + 1] = [new]


def _last_line(node: Any) -> int:
    """The line of a node's last word. (A block's own end mark stands behind the comments that
    follow it.)"""
    if node.id == "scalar" or node.flow_style:
        return int(node.end_mark.line)
    parts = [part for item in node.value for part in (item if isinstance(item, tuple) else (item,))]
    return max((_last_line(part) for part in parts), default=int(node.start_mark.line))


def _only_adds(old: str, new: str, calibration: CalibrationSettings) -> bool:
    """Whether the new text says what the old one says, and the calibration."""
    try:
        before, after = (yaml.safe_load(text) or {} for text in (old, new))
    except yaml.YAMLError:
        return False
    before["gate"] = {**(before.get("gate") or {}), **yaml.safe_load(block(calibration))}
    return bool(after == before)


def _by_hand(calibration: CalibrationSettings) -> ConfigError:
    return ConfigError(
        "The configuration file is written in a way that ragvault can't add to.",
        f"Put this into it by hand:\n\ngate:\n{block(calibration)}",
    )
