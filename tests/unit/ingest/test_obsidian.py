"""What a vault's Obsidian settings leave out, and how its daily notes are dated."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ragvault.config.settings import IndexSettings
from ragvault.ingest.obsidian import read_settings
from ragvault.ingest.walk import walk


def vault(root: Path, settings: dict[str, Any], *notes: str) -> Path:
    for name, value in settings.items():
        file = root / ".obsidian" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(value if isinstance(value, str) else json.dumps(value))
    for note in notes:
        file = root / note
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("text")
    return root


def test_excluded_files_and_templates_are_no_notes(tmp_path: Path) -> None:
    """A template's "{{date}}: I met …" would be quoted as an answer."""
    root = vault(
        tmp_path,
        {
            "app.json": {"userIgnoreFilters": ["Archive/", "README.md", "/draft-\\d+/"]},
            "templates.json": {"folder": "Templates"},
            "plugins/templater-obsidian/data.json": {"templates_folder": "/Meta/Templater/"},
        },
        "a.md", "Archive/old.md", "README.md", "sub/README.md", "x/draft-12.md", "x/draft.md",
        "Templates/day.md", "Templates and more.md", "Meta/Templater/t.md", "Meta/m.md",
    )  # fmt: skip
    found = walk(root, IndexSettings())
    assert [file.rel_path for file in found.files] == [
        "Meta/m.md", "Templates and more.md", "a.md", "sub/README.md", "x/draft.md",
    ]  # fmt: skip
    reasons = {skipped.path: skipped.reason for skipped in found.skipped}
    assert reasons["Archive/"] == "ignored by .obsidian/app.json (excluded files)"
    assert reasons["Templates/"] == "ignored by .obsidian/templates.json (templates)"
    assert set(reasons) == {
        "Archive/", "README.md", "x/draft-12.md", "Templates/", "Meta/Templater/",
    }  # fmt: skip


@pytest.mark.parametrize(
    "app", ["not json", "[]", '{"userIgnoreFilters": {"a": 1}}', '{"userIgnoreFilters": [3, ""]}']
)
def test_settings_that_make_no_sense_leave_nothing_out(tmp_path: Path, app: str) -> None:
    root = vault(tmp_path, {"app.json": app, "templates.json": {"folder": ""}}, "a.md")
    assert [file.rel_path for file in walk(root, IndexSettings()).files] == ["a.md"]


def test_a_bad_pattern_is_named(tmp_path: Path) -> None:
    root = vault(tmp_path, {"app.json": {"userIgnoreFilters": ["/(/"]}}, "a.md")
    found = walk(root, IndexSettings())
    assert [file.rel_path for file in found.files] == ["a.md"]
    assert "is not a pattern" in found.skipped[0].reason


@pytest.mark.parametrize(
    ("form", "folder", "path", "day"),
    [
        ("DD-MM-YYYY", "Journal", "Journal/03-04-2025.md", "2025-04-03"),
        ("DD-MM-YYYY", "Journal", "Elsewhere/03-04-2025.md", None),
        ("YYYY/MM/[Day] D", "", "2025/04/Day 3.md", "2025-04-03"),
        ("D. MMMM YYYY", "", "3. März 2025.md", "2025-03-03"),
        ("dddd Do MMM YY", "Log", "Log/Thursday 3rd Apr 25.md", "2025-04-03"),
        ("YYYYMMDD", "", "20250431.md", None),
        ("MM-DD", "", "04-03.md", None),
        ("YYYY/YYYY-MM-DD", "", "2025/2024-04-03.md", None),
        ("gggg/[W]ww/YYYY-MM-DD", "", "2025/W01/2024-12-30.md", "2024-12-30"),
        ("GGGG/MM-DD", "", "2025/04-03.md", "2025-04-03"),
        ("gggg-[W]ww", "", "2025-W14.md", None),
    ],
)
def test_daily_notes_are_dated_by_their_format(
    tmp_path: Path, form: str, folder: str, path: str, day: str | None
) -> None:
    root = vault(tmp_path, {"daily-notes.json": {"format": form, "folder": folder}})
    found = read_settings(root, lambda *_: None).day_of(path)
    assert (found and datetime.fromtimestamp(found, UTC).date().isoformat()) == day


def test_periodic_notes_have_formats_of_their_own(tmp_path: Path) -> None:
    data = {"daily": {"format": "DD.MM.YYYY"}}
    root = vault(tmp_path, {"plugins/periodic-notes/data.json": data})
    found = read_settings(root, lambda *_: None).day_of("24.12.2025.md")
    assert found and datetime.fromtimestamp(found, UTC).date().isoformat() == "2025-12-24"
