"""Texts to token ids, by a tokenizer.json."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any

from ragvault.adapters.models import encodable, first_line
from ragvault.adapters.onnx.model_files import BUNDLED_TOKENIZER
from ragvault.errors import EmbedderUnavailableError
from ragvault.formats.decoding import ENDLESS

_HEAD_CHARS = 64  # characters a token of the window that are tokenised at first
_TOLD_FROM = 65_536  # characters: enough to see what a model knows of a text
_BATCH_CHARS = 1_000_000
_WORDS = 100_000  # whose counts are kept
_SPACE = re.compile(r"[ \n\t\r]")
# A vocabulary of one language has some 30,000 entries (BERT's English one), of many 100,000 and
# more (mBERT 119,547, XLM-R 250,002): those spell out nothing, so they tell nothing.
_MULTILINGUAL_FROM = 60_000
_UNKNOWN = frozenset({"[UNK]", "<unk>"})


class PassageCounter:
    """``ports.TokenCounter`` by the bundled model's tokenizer, which is part of ragvault: the same
    passages whatever model embeds them. Loaded at the first count.

    It never joins what white space separates, so a text has the tokens of its words, and of most
    words they are known already: a note's texts are counted in several arrangements.
    """

    def __init__(self) -> None:
        self._tokenizer: Tokenizer | None = None
        self._counts: dict[str, int] = {}

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        if self._tokenizer is None:
            self._tokenizer = Tokenizer(BUNDLED_TOKENIZER)
        words = [text.split() for text in texts]
        if len(self._counts) > _WORDS:
            self._counts.clear()
        new = list(set().union(*words).difference(self._counts))
        endless = {word: len(word) for word in new if len(word) > ENDLESS}  # no need to know
        new = [word for word in new if word not in endless]
        if new or endless:
            self._counts.update(zip(new, self._tokenizer.count(new), strict=True), **endless)
        return [sum(map(self._counts.__getitem__, each)) for each in words]


class Tokenizer:
    """The tokenizer file, with padding and truncation of its own switched off."""

    def __init__(self, file: Path) -> None:
        # Read at the first text. Threads of its own cost more than they gain: texts are short.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        try:
            import tokenizers

            self._tokenizer = tokenizers.Tokenizer.from_file(str(file))
        except Exception as error:  # the Rust side raises plain Exception
            raise EmbedderUnavailableError(
                f"The tokenizer {file} can't be loaded: {first_line(error)}.",
                "Put the model's own tokenizer.json beside its .onnx file.",
            ) from error
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens without specials. Linear in the characters. A token costs a hundred times its
        text: so many texts as make up a megabyte are tokenised at a time."""
        counts: list[int] = []
        ends = accumulate(map(len, texts))
        for _, batch in groupby(zip(texts, ends, strict=True), lambda one: one[1] // _BATCH_CHARS):
            clean = [encodable(text) for text, _ in batch]
            encodings = self._tokenizer.encode_batch_fast(clean, add_special_tokens=False)
            counts += map(len, encodings)
        return counts

    def vocabulary_share(self, text: str) -> float:
        """``ports.Embedder.vocabulary_share``, from the pieces that the text is cut into.

        Looks at the first 64k characters or so. A script that the vocabulary holds a few single
        characters of is spelled letter by letter; one that it doesn't hold is all [UNK].
        """
        if self._tokenizer.get_vocab_size() >= _MULTILINGUAL_FROM:
            return 1.0
        text = _head(encodable(text), _TOLD_FROM)
        total = sum(map(str.isalnum, text))
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        known = 0
        for piece, (start, end) in zip(encoding.tokens, encoding.offsets, strict=True):
            letters = sum(map(str.isalnum, text[start:end]))
            if letters > 1 and piece not in _UNKNOWN:
                known += letters
        return known / total if total else 1.0

    def encode(self, text: str, window: int, head_chars: int = _HEAD_CHARS) -> list[int]:
        """Token ids with specials, cut at the end to ``window``, the closing special kept."""
        room = window - self._tokenizer.num_special_tokens_to_add(False)
        ids: list[int] = self._tokenizer.post_process(self._bare(text, room, head_chars)).ids
        return ids

    def encode_pair(self, first: str, second: str, window: int) -> tuple[list[int], list[int]]:
        """Ids and token types of two texts read as one, with specials, within ``window``.

        What doesn't fit is cut from the end of the second; from the first only what would take
        more than half of the window by itself.
        """
        room = window - self._tokenizer.num_special_tokens_to_add(True)
        one = self._bare(first, room // 2)
        other = self._bare(second, room - len(one))
        both = self._tokenizer.post_process(one, other)
        return both.ids, both.type_ids

    def _bare(self, text: str, most: int, head_chars: int = _HEAD_CHARS) -> Any:
        """The encoding without specials of the first ``most`` tokens. At first only
        ``head_chars`` characters a token are tokenised; a head of too few tokens (blanks, endless
        words) is grown."""
        clean = encodable(text)
        head = _head(clean, most * head_chars)
        encoding = self._tokenizer.encode(head, add_special_tokens=False)
        while len(encoding) < most and len(head) < len(clean):
            head = _head(clean, len(head) * 4)
            encoding = self._tokenizer.encode(head, add_special_tokens=False)
        encoding.truncate(most)
        return encoding


def _head(text: str, least: int) -> str:
    """The text up to the first white space at or after ``least`` characters: whole words, so it
    has the tokens that the whole text begins with."""
    if len(text) <= least:
        return text
    space = _SPACE.search(text, least)
    return text if space is None else text[: space.start()]
