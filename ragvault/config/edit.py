"""A setting put into the text of a configuration file; all else stays as it is.

The file is a person's own: comments, order, quotes and line ends are kept. The outcome is read
again, to make sure that it says what it said before, and the new value.
"""

from __future__ import annotations

import re
from pathlib import Path

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
    head = _find(lines, 0, len(lines), rf"{key.section}:")
    if head is None:
        before = text.rstrip() + "\n\n" if text.strip() else ""
        return f"{before}{key.section}:\n  {key.name}: {value}\n"
    if not re.fullmatch(r"\w+:\s*(#.*|null|~)?", lines[head]):
        return None
    first = head + 1
    end = _find(lines, first, len(lines), r"[^\s#]") or len(lines)
    old = _find(lines, first, end, rf"\s+{key.name}:")
    if old is None:  # below the line that `config init` wrote for it, commented out; else first
        below = _find(lines, first, end, rf"\s*#\s*{key.name}:")
        sibling = _find(lines, first, end, r"\s+[^\s#]")
        indent = "  " if sibling is None else _indent(lines[sibling])
        lines.insert(first if below is None else below + 1, f"{indent}{key.name}: {value}")
        return "\n".join(lines)
    indent = _indent(lines[old])
    comment = re.search(r"\s+#[^'\"]*$", lines[old])
    # What is indented deeper, and a list's items, are the value's.
    last = old
    while last + 1 < end and re.match(rf"{indent}(\s+[^\s#]|- )", lines[last + 1]):
        last += 1
    lines[old : last + 1] = [f"{indent}{key.name}: {value}{comment[0] if comment else ''}"]
    return "\n".join(lines)


def _find(lines: list[str], first: int, end: int, pattern: str) -> int | None:
    """The first line from ``first`` to before ``end`` that begins like it."""
    return next((at for at in range(first, end) if re.match(pattern, lines[at])), None)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
