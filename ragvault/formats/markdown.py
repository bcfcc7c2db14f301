"""A Markdown file to a Note: frontmatter, title, date, tags, sections, blocks. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ragvault.formats.blocks import PARSE_SECONDS, Heading, Outline, TooSlowError, outline
from ragvault.formats.dates import date_from_fields, date_from_path
from ragvault.formats.decoding import read_lines, title_of
from ragvault.formats.frontmatter import NO_FRONTMATTER, Frontmatter, read_frontmatter
from ragvault.formats.inline import clean_tag, heading_text, inline_tags, unique
from ragvault.formats.plain_text import paragraphs
from ragvault.model import HeadingPath, Note, Section


def read_markdown(
    rel_path: str, data: bytes | str, mtime: float, seconds: float = PARSE_SECONDS
) -> Note:
    """Read one note. ``mtime`` in seconds since the epoch is its date when nothing else tells.
    One whose structure takes more than ``seconds`` of processor time is read as plain text.

    The title is the frontmatter's, else the level-1 heading that the note begins with, if it has
    no other, else the file's name. The date is the first that can be read of the frontmatter's
    ``dates.DATE_KEYS``, else the one in the path, else ``mtime``. Raises NotTextError for a binary
    file. Linear in the file.
    """
    lines, warnings = read_lines(data)
    front = read_frontmatter(lines) or NO_FRONTMATTER
    if front.warning:
        warnings = (*warnings, front.warning)
    body = front.lines[1] if front.lines else 0
    try:
        found = outline(lines, body, seconds)
    except TooSlowError:
        found = Outline((), frozenset(), paragraphs(lines, body))
        slow = f"reading its Markdown takes over {seconds:g} s: cut into plain pieces, no headings"
        warnings = (*warnings, slow)
    named = [(heading, heading_text(heading.source)) for heading in found.headings]
    named = [(heading, name) for heading, name in named if name]
    tags = inline_tags(lines, body, found.code_lines)
    sections = _sections(lines, named, body)
    date = date_from_fields(front.fields())
    title = _title(front, named, sections, rel_path)
    date = date_from_path(rel_path, title) if date is None else date
    return Note(
        rel_path=rel_path,
        title=title,
        aliases=unique(front.listed("aliases", "alias")),
        tags=unique([*_frontmatter_tags(front), *tags]),
        date=mtime if date is None else date,
        frontmatter_text=front.text,
        frontmatter_lines=front.lines,
        sections=sections,
        lines=tuple(lines),
        blocks=(*(outline(lines[:body]).blocks if body else ()), *found.blocks),
        warnings=warnings,
    )


def _title(
    front: Frontmatter,
    named: Sequence[tuple[Heading, str]],
    sections: Sequence[Section],
    rel_path: str,
) -> str:
    """A heading names the note where it stands above all of it: "Context", the first of five,
    doesn't."""
    said = next(iter(front.strings("title")), "").strip()
    top = [name for heading, name in named if heading.level == 1]
    if len(top) == 1 and sections[0].heading_path == (top[0],):
        said = said or top[0]
    return title_of(said, rel_path)


def _frontmatter_tags(front: Frontmatter) -> Iterable[str]:
    for text in [*front.listed("tags"), *front.listed("tag")]:
        # a tag has no space and no comma: "tags: a b" are two
        yield from filter(None, (clean_tag(part) for part in re.split(r"[\s,]+", text)))


def _sections(
    lines: Sequence[str], named: Sequence[tuple[Heading, str]], body: int
) -> tuple[Section, ...]:
    """``lines[body:]`` cut at its headings; the part before the first only when it isn't blank."""
    sections: list[Section] = []
    starts = [*(heading.line for heading, _ in named), len(lines)]
    if any(line.strip() for line in lines[body : starts[0]]):
        sections.append(_section((), lines, body, starts[0]))
    stack: list[tuple[int, str]] = []
    for (heading, name), start, end in zip(named, starts, starts[1:], strict=False):
        while stack and stack[-1][0] >= heading.level:
            stack.pop()
        stack.append((heading.level, name))
        sections.append(_section(tuple(text for _, text in stack), lines, start, end))
    return tuple(sections)


def _section(path: HeadingPath, lines: Sequence[str], start: int, end: int) -> Section:
    return Section(path, start + 1, end, "\n".join(lines[start:end]))
