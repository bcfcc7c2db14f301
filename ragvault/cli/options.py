"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Configuration file to use.", show_default=False),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
VaultOption = Annotated[
    list[str] | None,
    typer.Option(
        "--vault", metavar="NAME", help="Only this vault (repeatable).", show_default=False
    ),
]
