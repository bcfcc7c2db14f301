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
        is_right = settings_in(path, new) == wanted
    except ConfigError:
        is_right = False
    if not is_right:
        raise ConfigError(
            "The configuration file is written in a way that ragvault can't add to.",
            f"Put this into it by hand:\n\n{key.section}:\n  {key.name}: {shown}",
        )
    return new.replace("\n", "\r\n") if "\r\n" in text else new


def _put(text: str, key: Key, value: str) -> str:
    """In place of the old value; where there is none, below the line that `config init` wrote for
    it, commented out, else first in its section, which is made if it isn't there."""
    lines, said = text.split("\n"), f"{key.name}: {value}"
    heads = (at for at, line in enumerate(lines) if re.match(rf"{key.section}:\s*(#|$)", line))
    if (head := next(heads, None)) is None:
        before = text.rstrip() + "\n\n" if text.strip() else ""
        return f"{before}{key.section}:\n  {said}\n"
    ends = (at for at in range(head + 1, len(lines)) if re.match(r"[^\s#]", lines[at]))
    own = range(head + 1, next(ends, len(lines)))
    indents = (re.match(r"\s+(?=[^\s#])", lines[at]) for at in own)
    indent = next((found[0] for found in indents if found), "  ")
    old = next((at for at in own if re.match(rf"{indent}{key.name}:(\s|$)", lines[at])), None)
    if old is None:
        unset = (at for at in own if re.match(rf"\s*#\s*{key.name}:", lines[at]))
        lines.insert(next(unset, head) + 1, indent + said)
        return "\n".join(lines)
    end = old + 1
    while end in own and re.match(rf"{indent}[\s-]", lines[end]):
        end += 1
    comment = re.search(r"(?<=\S)\s+#.*", lines[old]) if end == old + 1 else None
    lines[old:end] = [f"{indent}{said}{comment[0] if comment else ''}"]
    return "\n".join(lines)
