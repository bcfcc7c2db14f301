"""What every command starts with: settings, terminals, the objects behind them."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ragvault.cli.render.layout import hanging
from ragvault.cli.render.terminal import Terminal
from ragvault.errors import UsageError
from ragvault.wiring import Container, load_settings

if TYPE_CHECKING:  # pydantic is loaded when a command runs
    from ragvault.cli.render.places import PlaceView
    from ragvault.config.file import LoadedSettings


@dataclass(frozen=True)
class Session:
    """One command's run. ``out`` carries the result, ``err`` notices; the container is to be
    closed."""

    loaded: LoadedSettings
    container: Container
    out: Terminal
    err: Terminal

    @classmethod
    def open(cls, config: Path | None) -> Session:
        """Raises ConfigError."""
        loaded = load_settings(config)
        colour = loaded.settings.output.color
        out, err = Terminal.of(sys.stdout, colour), Terminal.of(sys.stderr, colour)
        session = cls(loaded, Container(loaded.settings), out, err)
        session.notices(loaded.notices)
        return session

    def notices(self, lines: Iterable[str]) -> None:
        """Each notice once, on stderr."""
        mark = self.err.style("•", "yellow")
        for line in dict.fromkeys(lines):
            self.err.print(f"{mark} {hanging(self.err, line, 2)}")
        self.err.flush()

    def agrees(self, question: str, *, yes: bool) -> bool:
        """Whether a person says yes, or said ``--yes``. Raises UsageError where nobody can be
        asked."""
        if yes:
            return True
        if not sys.stdin.isatty():
            raise UsageError("This needs a yes, and nobody can be asked.", "Run it with --yes.")
        if not typer.confirm(question, err=True):
            self.notices(["Nothing was done."])
            return False
        return True

    def places(self) -> PlaceView:
        """How places in notes are shown, linked; with the vault's name where there are several."""
        from ragvault.cli.render.places import PlaceView
        from ragvault.service.originals import Links

        return PlaceView(self.out, Links.of(self.container))
