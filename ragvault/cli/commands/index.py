"""``ragvault index``: bring vaults up to date, once or for as long as it watches."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragvault.cli.group import command_app
from ragvault.cli.options import ConfigOption, JsonOption, VaultOption

if TYPE_CHECKING:
    from ragvault.cli.session import Session
    from ragvault.errors import VaultPathError
    from ragvault.model import IndexReport, VaultInfo
    from ragvault.ports import Progress

app = command_app()


def _folder(given: str) -> Path:
    """An empty word (`ragvault index "$UNSET"`) must not mean the current folder."""
    if not given.strip():
        from ragvault.errors import VaultPathError

        raise VaultPathError("The path of the vault is empty.")
    return Path(given)


@app.command()
def index(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="PATH", help="Folders of notes.", show_default=False, parser=_folder
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="NAME",
            help="Name of a new vault (else its folder's name).",
            show_default=False,
        ),
    ] = None,
    vault: VaultOption = None,
    full: Annotated[
        bool, typer.Option("--full", help="Read every note again and rebuild the vectors.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be done; write nothing.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on, and follow changes until Ctrl-C (exit 0).")
    ] = False,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> int:
    """Index a folder of notes, or refresh what is indexed.

    The first time, give the folder: it is remembered under its name. Later `ragvault index`
    alone refreshes every vault, reading only what changed. Notes are never written to.
    """
    from ragvault.cli.session import Session
    from ragvault.errors import StoreDamagedError, UsageError

    if watch and (as_json or dry_run):
        other = "--json" if as_json else "--dry-run"
        raise UsageError(f"--watch and {other} don't go together.", "Leave out one of them.")
    with Session.open(config) as session:
        run = IndexRun(session, full=full, dry_run=dry_run, as_json=as_json)
        go = run.watch if watch else run.once
        try:
            return go(run.choose(paths or [], name, vault or []))
        except StoreDamagedError:
            if not full or dry_run:
                raise
            return go(run.anew(paths or [], name, vault or []))


class IndexRun:
    """One ``index`` command."""

    def __init__(self, session: Session, *, full: bool, dry_run: bool, as_json: bool) -> None:
        self.session = session
        self.full = full
        self.dry_run = dry_run
        self.as_json = as_json
        self.reports: list[IndexReport] = []
        self.failures: list[tuple[VaultInfo, VaultPathError]] = []

    def choose(self, paths: list[Path], name: str | None, names: list[str]) -> list[VaultInfo]:
        """The vaults to work on. Raises UsageError, VaultPathError or NoIndexError."""
        from ragvault.errors import UsageError
        from ragvault.service.vaults import known_vaults, vaults_at

        container = self.session.container
        if paths and names:
            raise UsageError("Give folders or --vault, not both.", "Run `ragvault index --help`.")
        if not paths:
            if name is not None:
                raise UsageError("--name needs the folder that it names.")
            return known_vaults(container, names)
        if name is not None and len(paths) > 1:
            raise UsageError("--name names one folder; index them one by one.")
        chosen, notices = vaults_at(container, paths, name)
        self.session.notices(notices)
        return chosen

    def anew(self, paths: list[Path], name: str | None, names: list[str]) -> list[VaultInfo]:
        """As ``choose``, once the catalog turned out to be damaged: it is set aside, and what it
        still knows of its vaults is taken over. Raises NoIndexError if that is too little."""
        from ragvault.errors import NoIndexError
        from ragvault.service.vaults import known_vaults

        container = self.session.container
        self.reports, self.failures = [], []
        with container.lock():
            kept, vaults = container.set_catalog_aside()
            for vault in vaults:
                container.new_catalog.add_vault(vault)
        self.session.notices([f"The damaged index was set aside as {kept}; a new one is made."])
        if paths:
            return self.choose(paths, name, names)
        if not vaults:
            raise NoIndexError(
                "The damaged index doesn't say any more which folders were in it.",
                "Index them again: `ragvault index PATH`.",
            )
        return known_vaults(container, names)

    def once(self, vaults: list[VaultInfo]) -> int:
        self._sync_all(vaults)
        if self.as_json:
            from ragvault.cli.render.terminal import print_json
            from ragvault.service.objects import index_object

            print_json(index_object(self.reports, self.failures))
        else:
            self._print_failures()
        return self.failures[0][1].exit_code if self.failures else 0

    def watch(self, vaults: list[VaultInfo]) -> int:
        """First everything, then what changes. Ctrl-C ends it, as it should: exit code 0."""
        from ragvault.service import index

        session = self.session
        self._sync_all(vaults)
        self._print_failures()
        names = ", ".join(vault.name for vault in vaults)
        session.notices([f"Watching {names}. Ctrl-C ends it."])
        index.watch(session.container, vaults, self._refresh, lambda line: session.notices([line]))
        session.notices(["Stopped watching."])
        return 0

    def _refresh(self, vault: VaultInfo) -> None:
        """One vault changed: a line if something came of it."""
        from ragvault.cli.render.index import has_news
        from ragvault.service import index

        container = self.session.container
        with container.lock():
            report = index.sync(container, vault, progress=self._progress())
        if has_news(report):
            self._show(report)

    def _sync_all(self, vaults: list[VaultInfo]) -> None:
        """A vault whose folder is out of reach doesn't keep the others from being refreshed."""
        from contextlib import nullcontext

        from ragvault.errors import VaultPathError
        from ragvault.service import index

        progress = self._progress()
        container = self.session.container
        with nullcontext() if self.dry_run else container.lock():
            for vault in vaults:
                try:
                    report = index.sync(
                        container, vault, full=self.full, dry_run=self.dry_run, progress=progress
                    )
                except VaultPathError as error:
                    if len(vaults) == 1:
                        raise
                    self.failures.append((vault, error))
                    continue
                self._show(report)

    def _show(self, report: IndexReport) -> None:
        self.reports.append(report)
        self.session.notices(report.notices)
        if not self.as_json:
            from ragvault.cli.render.index import print_report

            print_report(self.session.out, report)
            self.session.out.flush()

    def _print_failures(self) -> None:
        from ragvault.cli.render.layout import hanging
        from ragvault.text import strip_controls

        err = self.session.err
        for vault, error in self.failures:
            label = err.style(f"{strip_controls(vault.name)}:", "bold red")
            err.print(f"{label} {hanging(err, error.message, 2)}")
            hint = hanging(err, error.hint, 4)
            err.print(err.style(f"  {err.symbol('→', '->')} {hint}", "dim"))

    def _progress(self) -> Progress:
        from ragvault.cli.render.progress import BarProgress, SilentProgress

        err = self.session.err
        return BarProgress(err) if err.is_tty and not self.as_json else SilentProgress(err)
