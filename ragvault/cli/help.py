"""How help looks. Written here rather than by typer: it needs neither rich nor its Markdown
parser (60 ms), and is the same with every version of typer, so that the docs can hold it.
"""

from __future__ import annotations

import inspect
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from ragvault.cli.render.terminal import Terminal

MAX_WIDTH = 96
MAX_TERM = 24  # columns of the left side; a longer term stands on a line of its own

# typer's own options, whose wording changes with its versions.
_OWN_WORDS = {
    "--help": "Show this help.",
    "--install-completion": "Install tab completion for this shell.",
    "--show-completion": "Print the completion script instead.",
}


def render(
    command: Any, ctx: Any, sections: Iterable[tuple[str, Sequence[tuple[str, str]]]] = ()
) -> str:
    """The help of a command; ``sections`` are titled lists of (name, summary) of its commands."""
    out = Terminal.of(sys.stdout)
    columns = ctx.terminal_width or min(shutil.get_terminal_size((80, 24)).columns, MAX_WIDTH)
    width = max(40, columns)
    params = command.get_params(ctx)
    blocks = [f"{out.style('Usage:', 'bold')} {ctx.command_path} {_usage(params, bool(sections))}"]
    blocks += _paragraphs(command.help or "", width)
    arguments = [(_metavar(p), p.help or "") for p in params if not p.opts[0].startswith("-")]
    options = [(_option(p), _option_help(p)) for p in params if p.opts[0].startswith("-")]
    for title, rows in [*sections, ("Arguments", arguments), ("Options", options)]:
        if rows:
            blocks.append(_table(title, rows, width, out))
    if command.epilog:
        blocks += [_bold_title(text, out) for text in _paragraphs(command.epilog, width)]
    return "\n\n".join(blocks)


def _usage(params: Sequence[Any], is_group: bool) -> str:
    names = [_metavar(p) for p in params if not p.opts[0].startswith("-")]
    return " ".join(["[OPTIONS]", *names, *(["COMMAND"] if is_group else [])])


def _metavar(param: Any) -> str:
    """``PATH``, ``QUESTION...``, ``[PATH...]``."""
    name = (param.metavar or param.name.upper()) + ("..." if param.nargs == -1 else "")
    return name if param.required else f"[{name}]"


def _option(param: Any) -> str:
    names = ", ".join(sorted([*param.opts, *param.secondary_opts], key=len))
    takes_value = not param.is_flag and not getattr(param, "count", False)
    is_own = any(name in _OWN_WORDS for name in param.opts)
    return f"{names} {param.metavar}" if takes_value and param.metavar and not is_own else names


def _option_help(param: Any) -> str:
    own = next((_OWN_WORDS[name] for name in param.opts if name in _OWN_WORDS), None)
    return own if own is not None else param.help or ""


def _paragraphs(text: str, width: int) -> list[str]:
    """Paragraphs wrapped; one that is indented in part (an example) stays as it is."""
    paragraphs = []
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        if not paragraph.strip():
            continue
        if any(line.startswith(" ") for line in paragraph.splitlines()):
            paragraphs.append(paragraph)
        else:
            paragraphs.append(textwrap.fill(" ".join(paragraph.split()), width))
    return paragraphs


def _table(title: str, rows: Sequence[tuple[str, str]], width: int, out: Terminal) -> str:
    left = min(max(len(term) for term, _ in rows), MAX_TERM)
    lines = [out.style(f"{title}:", "bold")]
    for term, text in rows:
        wrapped = textwrap.wrap(text, max(20, width - left - 4)) or [""]
        if len(term) > left:
            lines.append(f"  {out.style(term, 'cyan')}")
        else:
            pad = " " * (left - len(term))
            lines.append(f"  {out.style(term, 'cyan')}{pad}  {wrapped.pop(0)}".rstrip())
        lines += [f"{' ' * (left + 4)}{line}" for line in wrapped]
    return "\n".join(lines)


def _bold_title(text: str, out: Terminal) -> str:
    """The words before a paragraph's first colon stand out as a title."""
    title, colon, rest = text.partition(":")
    return out.style(title + colon, "bold") + rest if colon and len(title) < 20 else text


def first_sentence(text: str) -> str:
    """The first paragraph of a docstring, on one line."""
    return inspect.cleandoc(text).split("\n\n")[0].replace("\n", " ").strip()
