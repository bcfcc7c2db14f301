"""Times in words. A wrong window hides the note that was asked for; an invented one reorders
an answer for no reason."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as st

from ragvault.errors import UsageError
from ragvault.retrieval.question.timehints import find_hint, parse_when

NOW = datetime(2024, 5, 15, 10, 30)  # a Wednesday


def window(text: str, now: datetime = NOW) -> tuple[str, str] | None:
    """First and last day of the hint, as dates."""
    hint = find_hint(text, now)
    if hint is None:
        return None
    days = [datetime.fromtimestamp(t, now.tzinfo).date() for t in (hint.since, hint.until)]
    return days[0].isoformat(), days[1].isoformat()


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("what did I do today?", "2024-05-15", "2024-05-15"),
        ("yesterday's meeting", "2024-05-14", "2024-05-14"),
        ("the day before yesterday", "2024-05-13", "2024-05-13"),
        ("qui j'ai vu hier", "2024-05-14", "2024-05-14"),
        ("this week", "2024-05-13", "2024-05-19"),
        ("What did I decide last week about the API?", "2024-05-01", "2024-05-15"),
        ("last month", "2024-04-01", "2024-04-30"),
        ("last quarter", "2024-01-01", "2024-03-31"),
        ("last year", "2023-01-01", "2023-12-31"),
        ("past year", "2023-05-15", "2024-05-15"),
        ("past 3 days", "2024-05-12", "2024-05-15"),
        ("in the last two months", "2024-03-15", "2024-05-15"),
        ("over the past few weeks", "2024-04-24", "2024-05-15"),
        ("3 days ago", "2024-05-12", "2024-05-12"),
        ("2 weeks ago", "2024-04-28", "2024-05-04"),
        ("a year ago", "2023-01-01", "2023-12-31"),
        ("two months ago", "2024-03-01", "2024-03-31"),
        ("last weekend", "2024-05-11", "2024-05-12"),
        ("last Monday", "2024-05-13", "2024-05-13"),
        ("on Wednesday", "2024-05-08", "2024-05-08"),
        ("in March", "2024-03-01", "2024-03-31"),
        ("in June", "2023-06-01", "2023-06-30"),
        ("in may", "2024-05-01", "2024-05-31"),
        ("in March 2022", "2022-03-01", "2022-03-31"),
        ("Mar 2022", "2022-03-01", "2022-03-31"),
        ("in 2023", "2023-01-01", "2023-12-31"),
        ("my goals 2023", "2023-01-01", "2023-12-31"),
        ("Q1 2024", "2024-01-01", "2024-03-31"),
        ("in Q4", "2023-10-01", "2023-12-31"),
        ("2024-03-01", "2024-03-01", "2024-03-01"),
        ("2024-03", "2024-03-01", "2024-03-31"),
        ("on 3 March", "2024-03-03", "2024-03-03"),
        ("March 3rd, 2021", "2021-03-03", "2021-03-03"),
        ("on 29 February", "2024-02-29", "2024-02-29"),
        ("01.03.2024", "2024-03-01", "2024-03-01"),
        ("since May", "2024-05-01", "2024-05-15"),
        ("since March 2023", "2023-03-01", "2024-05-15"),
        ("since last Monday", "2024-05-13", "2024-05-15"),
        ("after June 2023", "2023-07-01", "2024-05-15"),
        ("before 2023", "1970-01-02", "2022-12-31"),
        ("until 2022", "1970-01-02", "2022-12-31"),
        ("between March and May 2024", "2024-03-01", "2024-05-31"),
        ("between March and May 2023", "2023-03-01", "2023-05-31"),
        ("between March and July", "2023-03-01", "2023-07-31"),
        ("between November and January", "2023-11-01", "2024-01-31"),
        ("between November 2022 and January", "2022-11-01", "2023-01-31"),
        ("between July 2022 and March", "2022-07-01", "2023-03-31"),
        ("between May 2023 and July 2022", "2022-07-01", "2023-05-31"),
        ("from 2022 until March", "2022-01-01", "2024-03-31"),
        ("today or last week", "2024-05-01", "2024-05-15"),
        ("in March and April", "2024-03-01", "2024-04-30"),
        ("zwischen Februar und April", "2024-02-01", "2024-04-30"),
        ("entre febrero y abril", "2024-02-01", "2024-04-30"),
        ("entre mars et avril", "2024-03-01", "2024-04-30"),
        ("entre janvier et mars", "2024-01-01", "2024-03-31"),
        ("tra marzo e aprile", "2024-03-01", "2024-04-30"),
        ("entre março e abril", "2024-03-01", "2024-04-30"),
        ("tussen maart en april", "2024-03-01", "2024-04-30"),
        ("from 2021 to 2023", "2021-01-01", "2023-12-31"),
        ("was habe ich letzte Woche entschieden?", "2024-05-01", "2024-05-15"),
        ("vor zwei Wochen", "2024-04-28", "2024-05-04"),
        ("im März 2024", "2024-03-01", "2024-03-31"),
        ("3. März 2024", "2024-03-03", "2024-03-03"),
        ("la semana pasada", "2024-05-01", "2024-05-15"),
        ("hace 3 días", "2024-05-12", "2024-05-12"),
        ("en marzo de 2024", "2024-03-01", "2024-03-31"),
        ("la semaine dernière", "2024-05-01", "2024-05-15"),
        ("il y a 3 jours", "2024-05-12", "2024-05-12"),
        ("en mars", "2024-03-01", "2024-03-31"),
        ("che cosa ho fatto ieri?", "2024-05-14", "2024-05-14"),
        ("le note della settimana scorsa", "2024-05-01", "2024-05-15"),
        ("due giorni fa", "2024-05-13", "2024-05-13"),
        ("lunedì scorso", "2024-05-13", "2024-05-13"),
        ("o que fiz ontem?", "2024-05-14", "2024-05-14"),
        ("no mês passado", "2024-04-01", "2024-04-30"),
        ("há três meses", "2024-02-01", "2024-02-29"),
        ("segunda-feira passada", "2024-05-13", "2024-05-13"),
        ("wat deed ik gisteren?", "2024-05-14", "2024-05-14"),
        ("vorige maand", "2024-04-01", "2024-04-30"),
        ("twee dagen geleden", "2024-05-13", "2024-05-13"),
        ("in maart 2024", "2024-03-01", "2024-03-31"),
    ],
)
def test_a_time_that_is_named_is_understood(text: str, first: str, last: str) -> None:
    assert window(text) == (first, last)


@pytest.mark.parametrize(
    "text",
    [
        "it may fail",
        "was steht hier",
        "this may be a problem",
        "3 may fail",
        "march on",
        "life on mars",
        "the long march",
        "the second thing",
        "2024 items in the list",
        "of 2024 items",
        "version 2024.1",
        "v2024",
        "CVE-2024-1234",
        "Visual Studio 2022",
        "port 2024",
        "in 1946",
        "in 2024.5 seconds",
        "the last week of the trip",
        "the last day",
        "left, right and march",
        "Monday standup template",
        "what has to be done by friday",
        "january's budget",
        "who is april kepner",
        "the year of the cat",
        "Q1 was the first question",
        "what is 3-4-2024",
        "recent developments",
        "99.99.2024",
        "what does /yesterday do?",
        "what is in ~/notes/today?",
        "what does `last week` mean in a filter?",
        'where is the note "Review of last month"?',
        "what is the 'today' command for",
        "wozu ist „gestern“ gut?",
    ],
)
def test_words_that_only_look_like_a_time_are_none(text: str) -> None:
    assert find_hint(text, NOW) is None


def test_a_question_that_is_quoted_whole_and_a_possessive_hide_no_time() -> None:
    assert window('"What did I do yesterday?"') == ("2024-05-14", "2024-05-14")
    assert window("Anna's talk today, Ben's too") == ("2024-05-15", "2024-05-15")
    assert window("what did `ls -l` print yesterday?") == ("2024-05-14", "2024-05-14")


def test_words_that_count_from_today_are_relative() -> None:
    found = find_hint("What did I decide last week about the API?", NOW)
    assert found is not None
    assert (found.phrase, found.relative) == ("last week", True)


def test_a_day_is_the_users_day_across_the_change_of_the_clocks() -> None:
    """31 March 2024 has 23 hours in Berlin: its note must not fall out of its own day."""
    berlin = ZoneInfo("Europe/Berlin")
    found = find_hint("yesterday", datetime(2024, 4, 1, 9, tzinfo=berlin))
    assert found is not None
    hint = found
    assert hint.since == datetime(2024, 3, 31, tzinfo=berlin).timestamp()
    assert hint.until - hint.since == pytest.approx(23 * 3600, abs=1)


@given(st.text(max_size=80), st.datetimes(datetime(1999, 1, 1), datetime(2090, 1, 1)))
def test_any_text_is_read_without_a_failure(text: str, now: datetime) -> None:
    found = find_hint(text, now)
    assert found is None or found.since < found.until


@given(
    st.integers(0, 9999),
    st.sampled_from(["days", "weeks", "months", "years"]),
    st.datetimes(datetime(1999, 1, 1), datetime(2090, 1, 1)),
)
def test_any_count_of_units_back_is_a_time(count: int, unit: str, now: datetime) -> None:
    """ "9999 years ago" is nonsense, but no reason to crash; it ends at 1970."""
    moment = parse_when(f"{count} {unit}", now, end=False)
    assert datetime(1969, 12, 31).timestamp() <= moment <= now.timestamp()


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("2 weeks", "2024-05-01T00:00", "2024-05-01T23:59"),
        ("2 weeks ago", "2024-05-01T00:00", "2024-05-01T23:59"),
        ("3d", "2024-05-12T00:00", "2024-05-12T23:59"),
        ("6m", "2023-11-15T00:00", "2023-11-15T23:59"),
        ("1y", "2023-05-15T00:00", "2023-05-15T23:59"),
        ("12h", "2024-05-14T22:30", "2024-05-14T22:30"),
        ("now", "2024-05-15T10:30", "2024-05-15T10:30"),
        ("yesterday", "2024-05-14T00:00", "2024-05-14T23:59"),
        ("last monday", "2024-05-13T00:00", "2024-05-13T23:59"),
        ("monday", "2024-05-13T00:00", "2024-05-13T23:59"),
        ("last week", "2024-05-06T00:00", "2024-05-12T23:59"),
        ("march", "2024-03-01T00:00", "2024-03-31T23:59"),
        ("march 2024", "2024-03-01T00:00", "2024-03-31T23:59"),
        ("2024", "2024-01-01T00:00", "2024-12-31T23:59"),
        ("2024-03", "2024-03-01T00:00", "2024-03-31T23:59"),
        ("2024-03-01", "2024-03-01T00:00", "2024-03-01T23:59"),
        ("2024-03-01T10:00", "2024-03-01T10:00", "2024-03-01T10:00"),
        (" 2024-03-01  10:00 ", "2024-03-01T10:00", "2024-03-01T10:00"),
    ],
)
def test_since_and_until_take_dates_and_words(text: str, since: str, until: str) -> None:
    """``--until 2024-03`` includes the notes of the 31st."""
    read = [datetime.fromtimestamp(parse_when(text, NOW, end)) for end in (False, True)]
    assert [moment.isoformat()[:16] for moment in read] == [since, until]


@pytest.mark.parametrize(
    "text",
    [
        *("", "nonsense", "5", "next week", "2024-13-40", "the API", "may fail", "2024 items"),
        *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"),
    ],
)
def test_a_since_that_is_no_time_says_what_is(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_when(text, NOW, end=False)
    assert caught.value.exit_code == 2
    assert "2024-03-01" in caught.value.hint


def test_since_3_days_holds_a_note_dated_that_noon() -> None:
    """Notes with a bare date are dated at noon UTC; the whole day has to count."""
    moment = parse_when("3d", NOW, end=False)
    assert moment <= (NOW - timedelta(days=3)).replace(hour=12).timestamp()
