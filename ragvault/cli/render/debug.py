"""``--debug``: every candidate in rank order with all its scores, and how the time went."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ragvault.cli.render.layout import MIN_LINE, columns, counted, hanging, shortened
from ragvault.cli.render.terminal import Terminal
from ragvault.model import AskResult, Hit, Retrieval, Timing, shown_confidence
from ragvault.service.json_objects import local_day
from ragvault.text import one_line, snippet

_ID_LENGTH = 12  # of 32: enough to tell chunks apart; --json has the whole
_FOLDERS_SHOWN = 12
_LEAST_ROOM = 24  # columns for a place


def print_debug(
    out: Terminal, retrieval: Retrieval | None, result: AskResult | None = None
) -> None:
    """The candidates, the folders, the query as it was understood, timings and tokens; where
    scores were judged, also how the confidence came about."""
    out.print()
    out.print("Debug", "bold")
    if retrieval is None:
        out.print("Nothing was looked for.")
        return
    for label, value in _facts(retrieval, result):
        out.print(f"{out.style(f'{label:<11}', 'dim')} {hanging(out, value, 12)}")
    _print_candidates(out, retrieval)
    if result is not None:
        _print_quotes(out, retrieval, result)


def _facts(retrieval: Retrieval, result: AskResult | None) -> Iterator[tuple[str, str]]:
    """What stands above the tables, each behind its label."""
    query, folders = retrieval.query, retrieval.folder_selection
    yield "keywords", ", ".join(query.terms) or "none"
    for wording in query.wordings:
        yield f"words ({wording.language})", ", ".join(wording.terms)
    if (hint := query.time_hint) is not None:
        yield "time", f'"{hint.phrase}": {local_day(hint.since)} to {local_day(hint.until)}'
    kept = sum(hit.kept for hit in retrieval.hits)
    counts = f"{counted(len(retrieval.candidates), 'candidate')}, {kept} kept"
    asked = f"k = {retrieval.k}, {query.breadth} question"
    yield "strategy", f"{retrieval.strategy}, {asked}; {counts}"
    if (trust := retrieval.vocabulary_trust) < 1.0:
        how_far = "not at all" if trust <= 0 else f"{trust:.0%}"
        yield "model", f"it hardly reads these words: its scores count {how_far}"
    yield "searched", retrieval.searched or "nothing"
    yield from retrieval.expansions
    chosen = ", ".join(shortened(folders.selected, _FOLDERS_SHOWN)) or "all"
    by = "by the model, " if folders.mode == "llm" else ""
    yield "folders", f"{chosen} ({by}of {len(folders.available)})"
    if folders.available:
        yield "available", ", ".join(shortened(folders.available, _FOLDERS_SHOWN))
    if result is not None and (judged := result.judgement) is not None:
        of = ", ".join(f"{name} {value:.2f}" for name, value in judged.features.items())
        sure = shown_confidence(judged.confidence)
        yield "confidence", f"{sure} {judged.calibration}: {of or 'no quote'}"
    spent = [(name, ms) for name, ms in retrieval.timings_ms.items() if name is not Timing.TOTAL]
    whole: list[tuple[str, float | None]] = [("search", retrieval.total_ms)]
    if result is not None:
        whole += [("model", result.llm_ms), ("total", result.total_ms)]
    times = (f"{name} {ms:.0f} ms" for name, ms in (*spent, *whole) if ms is not None)
    yield "time spent", ", ".join(times)
    if result is not None and result.usage.prompt_tokens is not None:
        completion = result.usage.completion_tokens or 0
        yield "tokens", f"{result.usage.prompt_tokens:,} prompt, {completion:,} answer"


def _print_quotes(out: Terminal, retrieval: Retrieval, result: AskResult) -> None:
    """What was chosen to be quoted, and which of the passages that were kept it passed over."""
    if not result.quotes:
        return
    out.print()
    out.print("  #  share cosine  quote", "dim")
    for quote in result.quotes:
        room = max(MIN_LINE, out.width - 20) if out.is_tty else 160
        text = snippet(f"{quote.hit.chunk.rel_path}: {quote.shown}", room)
        out.print(f"{quote.hit.rank:>3} {quote.share:>6.3f} {_number(quote.cosine)}  {text}")
    quoted = {quote.hit.chunk.id for quote in result.quotes}
    over = [f"{hit.rank}" for hit in retrieval.kept if hit.chunk.id not in quoted]
    if over:
        told = f"{', '.join(over)}: what they hold matches the question less"
        out.print(f"{out.style('passed over', 'dim')} {hanging(out, told, 12)}")


# In the order shown: heading (a space before it: right-aligned) and cell.
_COLUMNS: dict[str, tuple[str, Callable[[Hit], str]]] = {
    "rank": ("  #", lambda hit: f"{hit.rank}"),
    "final": (" final", lambda hit: f"{hit.scores.final:.3f}"),
    "vector": ("vector", lambda hit: _number(hit.scores.vector)),
    "word": ("  word", lambda hit: _number(hit.scores.lexical)),
    "recent": ("recent", lambda hit: _number(hit.scores.recency)),
    "folder": ("folder", lambda hit: _number(hit.scores.folder_weight)),
    "rerank": ("rerank", lambda hit: _number(hit.scores.rerank)),
    "fate": (" fate        ", lambda hit: f" {hit.dropped_by or 'kept':<12}"),
    "chunk": ("chunk       ", lambda hit: f"{hit.chunk.id[:_ID_LENGTH]:<12}"),
}
# What a narrow terminal goes without, the first of it first.
_SPARED = ("chunk", "folder", "recent", "rerank", "word", "vector", "fate")


def _print_candidates(out: Terminal, retrieval: Retrieval) -> None:
    """The table, without the columns that would break its lines."""
    if not retrieval.hits:
        return
    shown = list(_COLUMNS)
    for name in _SPARED:
        width = sum(len(_COLUMNS[one][0]) + 1 for one in shown)
        if out.is_tty and width + _LEAST_ROOM > out.width:
            shown.remove(name)
    out.print()
    head = " ".join([*(_COLUMNS[name][0] for name in shown), "place"])
    out.print(head, "dim")
    for hit in retrieval.hits:
        cells = (cell(hit).rjust(len(title)) for title, cell in (_COLUMNS[name] for name in shown))
        line = " ".join(cells) + " "
        line += _place(hit, out.width - columns(line) if out.is_tty else None)
        out.print(line if hit.kept else out.style(line, "dim"))


def _number(value: float | None) -> str:
    return f"{'–':>6}" if value is None else f"{value:>6.3f}"


def _place(hit: Hit, room: int | None) -> str:
    """Path, line and section. Where they don't fit into ``room`` columns, the section loses its
    end, and then the path its beginning: the note's name is what tells places apart."""
    chunk = hit.chunk
    path = one_line(f"{chunk.vault}/{chunk.rel_path}:{chunk.start_line}")
    whole = one_line(f"{path} {' > '.join(chunk.heading_path)}")
    if room is None or columns(whole) <= room:
        return whole
    if columns(path) < room:
        while columns(whole) > room - 1:
            whole = whole[:-1]
        return whole + "…"
    while path and columns(path) > room - 1:
        path = path[1:]
    return "…" + path
