"""A file's bytes to a Note: text, frontmatter, title, date, tags, links, sections. Pure.

Lines are what an editor counts: they end at LF, CR LF or CR and nowhere else.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from ragvault.ingest.formats.blocks import Heading, outline
from ragvault.ingest.formats.dates import date_from_fields, date_from_path
from ragvault.ingest.formats.frontmatter import Frontmatter, read_frontmatter
from ragvault.ingest.formats.inline import clean_tag, heading_text, tags_and_links, unique
from ragvault.model import Note, Section

MAX_TITLE_CHARS = 300
_BOMS = (  # the longer first: UTF-32's begins like UTF-16's
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LINE_END = re.compile(r"\r\n|\n|\r")
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_STRAY = re.compile("[\udc80-\udcff]")


class NotTextError(Exception):
    """The file isn't text; ``reason`` is a phrase for the list of skipped files."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def parse_note(rel_path: str, data: bytes, mtime: float) -> Note:
    """Read one note. ``mtime`` in seconds since the epoch is its date when nothing else tells.

    The title is the frontmatter's, else the first level-1 heading, else the file's name. The
    date is the first that can be read of the frontmatter's ``dates.DATE_KEYS``, else the one in
    the path, else ``mtime``. Raises NotTextError for a binary file. Linear in the file.
    """
    text, warnings = decode(data)
    lines = split_lines(text)
    front = read_frontmatter(lines)
    if front is not None and front.warning:
        warnings = (*warnings, front.warning)
    body_start = front.lines[1] if front is not None else 0
    body = lines[body_start:]
    found = outline(body)
    named = [(heading, heading_text(heading.source)) for heading in found.headings]
    named = [(heading, name) for heading, name in named if name]
    tags, links = tags_and_links(body, found.code_lines)
    return Note(
        rel_path=rel_path,
        title=_title(front, named, rel_path),
        aliases=unique(front.listed("aliases", "alias") if front is not None else ()),
        tags=unique([*_frontmatter_tags(front), *tags]),
        links=unique([*_frontmatter_links(front), *links]),
        date=_date(front, rel_path, mtime),
        frontmatter_text=front.text if front is not None else "",
        frontmatter_lines=front.lines if front is not None else None,
        sections=_sections(body, named, body_start),
        lines=tuple(lines),
        warnings=warnings,
    )


def decode(data: bytes) -> tuple[str, tuple[str, ...]]:
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


def split_lines(text: str) -> list[str]:
    """Lines without their ends; a last line end opens no further line. "" has no line."""
    lines = text.split("\n") if "\r" not in text else _LINE_END.split(text)
    if not lines[-1]:
        lines.pop()
    return lines


def _title(front: Frontmatter | None, named: Sequence[tuple[Heading, str]], rel_path: str) -> str:
    title = (front.first("title") if front is not None else None) or ""
    title = title.strip() or next((name for heading, name in named if heading.level == 1), "")
    title = " ".join(title.split()) or PurePosixPath(rel_path).stem
    title = title.encode("utf-8", "replace").decode()  # a name that isn't Unicode on disk
    return title if len(title) <= MAX_TITLE_CHARS else title[: MAX_TITLE_CHARS - 1] + "…"


def _frontmatter_tags(front: Frontmatter | None) -> Iterable[str]:
    for text in [*front.listed("tags"), *front.listed("tag")] if front is not None else ():
        # a tag has no space and no comma: "tags: a b" are two
        yield from filter(None, (clean_tag(part) for part in re.split(r"[\s,]+", text)))


def _frontmatter_links(front: Frontmatter | None) -> list[str]:
    if front is None:
        return []
    texts = [text for text in front.raw() if "[" in text]
    return tags_and_links(texts, frozenset())[1]


def _date(front: Frontmatter | None, rel_path: str, mtime: float) -> float:
    found = date_from_fields(front.fields()) if front is not None else None
    if found is None:
        found = date_from_path(rel_path)
    return mtime if found is None else found


def _sections(
    body: Sequence[str], named: Sequence[tuple[Heading, str]], offset: int
) -> tuple[Section, ...]:
    """The body cut at its headings; the part before the first only when it isn't blank."""
    sections: list[Section] = []
    starts = [heading.line for heading, _ in named]
    ends = [*starts[1:], len(body)] if starts else []
    before = body[: starts[0]] if starts else body
    if any(line.strip() for line in before):
        sections.append(Section((), offset + 1, offset + len(before), "\n".join(before)))
    stack: list[tuple[int, str]] = []
    for (heading, name), start, end in zip(named, starts, ends, strict=True):
        while stack and stack[-1][0] >= heading.level:
            stack.pop()
        stack.append((heading.level, name))
        path = tuple(text for _, text in stack)
        sections.append(Section(path, offset + start + 1, offset + end, "\n".join(body[start:end])))
    return tuple(sections)
