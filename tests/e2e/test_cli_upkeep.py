"""verify, repair, backup, restore: what a person types, and a script reads."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.support.cli import indexed, make_vault

NOTES = {"boats.md": "# Boats\n\nThe ferry leaves at nine.\n", "pump.md": "# Pump\n\nOiled.\n"}


def test_an_index_is_verified_mended_backed_up_and_restored(tmp_path: Path) -> None:
    cli = indexed(tmp_path, make_vault(tmp_path / "notes", NOTES))
    assert cli("verify").code == 0
    saved = cli("backup", str(tmp_path / "own.zip"))
    assert saved.code == 0 and "Index of 'notes' written" in saved.out

    with closing(sqlite3.connect(cli.index_path / "catalog.sqlite3")) as connection:
        connection.execute("UPDATE chunk SET text = replace(text, 'nine', 'five')")
        connection.commit()
    asked = cli("ask", "--no-llm", "When does the ferry leave?")
    assert asked.code == 1 and "ragvault repair" in asked.err and "five" not in asked.out
    found = cli("verify", "--json")
    assert found.code == 1 and found.json["sound"] is False
    (finding,) = found.json["findings"]
    assert (finding["part"], finding["kind"]) == ("catalog", "damaged")
    mended = cli("repair")
    assert mended.code == 0 and "catalog.sqlite3.damaged-1" in mended.err
    assert "2 added" in mended.out and "sound and agree" in mended.out
    assert "nine" in cli("ask", "--no-llm", "When does the ferry leave?").out

    restored = cli("restore", str(tmp_path / "own.zip"))
    assert restored.code == 0 and "before-restore-1" in restored.err
    assert "Index of 'notes'" in restored.out and "ragvault index" in restored.out
    next_step = cli("verify").out
    assert "ragvault index" in next_step and "ragvault repair" not in next_step
    assert cli("index").code == 0
    assert cli("verify", "--quick").code == 0
    refused = cli("restore", str(tmp_path / "notes" / "boats.md"))
    assert refused.code == 2 and "isn't a backup" in refused.err
    assert cli("backup", str(tmp_path / "notes" / "own.zip")).code == 2
