"""How much of a question a model can read: where little, its cosines must not rank the notes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from ragvault.adapters.onnx.model_files import BUNDLED_TOKENIZER
from ragvault.adapters.onnx.tokenizer import Tokenizer


@pytest.fixture(scope="module")
def english() -> Tokenizer:
    return Tokenizer(BUNDLED_TOKENIZER)


@pytest.mark.parametrize(
    ("question", "least", "most"),
    [
        ("Who designed the garden in Sintra?", 0.95, 1.0),
        ("Wie viele Punkte gab die Verteidigung der Panthers ab?", 0.85, 1.0),
        ("黑豹队的防守丢了多少分？", 0.0, 0.3),
        ("كم نقطة تخلى عنها دفاع البانثرز؟", 0.0, 0.3),
        ("ምን ነው?", 0.0, 0.0),
        ("1984", 1.0, 1.0),
        ("?!", 1.0, 1.0),
        ("", 1.0, 1.0),
    ],
)
def test_the_english_model_reads_what_it_has_pieces_of(
    english: Tokenizer, question: str, least: float, most: float
) -> None:
    assert least <= english.vocabulary_share(question) <= most


def test_a_multilingual_vocabulary_is_never_distrusted(tmp_path: Path) -> None:
    """Such a model knows Arabic; its single letters say nothing against it."""
    import tokenizers

    words = {"[UNK]": 0, **{f"w{i}": i for i in range(1, 70_000)}}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    made.save(str(tmp_path / "tokenizer.json"))
    assert Tokenizer(tmp_path / "tokenizer.json").vocabulary_share("كم نقطة") == 1.0


@given(text=st.text(max_size=40))
def test_the_share_is_one_of_any_text(english: Tokenizer, text: str) -> None:
    assert 0.0 <= english.vocabulary_share(text) <= 1.0
