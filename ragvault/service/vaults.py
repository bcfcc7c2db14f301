"""Vaults: folders of notes that are remembered under a name."""

from __future__ import annotations

import difflib
import os
import re
import shlex
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ragvault.errors import NoIndexError, StoreError, UsageError
from ragvault.formats import reader_for
from ragvault.formats.decoding import NotTextError
from ragvault.model import HeadingPath, VaultInfo
from ragvault.text import normalise, strip_controls
from ragvault.wiring import Container

OBSIDIAN_FOLDER = ".obsidian"
_NEAR = 0.75  # of difflib, from which a name may have been meant: one wrong letter in four


def known_vaults(container: Container, names: Sequence[str] = ()) -> list[VaultInfo]:
    """The remembered vaults, all or the named ones. Raises NoIndexError when there is none at all,
    UsageError for an unknown one."""
    known = {vault.name: vault for vault in container.catalog.vaults()}
    if not known:
        raise NoIndexError("Nothing is indexed yet.")
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UsageError(
            f"There is no vault '{unknown[0]}'.", f"Vaults: {', '.join(sorted(known))}."
        )
    return [known[name] for name in dict.fromkeys(names)] if names else list(known.values())


def keep_out(vaults: Sequence[VaultInfo], target: Path) -> None:
    """Raises UsageError for a file that would lie in a vault, also by a link."""
    place = target.resolve()
    for vault in vaults:
        if place.is_relative_to(vault.path.resolve()):
            raise UsageError(
                f"{target} lies in the vault '{vault.name}', which is never written to.",
                "Choose a place outside.",
            )


def write_new(container: Container, target: Path, text: str) -> None:
    """A file that a person asked for, where none is yet, in a folder that is there. Raises
    UsageError."""
    keep_out(container.files.vaults(), target)
    try:
        with target.open("x", encoding="utf-8") as file:
            try:
                file.write(text)
                file.flush()
            except BaseException:
                target.unlink()
                raise
    except OSError as error:
        raise UsageError(
            f"{target} can't be written: {error.strerror or error}.",
            "Name a new file, in a folder that is there.",
        ) from error


def vaults_at(container: Container, paths: Sequence[Path], name: str | None) -> list[VaultInfo]:
    """The vaults at some folders, known or new. Raises VaultPathError for a folder that can't be
    indexed, UsageError for a name that won't do."""
    from ragvault.ingest.paths import check_vault_path

    known = container.vaults()
    chosen: dict[Path, VaultInfo] = {}
    for given in paths:
        path = check_vault_path(given, container.data_dir, known)
        chosen[path] = _vault_at(path, name, [*known, *chosen.values()])
    return list(chosen.values())


def _vault_at(path: Path, name: str | None, known: Sequence[VaultInfo]) -> VaultInfo:
    for vault in known:
        if _same_folder(vault.path, path):
            if name is not None and vault_name(name) != vault.name:
                raise UsageError(
                    f"{path} is indexed already, as '{vault.name}'.",
                    f"To rename it: `ragvault vault remove {shlex.quote(vault.name)}`, then this "
                    "again; nothing is embedded again.",
                )
            return vault
    wanted = vault_name(path.name if name is None else name)
    taken = next((v for v in known if v.name.lower() == wanted.lower()), None)
    if taken is not None:
        raise UsageError(
            f"There is a vault '{taken.name}' already, at {taken.path}.",
            f"Give this one another name: `ragvault index {shlex.quote(str(path))} --name NAME`.",
        )
    return VaultInfo(wanted, path, kind_of(path))


def kind_of(path: Path) -> str:
    """ "obsidian" for a folder that Obsidian has opened, else "folder"."""
    return "obsidian" if (path / OBSIDIAN_FOLDER).is_dir() else "folder"


def vault_name(name: str) -> str:
    """A vault's name without what would not survive ``vault/folder`` or a terminal. Raises
    UsageError for one that is none."""
    cleaned = " ".join(strip_controls(name).split())
    if not cleaned or "/" in cleaned or "\\" in cleaned or len(cleaned) > 100:
        raise UsageError(
            f"{cleaned[:40]!r} can't be a vault's name." if cleaned else "The vault needs a name.",
            "Choose one of 1 to 100 characters without slashes: --name NAME.",
        )
    return cleaned


def _same_folder(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:  # one of them is gone
        return one == other


def remove_vault(container: Container, name: str) -> list[str]:
    """Forget a vault: its notes' text, chunks and vectors. Returns notices; vectors that can't be
    reached now are dropped if the name is used again."""
    from ragvault.ingest.write import drop_unused

    known_vaults(container, [name])
    with container.lock():
        container.catalog.remove_vault(name)
        container.files.remember_vaults(container.catalog.vaults())
        try:
            drop_unused(container.catalog, container.vectors)
        except StoreError as error:
            return [f"Its vectors could not be dropped from the vector store: {error.message}"]
    return []


def find_note(container: Container, note: str, vaults: tuple[str, ...]) -> tuple[str, str]:
    """The vault and path of the one note that is meant: by its path in the vault or its name, with
    or without the extension, or by where it is on the disk. Raises UsageError for none or
    several."""
    known: list[tuple[str, str]] = []
    roots: dict[str, Path] = {}
    here = Path(note).absolute()
    for vault in known_vaults(container, vaults):
        paths = container.catalog.file_states(vault.name)
        known += [(vault.name, path) for path in paths]
        roots[vault.name] = vault.path
        if here.is_relative_to(vault.path):
            below = unicodedata.normalize("NFC", here.relative_to(vault.path).as_posix())
            if below in paths:
                return vault.name, below
    wanted = normalise(note.strip().strip("/"))
    for spelled in (  # a path before a name
        lambda path: (path,),
        lambda path: (path.rpartition(".")[0],),
        lambda path: (name := path.rpartition("/")[2], name.rpartition(".")[0]),
    ):
        meant = [one for one in known if wanted in map(normalise, spelled(one[1]))]
        if len(meant) == 1:
            return meant[0]
        if meant:  # a path in the vault may be one in each
            is_one = len({vault for vault, _ in meant}) == 1
            places = sorted(path if is_one else str(roots[vault] / path) for vault, path in meant)
            raise UsageError(
                f"Several notes are called {note!r}.",
                f"Name one by its path: {', '.join(places[:5])}.",
            )
    for root in roots.values():
        _refuse_left_out(container, root, note.strip())
    names = {normalise(path.rpartition("/")[2].rpartition(".")[0]): path for _, path in known}
    near = difflib.get_close_matches(wanted.rpartition("/")[2], names, n=1, cutoff=_NEAR)
    hint = f"Did you mean {names[near[0]]}?" if near else "Give its path in the vault."
    raise UsageError(f"There is no note {note!r} in the index.", hint)


def _refuse_left_out(container: Container, root: Path, note: str) -> None:
    """Raises UsageError for a file of the vault that ``index`` passes over, with the reason."""
    from ragvault.ingest.walk import walk

    file = root / note  # an absolute path is itself
    # Path.is_file raises for too long a name.
    if not (file.is_relative_to(root) and os.path.isfile(file)):  # noqa: PTH113
        return
    path = file.relative_to(root).as_posix()
    for skipped in walk(root, container.settings.index).skipped:
        if path == skipped.path or (skipped.path[-1] == "/" and path.startswith(skipped.path)):
            raise UsageError(
                f"{path} isn't in the index. {skipped.path}: {skipped.reason}.",
                "Let it in there, then run `ragvault index`.",
            )


def find_place(container: Container, wanted: str) -> tuple[str, str, HeadingPath, int]:
    """Vault, path, heading and line, from 1, of ``NOTE`` or ``NOTE#Heading``, in the file as it is
    today. Raises UsageError for a note or heading that isn't there."""
    from ragvault.service.originals import content_of, on_disk

    note, _, heading = wanted.partition("#")
    vault, rel_path = find_note(container, note, ())
    if not heading:
        return vault, rel_path, (), 1
    (info,) = known_vaults(container, [vault])
    sections = None
    if (content := content_of(on_disk(info.path, rel_path), container.settings.index)) is not None:
        with suppress(NotTextError):
            sections = reader_for(rel_path)(rel_path, content.data, 0.0).sections
    if sections is None:
        raise UsageError(f"{rel_path} can't be read.", "`ragvault index` follows it.")
    named = {
        form(" ".join(section.heading_path[start:])): section
        for form in (_words, normalise)
        for section in reversed(sections)
        for start in range(len(section.heading_path))
    }
    found = named.get(normalise(heading)) or named.get(_words(heading))
    if found is None:
        near = difflib.get_close_matches(_words(heading), named, n=1, cutoff=_NEAR)
        hint = f"Did you mean #{named[near[0]].heading_path[-1]}?" if near else "Leave it out."
        raise UsageError(f"There is no heading {heading!r} in {rel_path}.", hint)
    return vault, rel_path, found.heading_path, found.start_line


def _words(heading: str) -> str:
    """Whatever marks stand between them in the note, a link or a citation."""
    return " ".join(re.findall(r"\w+", normalise(heading)))
