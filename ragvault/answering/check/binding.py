"""Do the parts of a statement stand together in its passage, and belong together as it says?

A statement is held when one fact of the passage (``facts``) holds it, or when some hold each of its
clauses:

- the numbers, dates and names that the passage has stand in that fact, or in what names the
  passage (title, headings, file), and so do most of the words;
- nothing of its kind stands in the place of a number or name: beside the same word, or with what
  the statement says of another ("14 kg, 23 bottles" of "23 kg, 14 bottles");
- no two have changed places around the same words ("Femi owes Tomek" of "Tomek owes Femi");
- both say no, or neither does; and what is only planned, asked or past there is said to be so
  (``moods``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, combinations

from ragvault.answering.check.facts import PART, Fact, Item, facts_of, items, keys_of
from ragvault.answering.check.moods import DENIED, is_opposite, moods, not_said
from ragvault.answering.names import DETERMINER
from ragvault.model import Hit
from ragvault.text import stopwords

_MOST_PARTS = 12  # of a statement, that one fact may hold together
_MOST_LOST = 0.34  # of the words that the passage has elsewhere
_BESIDE = 2  # items
_MOST_PLACED = 100  # values and names of a statement: each is held against the place of all others
_YEAR = re.compile(r"(?:19|20)\d\d")
_VALUES = "#:@"
_ARTICLE = re.compile(rf"\b(?:{DETERMINER}|an?|the|el|l[aeo]s?|une?|una)\s+", re.IGNORECASE)
_OWNED = re.compile(r"\b([^\W\d_a-zß-ÿ]\w*)['’]s (\w+)")
_MOST_BETWEEN = 4  # words, of two that may have changed places
_MUTUAL = stopwords().union(  # around which two may stand either way: "Ben und Anna"
    "und y et e oder o ou mit con avec ist sind war es son est sont è met meets married marries"
    " knows vs aka".split()
)
# Of two words that one of these parts the order tells; of names any verb.
_COMPARING = frozenset(
    "to not than over instead rather before after from statt anstatt nicht sondern als vor nach que"
    " no antes después pas plutôt avant après di invece".split()
)
_ELSEWHERE = "stands elsewhere there"

Segments = Sequence[Sequence[Item]]


def loose_parts(
    statement: str, cited: Sequence[Hit], about: str, *, is_compared: bool = True
) -> list[str]:
    """Why the parts of the statement don't belong together in the passages; empty when they do.
    ``about`` is what is known of their notes. Without ``is_compared`` its words are another
    language's: a value, or two words, have to stand there."""
    text = "\n".join((about, *(hit.chunk.text for hit in cited)))
    if swapped := _turned(statement, text):
        return [swapped]
    for owner, thing in _OWNED.findall(statement):
        theirs = [other for other, one in _OWNED.findall(text) if one == thing]
        # "Tomek's flight" may be Tomek Kowalski's, and in "she's allergic" nobody owns anything.
        is_other = theirs and owner in text and owner.casefold() not in stopwords()
        if is_other and not any(one == owner or f"{owner} {one}" in text for one in theirs):
            return [f"it is {theirs[0]}'s {thing} there, not {owner}'s"]
    place = items(about)
    facts = facts_of(tuple(cited))
    known = keys_of(place).union(*(fact.keys for fact in facts))
    there = [item.kind for item in items(statement, known=False) if item.keys & known]
    if not is_compared and len(there) < 2 and not set(there) & set(_VALUES):
        return ["it is in another language, and nothing in it can be compared"]
    reason = _best(statement, facts, place, known)
    if not reason.endswith(_ELSEWHERE):  # held, or one fact has all of it, bound otherwise
        return [reason] if reason else []
    return [] if _joined(statement, facts, place, known) else [reason]


def _joined(
    statement: str, facts: Sequence[Fact], place: Sequence[Item], known: frozenset[str]
) -> bool:
    """Whether a fact holds each of its parts, the shortest first (in a long one a wrong word
    is lost among the right ones); a value alone is none. Linear in the parts and in the facts."""
    ends = [match.end() for match in PART.finditer(statement) if statement[match.end() :].strip()]
    cuts = [0, *ends, len(statement)]
    start = 0
    while start < len(cuts) - 1:
        for end in range(start + 1, min(start + _MOST_PARTS, len(cuts) - 1) + 1):
            part = statement[cuts[start] : cuts[end]]
            kinds = [item.kind for item in items(part, known=False) if item.keys & known]
            is_part = len(kinds) > 1 or kinds in (["a"], ["A"])
            if is_part and not _best(part, facts, place, known):
                break
        else:
            return False
        start = end
    return True


def _turned(statement: str, text: str) -> str:
    """Why the statement has two of the text the other way round; "" when it hasn't."""
    said, there = (_ARTICLE.sub("", one) for one in (statement, text))

    def has(*order: str) -> bool:
        """One more word may stand beside the two, such as a first name."""
        words = r" (?:\w+ )?".join(map(re.escape, order))
        return bool(re.search(rf"\b{words}\b", there, re.IGNORECASE))

    for length in range(1, _MOST_BETWEEN + 1):
        pair = rf"(?=\b(\w{{2,}}) ((?:[^\W\d]+ ){{{length - 1}}}[^\W\d]+) (\w{{2,}}))"
        for one, between, two in re.findall(pair, said):
            parts = set(between.casefold().split())
            is_of_names = one[0].isupper() and two[0].isupper() and parts - _MUTUAL
            is_told = is_of_names or (parts & _COMPARING and items(one) and items(two))
            if is_told and has(two, between, one) and not has(one, between, two):
                return f"{one} and {two} have changed places there"
    return ""


def _best(clause: str, facts: Sequence[Fact], place: Sequence[Item], known: frozenset[str]) -> str:
    """What is wrong with the clause in the fact that comes nearest to it; "" for nothing."""
    named = keys_of(place)
    names = keys_of(i for f in facts for i in chain(place, *f.segments) if i.kind == "A")
    said = [
        [
            # A capital may be that of the sentence's beginning.
            item if item.kind != "A" or item.keys & names else replace(item, kind="a")
            for item in items(part, known=False)
            if item.keys & known
        ]
        for part in PART.split(clause)
    ]
    how = moods(clause)
    reasons = []
    for fact in facts:
        reason = _lost(said, fact, named) or _told(said, fact, how) or _moved(said, fact)
        if not reason:
            return ""
        reasons.append(reason)
    return min(reasons, key=lambda reason: reason.endswith(_ELSEWHERE), default="")


def _lost(said: Segments, fact: Fact, named: frozenset[str]) -> str:
    """What the fact lacks of that which the passage has."""
    lost, held = [], 0
    for segment in said:
        for at, item in enumerate(segment):
            beside = (*segment[max(0, at - 1) : at], *segment[at + 1 : at + 2])
            # A number of the title counts only with the title's words: "plot 14", not "14 m²".
            is_named = item.keys & named and (
                item.kind not in "#:"
                or _YEAR.fullmatch(item.text)
                or any(other.keys & named for other in beside)
            )
            if fact.where(item):
                held += item.kind != "I"
            elif not is_named and item.kind == "a":
                lost.append(item)
            elif not is_named and item.kind != "I":
                return f"{item.text} {_ELSEWHERE}"
    if len(lost) > _MOST_LOST * held:
        return f"{lost[0].text} {_ELSEWHERE}"
    return ""


def _told(said: Segments, fact: Fact, how: frozenset[str]) -> str:
    """What is told otherwise than it is said. A no counts where something stands of which no yes
    is told: "breakfast included, parking not included"; a doubt in brackets, for what stands there
    alone."""
    touched: dict[int, set[Item]] = {}
    for item in chain(*said):
        for number, _ in fact.where(item):
            touched.setdefault(number, set()).add(item)
    yes = [keys_of(some) for n, some in touched.items() if DENIED not in fact.moods[n]]
    told = [
        fact.moods[n]
        for n, some in touched.items()
        if DENIED not in fact.moods[n] or not any(keys_of(some) < other for other in yes)
    ]
    if is_opposite(how, frozenset().union(*told)):
        return "it says the opposite of its source"
    homes = [fact.moods[number] for number in fact.home([*chain(*said)], whole=False)]
    sure = keys_of(chain(*(some for n, some in touched.items() if n not in fact.asides)))
    doubted = [fact.moods[n] for n in fact.asides & touched.keys() if keys_of(touched[n]) - sure]
    kept_back = homes and not_said(how, frozenset.intersection(*homes).union(*doubted))
    return f"it is {kept_back} there" if kept_back else ""


def _moved(said: Segments, fact: Fact) -> str:
    """What stands in another one's place."""
    if sum(item.kind not in "aI" for item in chain(*said)) > _MOST_PLACED:
        return "it says more than can be compared"
    loose: list[Item] = []
    for number, segment in enumerate(said):
        others = list(chain(*said[:number], *said[number + 1 :]))
        for at, item in enumerate(segment):
            if item.kind in "aI":
                continue
            rival = _rival(segment, at, fact)
            if rival:
                return f"{rival.text} is said there, not {item.text}"
            evidence = list(_evidence(segment, at, fact)) if item.kind != "A" else []
            if _crosses(item, segment, others, fact) or (-1 in evidence and 1 not in evidence):
                return f"{item.text} is of something else there"
            if 1 not in evidence and fact.where(item) and item.kind != "A":
                loose.append(item)
    for first, second in combinations(loose, 2):
        is_alike = bool(_YEAR.fullmatch(first.text)) == bool(_YEAR.fullmatch(second.text))
        if not is_alike or first.kind != second.kind:
            continue
        if min(fact.where(first)) > max(fact.where(second)):
            return f"{first.text} and {second.text} have changed places there"
    return ""


def _rival(segment: Sequence[Item], at: int, fact: Fact) -> Item | None:
    """What the fact has in the item's place where the rest of the segment stands: on the same side
    of its neighbour. A name may stand anywhere in that sentence, but comes before what is said of
    it."""
    item = segment[at]
    others = [other for other in segment if other is not item]
    home = fact.home(others, whole=item.kind == "A")
    spots = {number for number, _ in fact.where(item)}
    if not home or item.kind == "@" or spots & home:
        return None
    said = keys_of(segment if spots else segment[max(0, at - 1) :])
    for step in (1, -1):
        beside = segment[at + step] if 0 <= at + step < len(segment) else item
        for part in (fact.segments[number] for number in home):
            for spot, other in enumerate(part):
                rival = part[spot - step] if 0 <= spot - step < len(part) else item
                is_like = rival.kind in item.rivals and not rival.keys & said
                if beside.keys & other.keys and is_like and (spots or not rival.leads):
                    return rival
    if item.kind == "A" and spots and max(home) < min(spots):
        late = chain(*(fact.segments[number] for number in spots))
        if not any(other.keys & keys_of(others) for other in late):
            return replace(item, text="another one")
    return None


def _crosses(item: Item, segment: Sequence[Item], others: Sequence[Item], fact: Fact) -> bool:
    """Whether the fact has it with what is said elsewhere, and one of that with what it is said
    with."""
    own, their = keys_of(segment) - item.keys, keys_of(others) - item.keys
    own, their = own - their, their - own
    there = [keys_of(fact.segments[number]) for number, _ in fact.where(item)]
    rivals = keys_of(
        other
        for part in fact.segments
        if keys_of(part) & own
        for other in part
        if other.kind in item.rivals
    )
    return bool(there and rivals & their) and all(part & their and not part & own for part in there)


def _evidence(segment: Sequence[Item], at: int, fact: Fact) -> Iterator[int]:
    """Of each word around the value: 1 when the fact puts it beside this value alone, -1 when
    beside another one alone."""
    value = segment[at]
    words = keys_of(item for item in segment if item.kind == "a")
    own = {number for number, _ in fact.where(value)}
    units = {fact.segments[number][place].unit for number, place in fact.where(value)}
    there = [item for item in segment if item.keys & fact.keys]
    for label in _labels(there, there.index(value)) if own else ():
        theirs = {number for number, _ in fact.where(label)}
        rivals = [
            other
            for number in theirs
            for other in fact.segments[number]
            if other.kind == value.kind and not other.keys & value.keys
            if other.unit == value.unit or value.unit not in units  # "9 nights" is no price
        ]
        if own & theirs:
            yield int(not rivals)
        else:
            yield -any(not other.keys & words for other in rivals)


def _labels(segment: Sequence[Item], at: int) -> Iterator[Item]:
    """The words around a value, but not those that follow another value before it."""
    yield from segment[at + 1 : at + 1 + _BESIDE]
    before = segment[max(0, at - _BESIDE) : at]
    for place in range(len(before) - 1, -1, -1):
        if before[place].kind in _VALUES or (place and before[place - 1].kind in _VALUES):
            break
        yield before[place]
