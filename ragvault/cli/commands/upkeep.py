"""``status`` and ``doctor``: what there is, and each part tried; ``verify`` and ``repair``: whether
the index is what it should be, and making it so; ``backup`` and ``restore``: it in one file."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from ragvault.cli.group import command_app
from ragvault.cli.options import JSON, argument, flag
from ragvault.cli.render.index import IndexView
from ragvault.cli.render.layout import size_of
from ragvault.cli.render.status import print_check, print_findings, print_status
from ragvault.cli.render.terminal import print_json
from ragvault.cli.session import Session
from ragvault.service import upkeep as service
from ragvault.service.doctor import examine, is_well
from ragvault.service.json_objects import status_object
from ragvault.service.status import status as look

app = command_app()


@app.command("status")
def status(session: Session, as_json: bool = JSON) -> None:
    """Coverage is the share of the notes on disk that are indexed as they are now. Nothing is
    loaded, only new notes are opened. Exits with 0 also when nothing is indexed yet."""
    seen = look(session.container, session.loaded.file)
    if as_json:
        print_json(status_object(seen))
    else:
        print_status(session.out, seen)


@app.command("doctor")
def doctor(session: Session, as_json: bool = JSON) -> int:
    """Loads the model, opens both stores, reads the vault folders, asks Ollama for a word. Exits
    with 1 when a part that is needed fails."""
    checks = []
    for check in examine(session.container, session.loaded.file):
        checks.append(check)
        if not as_json:
            print_check(session.out, check)
    if as_json:
        print_json({"ok": is_well(checks), "checks": checks})
    return 0 if is_well(checks) else 1


@app.command("verify")
def verify(
    session: Session,
    quick: bool = flag("--quick", "Go by sizes, times and counts; open no note."),
    as_json: bool = JSON,
) -> int:
    """Reads every note, passage and vector and names what is missing, orphaned or differs. Writes
    nothing. Exits with 1 when anything is found."""
    found = list(service.verify(session.container, quick=quick))
    if as_json:
        print_json({"sound": not found, "findings": found})
    else:
        print_findings(session.out, found)
    return 1 if found else 0


@app.command("repair")
def repair(session: Session, as_json: bool = JSON) -> int:
    """A damaged catalog is set aside and made again from the notes, with the embeddings that are
    still sound; vectors are filled from the catalog. What has no embedding any more is embedded.
    Notes are never written to. Exits with 1 when something remains."""
    view = IndexView(session, as_json=False, quiet=as_json)
    found: list[service.Finding] = []
    remaining: tuple[service.Finding, ...] = ()
    with closing(service.repair(session.container)) as events:
        for event in events:
            if isinstance(event, tuple):
                remaining = event
            elif isinstance(event, service.Finding):
                found.append(event)
                if not as_json:
                    print_findings(session.out, [event])
            else:
                view.show(event)
    if as_json:
        print_json({"sound": not remaining, "findings": remaining, "found": found})
    else:
        print_findings(session.out, remaining)
    return 1 if remaining else 0


@app.command("backup")
def backup(session: Session, file: Path = argument("FILE", "The file to write.")) -> None:
    """It holds passages, embeddings, the history and the vaults' names: all that isn't made again
    in seconds. Others may use the index meanwhile. A backup that is there already is replaced.
    The notes, the configuration and models are not in it."""
    made, vaults, size = service.back_up(session.container, file)
    names = ", ".join(f"'{vault.name}'" for vault in vaults)
    session.out.print(f"Index of {names} written: {made}, {size_of(size)}.")


@app.command("restore")
def restore(session: Session, file: Path = argument("FILE", "A file that backup wrote.")) -> None:
    """The index that is there is set aside, not deleted; a newer history stays. A file that isn't
    whole is refused, and nothing is changed then. `ragvault index` brings it up to date; nothing
    is embedded again."""
    vaults, kept = service.restore(session.container, file)
    if kept is not None:
        session.notices([f"The index that was there is in {kept}; delete it at will."])
    names = ", ".join(f"'{vault.name}'" for vault in vaults)
    session.out.print(f"Index of {names} restored. `ragvault index` brings it up to date.")
