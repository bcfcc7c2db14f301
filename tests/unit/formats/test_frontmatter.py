"""Frontmatter: what a user wrote above the note is found, whatever shape it has."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from ragvault.formats.dates import date_from_path, parse_date
from ragvault.formats.frontmatter import read_frontmatter
from ragvault.formats.markdown import read_markdown
from tests.support.chunking import parsed


def _read(yaml: str):
    return read_frontmatter(["---", *yaml.split("\n"), "---", "body"])


def _noon(year: int, month: int, day: int) -> float:
    return datetime(year, month, day, 12, tzinfo=UTC).timestamp()


def test_every_human_value_is_rendered_and_ids_are_not():
    front = _read(
        "title: Plan\nscore: 4.5\nwhen: 2024-03-01\ndraft: true\nempty:\n"
        "id: 123e4567-e89b-12d3-a456-426614174000\nhash: 9f86d081884c7d659a2feaa0c55ad015\n"
        "url: https://example.org/x?y=1\npeople:\n  - name: Ada\n    role: lead\n  - name: Bob\n"
        "nested:\n  deep:\n    key: value\nlist: [one, two]\n会議: 予算"
    )
    assert front.text.split("\n") == [
        "title: Plan",
        "score: 4.5",
        "when: 2024-03-01",
        "url: https://example.org/x?y=1",
        "people name: Ada, Bob",
        "people role: lead",
        "nested deep key: value",
        "list: one, two",
        "会議: 予算",
    ]
    assert front.lines == (1, 19)


@pytest.mark.parametrize(
    ("yaml", "text"),
    [
        ("up: [[Note]]", "up: Note"),
        ("up: '[[Folder/Note|Shown]]'", "up: Shown"),
        ("up: [[Note|Shown]]", "up: Shown"),
        ("up:\n  - [[A]]\n  - '[[B]]'", "up: A, B"),
        ("up: [[[A]], [[B, C]]]", "up: A, B, C"),
    ],
)
def test_wikilinks_are_found_by_their_text(yaml, text):
    assert _read(yaml).text == text


@pytest.mark.parametrize(
    ("yaml", "tags"),
    [
        ("tags: a, b", ("a", "b")),
        ("tags: [a, b]", ("a", "b")),
        ("tags: a b", ("a", "b")),
        ("tags:\n  - a\n  - b/c", ("a", "b/c")),
        ("tags: '#a'", ("a",)),
        ("tags: #a #b", ("a", "b")),
        ("tag: a\ntags: [A, b]", ("A", "b")),
        ("Tags: [2024, x2024]", ("x2024",)),
        ("tags: [会議/予算]", ("会議/予算",)),
        ("tags:", ()),
    ],
)
def test_tags_in_every_way_that_people_write_them(yaml, tags):
    assert parsed(f"---\n{yaml}\n---\n").tags == tags


def test_aliases_from_both_keys():
    assert parsed("---\naliases: [One, Two]\n---\n").aliases == ("One", "Two")
    assert parsed("---\nalias: One, Two\n---\n").aliases == ("One", "Two")
    assert parsed("---\naliases: ['Smith, John', '[[Two]]']\n---\n").aliases == (
        "Smith, John",
        "Two",
    )


@pytest.mark.parametrize(
    "yaml",
    [
        "title: Foo: bar\ntags: [a, b]",
        "title: Foo: bar\ntags:\n  - a\n  - b",
        'title: "Foo: bar\ntags: a, b',
        "title: Foo: bar\n\tx: y\ntags: a, b",
        "title: Foo: bar\ntags: a, b\nx: @y",
        "title: Foo: bar\nbase: &x 1\nother: *x\ntags: [a, b]",
    ],
)
def test_broken_yaml_warns_and_loses_no_words(yaml):
    note = parsed(f"---\n{yaml}\n---\n# Heading\n")
    assert len(note.warnings) == 1
    assert note.title.strip('"') == "Foo: bar"
    assert note.tags == ("a", "b")
    for word in ("Foo: bar", "tags"):
        assert word in note.frontmatter_text


def test_a_yaml_bomb_costs_nothing():
    bomb = 'a: &a ["lol","lol"]\n' + "".join(
        f"{b}: &{b} [*{a},*{a},*{a},*{a},*{a},*{a},*{a},*{a},*{a}]\n"
        for a, b in zip("abcdefghijk", "bcdefghijkl", strict=True)
    )
    note = parsed(f"---\n{bomb}---\nbody")
    assert len(note.frontmatter_text) < 1000
    assert "more than 10,000 values" in note.warnings[0]


def test_tags_of_yaml_run_nothing():
    front = _read("x: !!python/object/apply:os.system ['echo hacked']\ny: !custom z")
    assert front.warning is None
    assert "y: z" in front.text


@pytest.mark.parametrize(
    "yaml",
    [
        "a: " + "[" * 5000 + "]" * 5000,
        "a: " + "[" * 60_000,
        "a:\n" + "".join(f"{' ' * i}k:\n" for i in range(200)),
    ],
)
def test_deep_nesting_is_a_warning_not_a_crash(yaml):
    assert _read(yaml).warning


def test_too_long_frontmatter_is_kept_as_text():
    front = _read("title: T\nx: " + "word " * 20_000)
    assert front.warning and "longer than" in front.warning
    assert front.text.count("word") == 20_000
    assert front.strings("title") == ["T"]


@pytest.mark.parametrize(
    "text",
    [
        "\n---\ntitle: T\n---\n",
        "---\ntitle: T\n",
        "---\njust words between rules\n---\n",
        "--- \n# Heading\n---\n",
        " ---\ntitle: T\n---\n",
    ],
)
def test_rules_that_open_no_frontmatter_stay_in_the_body(text):
    note = parsed(text)
    assert note.frontmatter_lines is None
    assert note.sections


def test_dots_end_frontmatter_and_duplicates_are_all_kept():
    note = parsed("---\nx: one\nx: two\n...\nbody")
    assert note.frontmatter_lines == (1, 4)
    assert note.frontmatter_text == "x: one, two"


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2024-03-01", (2024, 3, 1)),
        ("2024/3/1", (2024, 3, 1)),
        ("20240301", (2024, 3, 1)),
        ("[[2024-03-01]]", (2024, 3, 1)),
        ("2024-03-01T23:30", (2024, 3, 1)),
        ("March 1, 2024", (2024, 3, 1)),
        ("1st of March 2024", (2024, 3, 1)),
        ("Fri, 1 Mar 2024", (2024, 3, 1)),
        ("1. März 2024", (2024, 3, 1)),
        ("01.03.2024", (2024, 3, 1)),
        ("03/01/2024", (2024, 3, 1)),
        ("13/03/2024", (2024, 3, 13)),
        ("2024年3月1日", (2024, 3, 1)),
        ("1 janv. 2024", (2024, 1, 1)),
        ("24.12.98", (1998, 12, 24)),
        ("2024-W09", (2024, 2, 26)),
        ("2024-03", (2024, 3, 1)),
    ],
)
def test_dates_as_people_write_them(text, day):
    assert parse_date(text) == _noon(*day)


def test_a_time_with_a_zone_is_exact():
    expected = datetime(2024, 3, 1, 8, 30, tzinfo=UTC).timestamp()
    assert parse_date("2024-03-01T10:30:00+02:00") == expected
    assert parse_date("2024-03-01 08:30:00.000Z") == expected
    assert parse_date("1709281800") == expected
    assert parse_date("1709281800000") == expected


@pytest.mark.parametrize(
    "text",
    [
        *("", "soon", "2024-13-45", "12345", "99999999999999999999", "1.2.3"),
        *("5 May 1500", "0001-01-01", "0001-01-01T00:00:00Z"),  # Hugo's "never"
    ],
)
def test_what_is_no_date_gives_none(text):
    assert parse_date(text) is None


@pytest.mark.parametrize(
    ("path", "day"),
    [
        ("daily/2024-03-01.md", (2024, 3, 1)),
        ("2024-03-01 Standup.md", (2024, 3, 1)),
        ("journals/2024_03_01.md", (2024, 3, 1)),
        ("20240301.md", (2024, 3, 1)),
        ("202403011230 Zettel.md", (2024, 3, 1)),
        ("2024-W09.md", (2024, 2, 26)),
        ("2024-03.md", (2024, 3, 1)),
        ("log/2024/03/01.md", (2024, 3, 1)),
        ("log/2024/03-March/01 Friday.md", (2024, 3, 1)),
        ("2024-03-01/notes.md", (2024, 3, 1)),
    ],
)
def test_dates_in_paths(path, day):
    assert date_from_path(path) == _noon(*day)


@pytest.mark.parametrize(
    ("path", "title", "day"),
    [
        ("2024-03.md", "Parents' council, 20 March 2024", (2024, 3, 20)),
        ("2024-W09.md", "Week of 2024-02-28", (2024, 2, 28)),
        ("2024-03.md", "March 2024", (2024, 3, 1)),
        ("2024-02.md", "Before the move of 1 March 2024", (2024, 2, 1)),
        ("2024-W09.md", "Before the move of 20 March 2024", (2024, 2, 26)),
        ("2024-03.md", "Before the move of 1 May 2024", (2024, 3, 1)),
        ("2024-03-01.md", "Back from 20 March 2024", (2024, 3, 1)),
    ],
)
def test_the_day_of_a_month_that_only_the_title_says(path, title, day):
    note = read_markdown(path, f"# {title}\n\nText.", 0.0)
    assert note.date == _noon(*day)


@pytest.mark.parametrize("path", ["note.md", "Room 2024.md", "v1.2.3.md", "12345678901234567.md"])
def test_numbers_in_paths_that_are_no_date(path):
    assert date_from_path(path) is None


def test_the_date_is_the_first_key_that_can_be_read_then_path_then_mtime():
    assert parsed("---\ncreated: 2020-01-01\nupdated: 2024-03-01\n---\n").date == _noon(2024, 3, 1)
    assert parsed("---\ndate: soon\ncreated: 2020-01-01\n---\n").date == _noon(2020, 1, 1)
    assert parsed("---\nx: 1\n---\n", "2024-03-01.md").date == _noon(2024, 3, 1)
    now = time.time()
    assert parsed("text", "note.md", now).date == now


@pytest.mark.parametrize(
    ("yaml", "day"),
    [
        ("source: https://a.org\npublished: 2019-05-06\ncreated: 2024-03-01", (2024, 3, 1)),
        ("published: 2019-05-06\nclipped: 2024-03-01", (2024, 3, 1)),
        ("publishDate: 2024-03-01T10:00:00", (2024, 3, 1)),
        ("published: false\ndate: 2024-03-01 10:00:00 +0000", None),
        ("lastmod: 2024-03-01\npublishdate: 2023-01-01", (2024, 3, 1)),
        ("last_modified_at: 2024-03-01", (2024, 3, 1)),
        ("last_update:\n  author: Ann\n  date: 2024-03-01", (2024, 3, 1)),
        ("creation date: 2020-01-01 10:00\nmodification date: Friday 1st March 2024", (2024, 3, 1)),
        ("date created: 2024-03-01", (2024, 3, 1)),
        ("createdAt: 2024-03-01", (2024, 3, 1)),
        ("start: 2024-03-01\nend: 2024-03-09", (2024, 3, 1)),
        ("start: 09:30\npublished: 2024-03-01", (2024, 3, 1)),
        ("due: 2024-03-01\nend: 2024-03-01", (1970, 1, 1)),
    ],
)
def test_the_dates_of_clippers_and_site_makers_are_read(yaml, day):
    """A clipping would count as written when its file was copied, and "last week" miss it. The day
    on which an article appeared is the last resort, a day that is due none."""
    date = parsed(f"---\n{yaml}\n---\n", "note.md", 43_200.0).date
    assert date == (_noon(*day) if day else datetime(2024, 3, 1, 10, tzinfo=UTC).timestamp())


def test_dendrons_milliseconds_are_a_date():
    date = parsed("---\nid: x\nupdated: 1709287200000\ncreated: 1600000000000\n---\n").date
    assert date == 1_709_287_200
