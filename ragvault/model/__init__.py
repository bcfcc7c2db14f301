"""What the stages hand each other: frozen values, and unions for outcomes.

No I/O, no third-party imports beyond the type of a vector. Times are seconds since the epoch
(float, UTC) unless a name says ``_ms`` or ``_ns``; scores lie in 0..1 unless a docstring says
otherwise; lines are 1-based and inclusive, counted in the file as it is on disk.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ragvault.model.answers import *
    from ragvault.model.notes import *
    from ragvault.model.retrieval import *

_MODULES = ("notes", "retrieval", "answers")


def __getattr__(name: str) -> Any:
    """A module is imported when something of it is asked for: making all their classes would cost
    an index run that finds nothing to do a tenth of its time."""
    for module in _MODULES:
        value = getattr(import_module(f"{__name__}.{module}"), name, None)
        if value is not None:
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
