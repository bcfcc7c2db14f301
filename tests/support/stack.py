"""The real stack on real files, in this process: what the command line puts together, with a
``now`` that the test chooses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ragvault.config.settings import Settings
from ragvault.service.index import IndexRequest, index as events_of
from ragvault.wiring import Container
from tests.support.cli import NO_SERVER


def settings(folder: Path, **sections: Mapping[str, Any]) -> Settings:
    """Defaults with the index at ``folder``, no download and no model server, and what is given
    (``retrieval={"hyde": True}``)."""
    values: dict[str, dict[str, Any]] = {
        "index": {"path": str(folder)},
        "ollama": {"host": NO_SERVER},
    }
    for section, given in sections.items():
        values.setdefault(section, {}).update(given)
    return Settings.model_validate(values)


def index_vault(container: Container, vault: Path) -> None:
    """As ``ragvault index VAULT``."""
    for _ in events_of(container, IndexRequest((vault,))):
        pass


@contextmanager
def stack(folder: Path, vault: Path | None = None, **sections: Any) -> Iterator[Container]:
    """A container, with ``vault`` indexed if given."""
    with Container(settings(folder, **sections)) as container:
        if vault is not None:
            index_vault(container, vault)
        yield container
