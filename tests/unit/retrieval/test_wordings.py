"""Small wordings on the terminal say what is true."""

from __future__ import annotations

from hypothesis import given, strategies as st

from ragvault.cli.render.words import unit
from ragvault.model import Band


def test_a_confidence_just_below_a_band_does_not_read_as_in_it() -> None:
    """ "very low (0.40)" would contradict the README's "at least 0.4 is low"."""
    assert unit(0.397) == "0.39"
    assert unit(0.29) == "0.29"
    assert (unit(0.0), unit(1.0)) == ("0.00", "1.00")


@given(st.floats(0.0, 1.0))
def test_printed_confidence_has_the_band_of_the_true_one(confidence: float) -> None:
    shown = float(unit(confidence))
    assert abs(shown - confidence) < 0.0101
    assert Band.of(shown) is Band.of(confidence) or 0 < round(confidence, 2) - confidence < 1e-9
