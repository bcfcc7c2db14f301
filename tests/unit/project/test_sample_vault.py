"""The sample vault is the demo and the ground of the end-to-end tests: it must hold every kind of
note that DESIGN.md calls ordinary input, byte for byte, on every machine that clones it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
VAULT = ROOT / "tests" / "sample-vault"
QUESTIONS = ROOT / "tests" / "sample-questions.jsonl"

NOTES = {p.relative_to(VAULT).as_posix(): p.read_bytes() for p in sorted(VAULT.rglob("*.md"))}
TEXTS = {name: raw.decode("utf-8-sig") for name, raw in NOTES.items()}
EVERYTHING = "\n".join(TEXTS.values())

FEATURES = {
    "frontmatter aliases": r"(?m)^aliases:",
    "nested frontmatter": r"(?m)^team:\n  backend: ",
    "wikilink in frontmatter": r'(?m)^supersedes: "\[\[',
    "nested tag in frontmatter": r"project/tidepool",
    "tag in the text": r"(?m) #project/tidepool\b",
    "wikilink with alias": r"\[\[[^\]|]+\|[^\]]+\]\]",
    "embed": r"!\[\[[^\]]+#[^\]]+\]\]",
    "callout": r"(?m)^> \[!warning\]",
    "folded callout": r"(?m)^> \[!quote\]-",
    "comment": r"%%.+%%",
    "Setext heading": r"(?m)^\S.*\n={3,}$",
    "Setext subheading": r"(?m)^\S.*\n-{3,}$",
    "hash in a fence": r"(?m)^```sql\n(?:.*\n)*?# this line is not a heading",
    "fence of tildes": r"(?m)^~~~bash",
    "list three deep": r"(?m)^ {8}- ",
    "task list": r"(?m)^- \[x\] ",
    "table": r"(?m)^\| ?-+",
    "block id": r"(?m) \^best-loaf$",
    "Chinese characters": r"[\u4e00-\u9fff]",
    "kana": r"[\u3040-\u30ff]",
    "right-to-left script": r"[\u0600-\u06ff]",
    "emoji": r"🥐",
}


@pytest.mark.parametrize("feature", FEATURES)
def test_holds_every_feature_of_markdown_that_the_design_names(feature: str) -> None:
    assert re.search(FEATURES[feature], EVERYTHING), feature


def test_line_ends_and_marks_survive_a_clone() -> None:
    router = NOTES["Reference/Router.md"]
    assert router.count(b"\n") == router.count(b"\r\n") > 10
    assert NOTES["Reference/Emergency contacts.md"].startswith(b"\xef\xbb\xbf---\n")
    others = [raw for name, raw in NOTES.items() if name != "Reference/Router.md"]
    assert not any(b"\r" in raw for raw in others)


def test_holds_the_odd_notes_too() -> None:
    assert NOTES["Inbox.md"] == b""
    assert TEXTS["People/Ida Brandt.md"].rstrip().endswith("---")
    assert any(len(text) > 4_000 for text in TEXTS.values())
    assert max(text.count("\n| 20") for text in TEXTS.values()) > 30
    assert TEXTS["Reference/Git spells.md"].count("\n## Notes\n") == 2
    assert len(NOTES) >= 28
    assert json.loads((VAULT / ".obsidian" / "app.json").read_text(encoding="utf-8"))


def test_links_lead_somewhere() -> None:
    """The vault reads as one person's notes only if its links can be followed."""
    stems = {Path(name).stem for name in NOTES}
    aliases = set(
        re.findall(r"[^\[\],]+", ",".join(re.findall(r"(?m)^aliases: (.*)$", EVERYTHING)))
    )
    known = stems | {alias.strip() for alias in aliases}
    targets = {t.strip().rsplit("/", 1)[-1] for t in re.findall(r"\[\[([^\]|#]+)", EVERYTHING)}
    assert targets - known == set()


def questions() -> list[dict[str, object]]:
    lines = QUESTIONS.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_questions_point_at_notes_and_headings_that_exist() -> None:
    rows = questions()
    assert len({row["id"] for row in rows}) == len(rows) >= 30
    for row in rows:
        assert set(row) == {"id", "question", "answerable", "gold", "answers"}
        assert bool(row["gold"]) == bool(row["answers"]) == row["answerable"]
        for gold in row["gold"]:  # type: ignore[attr-defined]
            text = TEXTS[gold["file"]]
            if heading := gold.get("heading"):
                atx = re.search(rf"(?m)^#+ {re.escape(heading)}\s*$", text)
                setext = re.search(rf"(?m)^{re.escape(heading)}\n[=-]{{3,}}$", text)
                assert atx or setext, (row["id"], heading)


def test_a_third_of_the_questions_have_no_answer_here() -> None:
    rows = questions()
    unanswerable = sum(not row["answerable"] for row in rows)
    assert len(rows) / 4 < unanswerable <= len(rows) / 2
