"""Past answers through the command line: kept, found, shown, opened, forgotten."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.support.cli import Cli, indexed, make_vault

NOTES = {
    "Home/Boiler.md": "---\ndate: 2024-03-01\n---\n# Boiler\n\n## Service\n\nThe boiler was"
    " serviced by Anna Holm in May.\n\n## Cost\n\nIt cost 210 euros.\n",
    "Bread.md": "# Bread\n\nKnead the dough for ten minutes.\n",
    "Odd.md": "# Odd\n\n## Plan, [draft] **“B”** 🚀\n\nA tent.\n\n## C# > 2 (a)\n\nA book.\n\n"
    "## C\n\nA cap.\n\n# Later\n\n## C\n\nA coat.\n",
}
QUESTION = "Who serviced the boiler in May?"


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """With an editor that writes down what it is told to open."""
    made = indexed(tmp_path, make_vault(tmp_path / "notes", NOTES))
    editor = tmp_path / "vim"
    target = str(tmp_path / "opened")
    editor.write_text(
        f"#!{sys.executable}\nimport json, sys\njson.dump(sys.argv[1:], open({target!r}, 'w'))\n"
    )
    editor.chmod(0o755)
    made.env["EDITOR"] = str(editor)
    return made


def opened(cli: Cli) -> list[str]:
    file = cli.folder / "opened"
    words: list[str] = json.loads(file.read_text())
    file.unlink()
    return words


def test_an_answer_is_looked_up_again_and_its_source_followed(cli: Cli) -> None:
    note = cli.folder / "notes" / "Home" / "Boiler.md"
    asked = cli("ask", "--no-llm", QUESTION, "--open")
    assert asked.code == 0, asked.err
    line, path = opened(cli)
    assert path == str(note) and line.startswith("+")
    above, _, shown_again = cli("show", "last").out.partition("\n")
    assert above.startswith(f"{QUESTION} · ") and shown_again == asked.out
    assert cli("sources", "last").out.startswith("Sources\n")
    shown = cli("show", "1", "--json").json
    (reference, *_) = shown["references"]
    assert (reference["path"], reference["uri"]) == (str(note), note.as_uri())
    assert "Anna Holm" in reference["passage"]
    assert shown["meta"]["id"] == 1 and shown["meta"]["retrieval"]["searched_for"] == QUESTION
    assert "Home/Boiler.md" in cli("sources", "1").out

    as_it_was = cli("source", "1", "1")
    assert as_it_was.code == 0 and "hanged" not in as_it_was.out
    note.write_text("# New\n\n" + NOTES["Home/Boiler.md"].replace("Anna Holm", "Bo Ek"))
    changed = cli("source", "1", "1")
    assert changed.code == 0 and "Changed since it was cited" in changed.out
    assert "-The boiler was serviced by Anna Holm in May." in changed.out
    assert "+The boiler was serviced by Bo Ek in May." in changed.out
    assert cli("open", "1", "1").code == 0
    assert opened(cli)[1] == str(note)
    note.unlink()
    gone = cli("source", "1", "1", "--json")
    assert (gone.code, gone.json["state"]) == (3, "gone")
    assert "Anna Holm" in gone.json["cited"]
    missing = cli("open", "1")
    assert missing.code == 2 and "isn't there any more" in missing.err


def test_a_note_is_opened_at_its_heading(cli: Cli) -> None:
    note = str(cli.folder / "notes" / "Home" / "Boiler.md")
    for name in ("Boiler#Cost", "Home/Boiler.md#boiler#Cost", f"{note}#Cost"):
        assert cli("open", name).code == 0
        assert opened(cli) == ["+10", note]
    as_in_note_or_link = (
        "Plan, [draft] **“B”** 🚀",
        'Plan, draft "B"',
        "C# > 2 (a)",
        "C",
        "Later#C",
    )
    for heading, line in zip(as_in_note_or_link, (3, 3, 7, 11, 17), strict=True):
        assert cli("open", f"Odd#{heading}").code == 0, heading
        assert opened(cli)[0] == f"+{line}", heading
    wrong = cli("open", "Boiler#Kost")
    assert wrong.code == 2 and "Did you mean #Cost?" in wrong.err
    assert cli("search", "knead the dough", "--open", "1").code == 0
    assert opened(cli)[1].endswith("Bread.md")


def test_the_history_outlives_the_catalog_and_is_forgotten_on_demand(cli: Cli) -> None:
    assert cli("history").code == 3
    cli("ask", "--no-llm", QUESTION)
    cli("ask", "--no-llm", "What is the capital of Mongolia?")
    (cli.index_path / "catalog.sqlite3").unlink()
    assert cli("index", "--full").code == 0
    listed = cli("history").out.splitlines()
    assert [line.split()[0] for line in listed] == ["2", "1"]
    newest = cli("history", "-n", "1")
    assert newest.out.splitlines() == listed[:1] and "`--limit 2` lists more" in newest.err
    assert not cli("history", "-n", "2").err
    assert listed[1].endswith(QUESTION)
    found = cli("history", "--search", "ANNA boiler", "--json").json["answers"]
    assert [one["question"] for one in found] == [QUESTION]
    seen = cli("stats").out
    assert "What is the capital of Mongolia?" in seen and "all" in seen
    file = cli.folder / "out.md"
    assert cli("history", "export", str(file)).code == 0
    assert (
        f"## {QUESTION}" in file.read_text()
        and "[[Home/Boiler#Service|Boiler]]" in file.read_text()
    )
    assert cli("history", "export", str(file)).code == 2, "a file that is there is left alone"
    (cli.folder / "link").symlink_to(cli.folder / "notes")
    for place in ("notes", "link"):
        refused = cli("history", "export", str(cli.folder / place / "out.md"))
        assert refused.code == 2 and "never written to" in refused.err
    assert cli("history", "-n", "9" * 20).code == 2
    assert "takes a whole number from 1 to" in cli("history", "-n", "0").err
    assert cli("history", "clear").code == 2, "not without a yes"
    assert "Forgot 2 answers" in cli("history", "clear", "--yes").out
    assert cli("history").code == 3
    assert cli("show", "last").code == 2
