"""Small wordings on the terminal say what is true."""

from __future__ import annotations

from hypothesis import given, strategies as st

from ragvault.model import Band, shown_confidence


def test_a_confidence_just_below_a_band_does_not_read_as_in_it() -> None:
    """ "very low (0.40)" would contradict the README's "at least 0.4 is low"."""
    assert shown_confidence(0.397) == "0.39"
    assert shown_confidence(0.955674) == "0.96"
    assert (shown_confidence(0.0), shown_confidence(1.0)) == ("0.00", "1.00")


@given(st.floats(0.0, 1.0))
def test_printed_confidence_has_the_band_of_the_true_one(confidence: float) -> None:
    shown = float(shown_confidence(confidence))
    assert abs(shown - confidence) < 0.0101
    assert Band.of(shown) is Band.of(confidence)
