"""Links from a source to the note: ``obsidian://`` for an Obsidian vault, else ``file://``.

Obsidian's scheme: https://help.obsidian.md/Extending+Obsidian/Obsidian+URI (``open`` with
``vault``, the name of the vault's folder, and ``file``, the path in it, ``#`` and a heading
after it).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

from ragvault.model import HeadingPath, VaultInfo

# What Obsidian leaves out of a heading when it makes a link to it.
_NOT_IN_ANCHORS = str.maketrans(dict.fromkeys("#|^:%[]\\", " "))


class Links:
    """Makes the link of a place in a note. ``mode`` is the setting ``output.links``."""

    def __init__(self, vaults: Iterable[VaultInfo], mode: str = "auto") -> None:
        self._vaults = {vault.name: vault for vault in vaults}
        self._mode = mode

    def uri(self, vault: str, rel_path: str, heading_path: HeadingPath = ()) -> str | None:
        """None when links are off or the vault isn't known."""
        info = self._vaults.get(vault)
        if info is None or self._mode == "off":
            return None
        kind = self._mode if self._mode != "auto" else info.kind
        if kind == "obsidian":
            return obsidian_uri(info.path, rel_path, heading_path)
        return file_uri(info.path, rel_path)


def obsidian_uri(root: Path, rel_path: str, heading_path: HeadingPath = ()) -> str:
    """Opens the note at its heading. Obsidian knows a vault by its folder's name."""
    file = rel_path.removesuffix(".md")
    if heading_path:
        file += "#" + " ".join(heading_path[-1].translate(_NOT_IN_ANCHORS).split())
    return f"obsidian://open?vault={_quoted(root.name)}&file={_quoted(file)}"


def file_uri(root: Path, rel_path: str) -> str:
    """``file:///…`` of the note as the file system spells its name."""
    return on_disk(root, rel_path).absolute().as_uri()


def on_disk(root: Path, rel_path: str) -> Path:
    """The note's real path: ``rel_path`` is NFC, the name on disk may be NFD (Linux keeps it so).

    Looks into the folder only when the NFC spelling isn't there; linear in its entries then.
    """
    direct = root / rel_path
    if _is_there(direct) or rel_path.isascii():
        return direct
    current = root
    for part in Path(rel_path).parts:
        current = current / _spelling(current, part)
    return current


def _spelling(folder: Path, name: str) -> str:
    if _is_there(folder / name):
        return name
    try:
        names = [entry.name for entry in folder.iterdir()]
    except OSError:  # gone since it was indexed: the link shows where it was
        return name
    return next((n for n in names if unicodedata.normalize("NFC", n) == name), name)


def _quoted(text: str) -> str:
    return quote(text.encode("utf-8", "surrogateescape"), safe="")


def _is_there(path: Path) -> bool:
    """False also where one may not look: the link is shown then as it was indexed."""
    try:
        return path.exists()
    except OSError:
        return False
