"""Texts to token ids, by a tokenizer.json, with bounded memory however long a text is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from ragvault.adapters.model_files import first_line
from ragvault.adapters.vectors import encodable
from ragvault.errors import EmbedderUnavailableError

_HEAD_CHARS = 64  # characters a token of the window that are tokenised at first
_PIECE_CHARS = 65_536
_BATCH_CHARS = 1_000_000
_SPACE = re.compile(r"[ \n\t\r]")


class Tokenizer:
    """The tokenizer file, with padding and truncation of its own switched off."""

    def __init__(self, file: Path) -> None:
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
        mask = self._tokenizer.encode("a").special_tokens_mask
        inner = mask.index(0) if 0 in mask else len(mask)
        self._before = inner
        self._after = len(mask) - inner - mask.count(0)

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens without specials. Linear in the characters; memory is bounded by the largest
        piece without white space, because a token costs a hundred times its text."""
        counts = [0] * len(texts)
        batch: list[tuple[int, str]] = []
        size = 0
        for index, text in enumerate(texts):
            for piece in _pieces(encodable(text)):
                batch.append((index, piece))
                size += len(piece)
                if size >= _BATCH_CHARS:
                    self._add_counts(counts, batch)
                    batch, size = [], 0
        self._add_counts(counts, batch)
        return counts

    def _add_counts(self, counts: list[int], batch: list[tuple[int, str]]) -> None:
        pieces = [piece for _, piece in batch]
        encodings = self._tokenizer.encode_batch_fast(pieces, add_special_tokens=False)
        for (index, _), encoding in zip(batch, encodings, strict=True):
            counts[index] += len(encoding)

    def encode(self, texts: Sequence[str], window: int) -> list[list[int]]:
        """Token ids with specials, cut at the end to ``window``, the closing special kept."""
        clean = [encodable(text) for text in texts]
        heads = [_head(text, window * _HEAD_CHARS) for text in clean]
        encoded = [encoding.ids for encoding in self._tokenizer.encode_batch_fast(heads)]
        for index, text in enumerate(clean):
            encoded[index] = self._cut(text, heads[index], encoded[index], window)
        return encoded

    def _cut(self, text: str, head: str, ids: list[int], window: int) -> list[int]:
        """Cut to the window; a head of too few tokens (blanks, endless words) is grown first."""
        while len(ids) < window and len(head) < len(text):
            head = _head(text, len(head) * 4)
            ids = self._tokenizer.encode(head).ids
        if len(ids) <= window:
            return ids
        tail = ids[len(ids) - self._after :] if self._after else []
        return ids[: window - self._after] + tail


def _head(text: str, least: int) -> str:
    """The text up to the first white space at or after ``least`` characters: whole words, so it
    has the tokens that the whole text begins with."""
    if len(text) <= least:
        return text
    space = _SPACE.search(text, least)
    return text if space is None else text[: space.start()]


def _pieces(text: str) -> Iterator[str]:
    """The text cut at white space into pieces of about 64k characters: no token is cut."""
    start = 0
    while len(text) - start > _PIECE_CHARS:
        space = _SPACE.search(text, start + _PIECE_CHARS)
        if space is None:
            break
        yield text[start : space.start()]
        start = space.start()
    yield text[start:]
