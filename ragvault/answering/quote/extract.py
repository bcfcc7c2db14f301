"""The answer without a model: what the notes say themselves, chosen over all that was found.

The units of all passages (``units``) are rated (``rate``); the best are quoted until they are
likely to hold the answer, with what makes them readable: units of one passage together, a short
passage whole, a list whole where a list is asked for or most of it matches.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby

from ragvault.answering.check.support import Embed
from ragvault.answering.context import neutralise
from ragvault.answering.quote import show
from ragvault.answering.quote.asks import Asks, asks
from ragvault.answering.quote.rate import Rated, content_stems, is_idle, is_navigation, rated
from ragvault.answering.quote.units import Group, Unit, pages_of
from ragvault.model import Detail, Hit, Quote, Wording
from ragvault.text import strip_controls

_LIMIT = {Detail.BRIEF: 1, Detail.NORMAL: 3, Detail.DETAILED: 7}
_ENOUGH = 0.7  # the probability that the answer is among what is shown, if a unit holds it
_LEAST = 0.1  # of the best unit's odds, for a further one
_LEAST_NEW = 0.05  # and for one that holds words of the question that those before it don't
_RIVAL = 0.8  # of the best unit's words and place: another note speaks of the same
_LEAST_LATER = 0.25  # of the best unit's probability, for what a newer note says instead
_MAX_WORDS = 150  # that people read at once; one unit may be longer


@dataclass(frozen=True, slots=True)
class Reading:
    """Passages as they were read for a question, each unit rated."""

    hits: tuple[Hit, ...]
    wanted: Asks
    scored: tuple[Rated, ...]

    def quotes(self, detail: Detail = Detail.NORMAL) -> list[Quote]:
        """One to seven quotations that answer best, the best first; not empty when any hit has
        text."""
        longest = (0, 0) if detail is Detail.BRIEF else (_MAX_FIRST, _MAX_BESIDE_FIRST)
        found = _quotes(self.scored, self.wanted, _LIMIT[detail], longest, detail)
        return found or _anything(self.hits)

    def of_each(self, detail: Detail = Detail.NORMAL) -> dict[str, Quote]:
        """What best answers of each passage, by its chunk's id; nothing of one without text, or
        that only leads elsewhere."""
        by_chunk: dict[str, list[Rated]] = {}
        for one in self.scored:
            if not one.unit.is_pointer:
                by_chunk.setdefault(one.unit.hit.chunk.id, []).append(one)
        each = 0 if detail is Detail.BRIEF else _MAX_BESIDE_FIRST
        longest = (each, each)
        limit = min(2, _LIMIT[detail])
        best = (_quotes(own, self.wanted, limit, longest, detail) for own in by_chunk.values())
        return {quote.hit.chunk.id: quote for quote, *_ in best}


def read(
    question: str,
    hits: Sequence[Hit],
    *,
    wordings: Sequence[Wording] = (),
    embed: Embed | None = None,
    today: date | None = None,
) -> Reading:
    """``embed`` gives unit rows for texts; without it the words alone decide. Linear in the hits'
    text."""
    wanted = asks(question)
    scored = rated(question, wordings, wanted, pages_of(hits), embed, today)
    return Reading(tuple(hits), wanted, tuple(scored))


def _quotes(
    scored: Sequence[Rated], wanted: Asks, limit: int, longest: tuple[int, int], detail: Detail
) -> list[Quote]:
    """Quotations of the best units of at most ``limit`` groups, one a passage; the first and each
    other passage whole where it isn't ``longest``."""
    if not scored:
        return []
    most = _MAX_WORDS * (2 if detail is Detail.DETAILED else 1)
    passages: dict[str, tuple[list[Rated], set[Unit]]] = {}
    shown: set[Unit] = set()
    for chosen in _timely_first(_choose(scored, limit, most), wanted.direction):
        added = _expanded(chosen, wanted)
        if shown.isdisjoint(added):
            passages.setdefault(chosen[0].unit.hit.chunk.id, (chosen, set()))[1].update(added)
            shown.update(added)
    return [
        _quote(chosen, _whole(chosen[0], units, longest[n > 0]))
        for n, (chosen, units) in enumerate(passages.values())
    ]


def _anything(hits: Sequence[Hit]) -> list[Quote]:
    """Evidence was found, so the person must see some of it, be it links alone."""
    for hit in hits:
        if text := hit.chunk.text.strip():
            return [Quote(hit, (text,), _safe(text))]
    return []


def _safe(text: str) -> str:
    """What a note holds can't pass for a citation of ours."""
    return neutralise(strip_controls(text))


# --------------------------------------------------------------------------- choice


def _choose(scored: Sequence[Rated], limit: int, most: int) -> list[list[Rated]]:
    """Units to quote, by their groups, the best first: as many as hold the answer with a
    probability of ``_ENOUGH``, if it is there; then what holds more of the question's words, and
    what another note says of the same. ``most`` words, as people read at once."""
    scored = [s for s in scored if not is_navigation(s.unit)] or scored
    chosen: dict[Group, list[Rated]] = {}
    sure, words = 0.0, 0
    covered: frozenset[str] = frozenset()
    for s in scored:
        if chosen and s.unit.is_pointer:
            continue
        is_new = bool(s.held - covered) or _rivals(s, scored[0])
        least = _LEAST_NEW if is_new else _LEAST
        if s.share < least * scored[0].share or (sure > _ENOUGH and not is_new):
            continue
        if s.unit.group not in chosen and len(chosen) == limit:
            continue
        if any(_same(s, other) for group in chosen.values() for other in group):
            continue
        length = len(s.unit.text.split())
        if chosen and words + length > most:
            continue
        chosen.setdefault(s.unit.group, []).append(s)
        sure, words, covered = sure + s.share, words + length, covered | s.held
    return list(chosen.values())


def _rivals(a: Rated, b: Rated) -> bool:
    """Another note speaks of the same as the best does."""
    if a.unit.hit.chunk.rel_path == b.unit.hit.chunk.rel_path:
        return False
    return a.own + a.place >= _RIVAL * (b.own + b.place)


def _timely_first(chosen: list[list[Rated]], direction: int) -> list[list[Rated]]:
    """What another note says of the same as the best one, and later, comes first: the latest,
    where it is likely enough; the nearest to today, where the next or the last of something is
    asked for."""
    best = chosen[0][0]
    since = best.unit.hit.note.said_day
    rivals = [(n, s[0]) for n, s in enumerate(chosen) if s[0] is best or _rivals(s[0], best)]
    if direction:
        n = min(((s.away, n) for n, s in rivals if s.away is not None), default=(0, 0))[1]
        return [chosen[n], *chosen[:n], *chosen[n + 1 :]]
    later = [
        (day, -n)
        for n, other in rivals
        if (day := other.unit.hit.note.said_day) > since
        and (since and other.share >= _LEAST_LATER * best.share)
    ]
    n = -max(later)[1] if later else 0
    return [chosen[n], *chosen[:n], *chosen[n + 1 :]]


def _same(a: Rated, b: Rated) -> bool:
    """They say the same: one holds nearly all the words of the other. What a row says is which
    cell stands beside which, so that its words elsewhere don't make up for it; and of two fields
    one with a value more says something else."""
    said, other = content_stems(a.unit.text), content_stems(b.unit.text)
    if "row" in (a.unit.kind, b.unit.kind) or a.unit.kind == b.unit.kind == "field":
        return a.unit.kind == b.unit.kind and a.unit.group is not b.unit.group and said == other
    left, right = set(said), set(other)
    small, big = sorted((left, right), key=len)
    if any(word.isdigit() for word in small - big):
        return False
    return bool(small) and len(small & big) >= 0.8 * len(small)


# --------------------------------------------------------------------------- reading

_MAX_FIRST = 600  # characters of the best passage that is quoted whole,
_MAX_BESIDE_FIRST = 400  # and of another,
_LINE = 40  # where a shorter line counts as this
_MAX_BESIDE = 120  # characters of a sentence behind the best, or of what stands between two
_MAX_LIST = 1_500  # and where the whole is asked for


def _quote(chosen: Sequence[Rated], units: Collection[Unit]) -> Quote:
    """Units of one passage as a quotation in the order of the note: the ``chosen`` ones, the best
    first, and what is shown with them."""
    best = chosen[0]
    page = best.unit.page
    order = {unit: n for n, unit in enumerate(page.units)}
    parts: list[str] = []
    body = before = ""
    last = -1
    for group, members in groupby(sorted(units, key=order.__getitem__), key=lambda u: u.group):
        own = list(members)
        parts += [page.text[slice(*group.head)]] if group.head else []
        parts += [unit.text for unit in own]
        if body and order[own[0]] > last + 1 and not body.endswith(show.CUT):
            body += (" " if before == group.kind == "paragraph" else "\n") + show.CUT
        body += "\n" * bool(body) + _shown(own, group, order)
        last, before = order[own[-1]], group.kind
    body = _safe(body)
    subject = _subject(best, body)
    gap = "\n" if "\n" in body else " "
    return Quote(
        best.unit.hit,
        tuple(parts),
        f"{subject} —{gap}{body}" if subject else body,
        share=sum(s.share for s in chosen),
        cosine=best.cosine,
    )


def _expanded(chosen: Sequence[Rated], wanted: Asks) -> list[Unit]:
    """The chosen units of a group, or all of it, in the order of the note."""
    group, led = chosen[0].unit.group, chosen[0].unit.leads
    picked = {s.unit for s in chosen}
    if wanted.whole and led and led.units and _size(led.units) <= _MAX_LIST:
        return [chosen[0].unit, *led.units]
    members = [u for u in group.units if u in picked or not is_idle(u)]
    is_listed = 2 * len(picked) > len(members) and group.kind == "list"
    is_whole = wanted.whole and group.kind in ("list", "table", "code")
    if (is_listed or is_whole) and _size(members) <= _MAX_LIST:
        return members
    best = members.index(chosen[0].unit)
    # The answer is often in the next sentence, and its subject in the one before.
    beside = members[max(0, best - 1) : best + 2] if chosen[0].unit.kind == "sentence" else []
    picked |= {u for u in beside if u.kind == "sentence" and len(u.text) <= _MAX_BESIDE}
    picked |= {unit.parent for unit in picked if unit.parent is not None}
    for a, unit, b in zip(members, members[1:], members[2:], strict=False):
        if {a, b} <= picked and len(unit.text) <= _MAX_BESIDE:  # hardly longer than a hole's mark
            picked.add(unit)
    return [unit for unit in group.units if unit in picked]


def _whole(best: Rated, units: set[Unit], longest: int) -> set[Unit]:
    """All that its passage says, if that isn't too long: who reads a short note whole needn't
    open it, and the answer is often beside the words of the question."""
    members = {
        unit
        for unit in best.unit.page.units
        if unit.hit is best.unit.hit
        and not (is_idle(unit) or unit.kind == "cut")
        and (unit.group.kind != "frontmatter" or best.unit.kind == "field")
    } | units
    size = sum(max(len(unit.text), _LINE) for unit in members)
    return members if size <= longest else units


def _size(units: Collection[Unit]) -> int:
    return sum(len(unit.text) for unit in units)


def _shown(units: Sequence[Unit], group: Group, order: Mapping[Unit, int]) -> str:
    page = units[0].page
    head = page.text[slice(*group.head)] if group.head else ""
    if group.kind == "table":
        return _table(units, head, group)
    lead = show.sentence(head) + "\n" if head else ""
    if group.kind in ("code", "cut"):
        return lead + "\n".join(unit.text for unit in units)
    if len(units) == 1 and units[0].kind == "item":
        return lead + show.item(units[0].text)
    text = ""
    for n, unit in enumerate(units):
        piece = _piece(unit)
        if n:
            between = page.text[units[n - 1].end : unit.start]
            gap = "\n" if "\n" in between or unit.kind in ("item", "field") else " "
            is_hole = order[unit] != order[units[n - 1]] + 1
            text += f"{gap}{show.CUT}{gap}" if is_hole else gap
        text += piece
    return lead + text


# A line that begins so was not wrapped: "2026: potatoes 38", "guests: welcome99", "16/10 new pod".
_OWN_LINE = re.compile(
    r"\n(?=[ \t]*(?:(?!\d+:\d)[^\W_][^\n:]{0,30}:[ \t]|(?:\d{4}-)?\d\d?[-/]\d\d?\b))"
)


def _piece(unit: Unit) -> str:
    if unit.kind == "field":
        return show.field(unit.text)
    if unit.kind == "sentence":
        lines = unit.text.split("\n") if unit.group.is_lines else _OWN_LINE.split(unit.text)
        return "\n".join(map(show.sentence, lines))
    return show.unwrapped(unit.text)


def _table(units: Sequence[Unit], head: str, group: Group) -> str:
    lines = [line for line in head.split("\n") if line.strip()]
    header = show.cells(lines[-2]) if len(lines) >= 2 else []
    lead = "\n".join(map(show.sentence, lines[:-2]))
    if len(units) <= 2:
        rows = [show.row(header, unit.text) for unit in units]
    else:
        rows = [show.line(header)]
        at = -1
        for unit in units:
            before, at = at, group.units.index(unit)
            rows += [show.CUT] * (at > before + 1) + [show.line(show.cells(unit.text))]
        rows += [show.CUT] * (at < len(group.units) - 1)
    return "\n".join(filter(None, (lead, *rows)))


def _subject(best: Rated, body: str) -> str:
    """What names the subject where the body doesn't: day, title, heading."""
    hit = best.unit.hit
    note = hit.note
    said = set(content_stems(body))
    names: list[str] = []
    path = hit.chunk.heading_path
    title = set(content_stems(note.title))
    # A file's name says less well what the first heading does.
    titled = path[0] if path and title >= set(content_stems(path[0])) else note.title
    for name in dict.fromkeys((titled, *path)):
        stems = set(content_stems(name))
        is_asked = bool(stems & best.placed) or name == titled
        if is_asked and stems - said:
            names.append(name)
    day = hit.note.said_day
    if day and day not in " ".join((*names, body)):
        # A file's name may be the day in other signs: 2026_11_22.
        is_day = names and re.sub(r"\D", "", names[0]) == day.replace("-", "")
        names[: bool(is_day)] = [day]
    return " · ".join(names)
