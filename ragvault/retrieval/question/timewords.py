"""The words for times that ``timehints`` reads: English, German, Spanish, French."""

from __future__ import annotations

_UNIT_WORDS = {
    "day": "day days tag tage tagen día días dia dias jour jours",
    "week": "week weeks woche wochen semana semanas semaine semaines",
    "weekend": "weekend weekends wochenende",
    "month": "month months monat monate monaten mes meses mois",
    "quarter": "quarter quarters quartal quartale quartalen trimestre",
    "year": "year years jahr jahre jahren año años an ans année années",
}
UNITS: dict[str, str] = {
    word: unit for unit, words in _UNIT_WORDS.items() for word in words.split()
}

_MONTH_WORDS = (
    "january jan januar jänner enero janvier",
    "february feb februar febrero février fevrier",
    "march mar märz maerz marzo mars",
    "april apr abril avril",
    "may mai mayo",
    "june jun juni junio juin",
    "july jul juli julio juillet",
    "august aug agosto août aout",
    "september sep sept septiembre septembre",
    "october oct oktober okt octubre octobre",
    "november nov noviembre novembre",
    "december dec dezember dez diciembre décembre",
)
MONTHS: dict[str, int] = {
    word: number for number, words in enumerate(_MONTH_WORDS, 1) for word in words.split()
}

_WEEKDAY_WORDS = (
    "monday montag lunes lundi",
    "tuesday dienstag martes mardi",
    "wednesday mittwoch miércoles mercredi",
    "thursday donnerstag jueves jeudi",
    "friday freitag viernes vendredi",
    "saturday samstag sonnabend sábado samedi",
    "sunday sonntag domingo dimanche",
)
WEEKDAYS: dict[str, int] = {
    word: number for number, words in enumerate(_WEEKDAY_WORDS) for word in words.split()
}

NUMBERS: dict[str, int] = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "twelve": 12, "couple of": 2, "a couple of": 2,
    "couple": 2, "few": 3, "a few": 3, "several": 5,
    "einem": 1, "einer": 1, "zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "sechs": 6,
    "un": 1, "una": 1, "dos": 2, "tres": 3, "cuatro": 4, "cinco": 5, "seis": 6,
    "une": 1, "deux": 2, "trois": 3, "quatre": 4, "cinq": 5,
}  # fmt: skip
