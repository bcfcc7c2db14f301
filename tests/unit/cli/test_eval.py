"""An evaluation that is interrupted."""

from __future__ import annotations

import pytest

from ragvault.cli.commands.eval import eval_session
from ragvault.errors import Interrupted


def test_interrupted_evaluation_promises_no_resuming() -> None:
    """ "It goes on where it stopped" is true of ``index`` only: an hour would be waited for."""
    with pytest.raises(Interrupted) as caught, eval_session(None):
        raise KeyboardInterrupt
    assert caught.value.exit_code == 130
    assert "--limit" in caught.value.hint and "goes on" not in caught.value.hint
