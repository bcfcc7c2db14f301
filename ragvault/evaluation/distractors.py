"""An entity like another one, that is in no note: what makes a question unanswerable."""

from __future__ import annotations

import random
import re

from ragvault.evaluation.harvest import Find, Harvest, Kind, is_latin
from ragvault.text import STOPWORDS, tokens

_TRIES = 40

# Plausible, and rare enough that a vault seldom holds them; each is checked before it is used.
_SURNAMES = """
    Abernathy Bellweather Castellane Dunwoody Eberhardt Fairclough Gravenor Hollingberry
    Ingersoll Jessop Kirchner Lindqvist Montague Nethercott Oyelaran Pemberton Quintrell
    Rosenthal Sandringham Thistlewood Underhill Vasquez Whitcombe Yarborough Zimmermann
    Okonjo Takahara Petrescu Halvorsen Moravec
""".split()
_WORDS = """
    harpsichord trampoline walrus chimney lighthouse periscope accordion marzipan kayak
    hammock telescope glacier parachute windmill cactus gargoyle saxophone igloo origami
    sundial turnstile zeppelin beeswax tapestry catapult dulcimer porcupine aqueduct bagpipe
    carousel gondola hovercraft kaleidoscope lacrosse mandolin narwhal obelisk pendulum
    quarry rickshaw scarecrow tambourine unicycle velvet xylophone yurt anvil barnacle
    cobbler drawbridge
""".split()
_TERMS = """
    Zellberg Quorin Tarvex Ombrella Plinthos Drakonet Veltrane Murnau Osterlink Harrowgate
    Fenwick Glimmerjack Kestrelbase Lumenary Nautiloid Pravexa Sorrelwood Tidewright
    Umberfold Wolkenstein
""".split()


def swapped_key(find: Find, harvest: Harvest, rng: random.Random) -> str | None:
    """The key with its telling part swapped for one that no note holds; None when none was
    found."""
    make = {
        Kind.HEADING: _other_term,
        Kind.DEFINITION: _other_term,
        Kind.NAME: _other_name,
        Kind.DATE: _other_date,
        Kind.NUMBER: _other_number,
    }[find.kind]
    for _ in range(_TRIES):
        key = make(find.key, harvest, rng)
        if key is not None:
            return key
    return None


def _other_term(key: str, harvest: Harvest, rng: random.Random) -> str | None:
    """One content word of several is swapped; a single one for an invented name."""
    if not is_latin(key):
        return None
    content = [
        word
        for word in re.findall(r"[^\W\d_]{3,}", key)
        if word.lower() not in STOPWORDS and len(word) > 3
    ]
    if len(content) < 2:
        name = rng.choice(_TERMS)
        return name if harvest.lacks(name) else None
    old = rng.choice(content)
    new = rng.choice(_WORDS)
    if not harvest.lacks(new):
        return None
    new = new.capitalize() if old[0].isupper() else new
    swapped = re.sub(rf"\b{re.escape(old)}\b", new, key, count=1)
    return re.sub(r"^an? (?=(.))", lambda m: "an " if m[1].lower() in "aeiou" else "a ", swapped)


def _other_name(key: str, harvest: Harvest, rng: random.Random) -> str | None:
    """The first name stays: the notes may well hold another person of that name."""
    surname = rng.choice(_SURNAMES)
    return f"{key.split()[0]} {surname}" if harvest.lacks(surname) else None


def _other_date(key: str, harvest: Harvest, rng: random.Random) -> str | None:
    """Another day or year, so that no note has that date."""
    year = re.search(r"(?:1[89]|20)\d\d", key)
    if year is not None:
        key = key.replace(year.group(), str(int(year.group()) + rng.choice((-7, -4, -3, 3, 5, 8))))
    else:
        key = re.sub(r"^\d{1,2}", str(rng.randint(1, 28)), key)
    return key if " ".join(key.lower().split()) not in harvest.dates else None


def _other_number(key: str, harvest: Harvest, rng: random.Random) -> str | None:
    """Another amount of the same unit. Its figure stands in no note at all."""
    match = re.match(r"[\d.,]+", key)
    if match is None:
        return None
    old = float(match.group().replace(",", ""))
    new = max(2, round(old * rng.uniform(1.3, 4.0)) + rng.randint(1, 9))
    if str(new) in harvest.vocabulary or not tokens(str(new)):
        return None
    return f"{new:,}{key[match.end() :]}"
