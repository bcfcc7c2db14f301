"""A file's bytes to its lines, and the names that a note has without saying so itself.

Lines are what an editor counts: they end at LF, CR LF or CR and nowhere else.
"""

from __future__ import annotations

import codecs
import re
from pathlib import PurePosixPath

MAX_TITLE_CHARS = 300
ENDLESS = 100_000  # characters of a line that nobody wrote for reading
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LINE_END = re.compile(r"\r\n|\n|\r")
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_STRAY = re.compile("[\udc80-\udcff]")


class NotTextError(Exception):
    """The file isn't text; the message is a phrase for the list of skipped files."""


def read_lines(data: bytes | str) -> tuple[list[str], tuple[str, ...]]:
    """A file's lines, or a passage's, without their ends, and warnings for the user. Raises
    NotTextError for a file."""
    text, warnings = _decode(data) if isinstance(data, bytes) else (data, ())
    lines = text.split("\n") if "\r" not in text else _LINE_END.split(text)
    if not lines[-1]:  # a last line end opens no further line
        lines.pop()
    longest = max(map(len, lines), default=0)
    if longest > ENDLESS:
        warnings = (*warnings, f"a line of {longest:,} characters is cut into plain pieces")
    return lines, warnings


def title_of(said: str, rel_path: str) -> str:
    """What the note says that it is called, else its file's name; on one line, not too long."""
    title = " ".join(said.split()) or PurePosixPath(rel_path).stem
    title = title.encode("utf-8", "replace").decode()  # a name that isn't Unicode on disk
    return title if len(title) <= MAX_TITLE_CHARS else title[: MAX_TITLE_CHARS - 1] + "…"


def _decode(data: bytes) -> tuple[str, tuple[str, ...]]:
    """Text and warnings. A byte order mark decides; else UTF-8, stray bytes as Windows-1252."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            text = data.decode(encoding, "replace").removeprefix("\ufeff")
            _reject_binary(text)
            broken = text.count("\ufffd")
            return text, (_stray(broken, "replaced by a question mark"),) if broken else ()
    if b"\0" in data:
        raise NotTextError("it holds binary data, not text")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "surrogateescape")
    else:
        _reject_binary(text)
        return text, ()
    strays = len(_STRAY.findall(text))
    _reject_binary(text)
    if strays > 0.3 * len(text) and strays > 16:
        raise NotTextError("most of it is neither UTF-8 nor Windows-1252 text")
    text = _STRAY.sub(_windows_1252, text)
    return text, (_stray(strays, "read as Windows-1252"),)


def _stray(count: int, how: str) -> str:
    return f"{count:,} byte{'s are' if count != 1 else ' is'} not valid in its encoding, {how}"


def _windows_1252(match: re.Match[str]) -> str:
    byte = bytes([ord(match.group()) - 0xDC00])
    return byte.decode("cp1252", "ignore") or byte.decode("latin-1")


def _reject_binary(text: str) -> None:
    controls = len(_CONTROLS.findall(text))
    if "\0" in text or controls > max(8, 0.05 * len(text)):
        raise NotTextError("it holds binary data, not text")
