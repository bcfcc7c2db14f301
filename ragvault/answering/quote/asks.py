"""What a question asks for: a whole list or one fact, who took part, a time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from ragvault.answering.check.values import find_dates
from ragvault.formats.dates import nearest_day

_ATTENDEES = re.compile(
    r"^\W*(?:attend\w*|present|participants?|people|guests?|members?|with|by|teilnehm\w*"
    r"|anwesend\w*|dabei|gäste|mit|participantes?|présents?|asistentes?)\b",
    re.IGNORECASE,
)


_ATTENDANCE = re.compile(
    r"\b(?:who|which \w+)\b.{0,20}\b(?:was|were|attended|came|went|took part|joined|there"
    r"|present)\b"
    r"|^\W*(?:present|attendees|participants|teilnehmer\w*|anwesende?)\b"
    r"|\bwer\b.{0,60}\b(?:war|waren|dabei|teilgenommen|anwesend|saß|kam)\b",
    re.IGNORECASE,
)
_LIST = re.compile(
    r"\b(?:lists?|all|ingredients|items|steps|instructions|every|things|options|names of|zutaten"
    r"|liste|alle|welche \w+(?:en|er|e|s)\b"
    r"|(?:which|what) (?:\w+ ){0,2}\w{3,}s"
    r" (?:(?:are|were|do|does|did|ha[sd]|have|can|should)(?:n.?t)?|we|i)\b"
    r"|what (?:are|were)\b|was sind\b|who (?:still )?(?:has|have)n.?t|how (?:do|to|can)\b)",
    re.IGNORECASE,
)
# "Last week" is a time, "the last invoice" is one of several.
_NO_PERIOD = (
    r"\b(?!\s+(?:week|month|year|night|time|mon|tue|wed|thu|fri|sat|sun|woche|monat|jahr|nacht"
    r"|mal|mittwoch|donnerstag))"
)
_NEXT = re.compile(
    r"\b(?:next|upcoming|coming|nächste[rnms]?|kommende[rnms]?|prochaine?|próxim[oa])" + _NO_PERIOD,
    re.IGNORECASE,
)
_LAST = re.compile(
    r"\b(?:last|latest|most recent|newest|letzte[rnms]?|neueste[rnms]?|dernière?|últim[oa])"
    + _NO_PERIOD,
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Asks:
    """``whole``: rather a list than one of its items; ``attendance``: who took part;
    ``direction``: 1 for the next of something, -1 for the last, 0 for neither."""

    whole: bool
    attendance: bool
    direction: int

    def key_held(self, text: str) -> bool:
        """A field that by its key is what was asked for, in other words."""
        return self.attendance and bool(_ATTENDEES.match(text))


def asks(question: str) -> Asks:
    return Asks(
        whole=bool(_LIST.search(question)),
        attendance=bool(_ATTENDANCE.search(question)),
        direction=1 if _NEXT.search(question) else -1 if _LAST.search(question) else 0,
    )


def days_in(text: str, near: date) -> list[date]:
    """The days that the text names; one without its year is the one nearest to ``near``."""
    said = (dates[0] for _, dates in find_dates(text))
    days = (nearest_day(one.year, one.month, one.day or 1, near) for one in said)
    return [day for day in days if day is not None]
