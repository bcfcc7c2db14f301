"""A setting put into the text of a configuration file; all else stays as it is.

The file is a person's own: comments, order, quotes and line ends are kept. The outcome is read
again, to make sure that it says what it said before, and the new value.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from ragvault.config.file import settings_in
from ragvault.config.keys import Key, as_yaml
from ragvault.errors import ConfigError


def with_value(path: Path, text: str, key: Key, value: object) -> str:
    """The text of the file ``path`` with ``key`` set to a value, as ``file.value_of`` gives it.

    Raises ConfigError for a value that won't do, and when the file is none that can be read, or
    is written in a way that this can't add to (then with the lines to put in).
    """
    plain = text.replace("\r\n", "\n")
    wanted = settings_in(path, plain, {key.dotted: value})
    shown = as_yaml(wanted.model_dump(mode="json")[key.section][key.name])
    new = _put(plain, key, shown)
    try:
        is_right = new is not None and settings_in(path, new) == wanted
    except ConfigError:
        is_right = False
    if new is None or not is_right:
        raise ConfigError(
            "The configuration file is written in a way that ragvault can't add to.",
            f"Put this into it by hand:\n\n{key.section}:\n  {key.name}: {shown}",
        )
    return new.replace("\n", "\r\n") if "\r\n" in text else new


def _put(text: str, key: Key, value: str) -> str | None:
    """None where the section isn't written as a block."""
    lines = text.split("\n")
    section = _entry(yaml.compose(text, Loader=yaml.SafeLoader), key.section)
    if section is None:
        before = text.rstrip() + "\n\n" if text.strip() else ""
        return f"{before}{key.section}:\n  {key.name}: {value}\n"
    if section[1].id == "mapping" and section[1].flow_style:
        return None
    old = _entry(section[1], key.name)
    if old is None:
        at, indent = _place(lines, section, key.name)
        lines.insert(at, f"{indent}{key.name}: {value}")
        return "\n".join(lines)
    start, last = old[0].start_mark, _last_line(old[1])
    if last == start.line:  # what follows on the line stays
        begin, end = old[1].start_mark.index, old[1].end_mark.index
        gap = "" if text[begin - 1 : begin] == " " else " "
        return text[:begin] + gap + value + text[end:]
    lines[start.line : last + 1] = [f"{' ' * start.column}{key.name}: {value}"]
    return "\n".join(lines)


def _entry(mapping: Any, name: str) -> tuple[Any, Any] | None:
    """The nodes of a mapping's key and value, if it is one and has the key."""
    if mapping is None or mapping.id != "mapping":
        return None
    return next(((k, v) for k, v in mapping.value if k.value == name), None)


def _place(lines: list[str], section: tuple[Any, Any], name: str) -> tuple[int, str]:
    """Where a new key of a section goes, and its indent: below the line that `config init` wrote
    for it, commented out; else first in the section."""
    head, value = section
    first = head.start_mark.line + 1
    indent = "  "
    if value.id == "mapping" and value.value:
        indent = " " * value.value[0][0].start_mark.column
    for at in range(first, len(lines)):
        if re.match(r"[^\s#]", lines[at]):
            break
        if re.match(rf"\s*#\s*{re.escape(name)}:", lines[at]):
            return at + 1, indent
    return first, indent


def _last_line(node: Any) -> int:
    """The line of a node's last word. (A block's own end mark stands behind the comments that
    follow it.)"""
    if node.id == "scalar" or node.flow_style:
        return int(node.end_mark.line)
    parts = [part for item in node.value for part in (item if isinstance(item, tuple) else (item,))]
    return max((_last_line(part) for part in parts), default=int(node.start_mark.line))
