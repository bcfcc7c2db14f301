"""What citations, passages and the terminal look like, seen whole: see tests/support/golden.py.

After a wanted change: `make golden` shows the difference, `make golden WRITE=1` writes it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import golden


@pytest.mark.parametrize(
    ("kind", "file"), list(golden.cases()), ids=lambda value: getattr(value, "stem", value)
)
def test_output_is_the_golden_one(kind: str, file: Path) -> None:
    _, expected, today = golden.compared(kind, file)
    assert today == expected
