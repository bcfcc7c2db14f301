"""The labelled statements: what the check of answers may get wrong, as shares of them."""

from __future__ import annotations

import pytest

from tests.bench.statements import load, make, verdict

pytestmark = pytest.mark.slow


def test_the_cases_are_those_that_the_script_makes() -> None:
    assert load() == list(dict.fromkeys(make()))
    assert len(load()) >= 400


@pytest.mark.parametrize(
    ("name", "held", "most"),
    [
        ("cases", False, 0.03),
        ("cases", True, 0.055),
        ("others", False, 0.165),  # planned as done, another's, half of it made up
        ("others", True, 0.21),
    ],
)
def test_few_wrong_statements_are_supported_and_few_right_ones_refused(
    name: str, held: bool, most: float
) -> None:
    """The share that is decided wrongly, over all kinds. Where only the passage's words are counted
    .47 and .20 of the first."""
    wrong = "unsupported" if held else "supported"
    of = [case for case in load(name) if case.held is held and not case.kept]
    assert sum(verdict(case) == wrong for case in of) <= most * len(of)
