"""Chunking: what is found and cited as one, and what the model reads for it."""

from __future__ import annotations

import hashlib
from itertools import pairwise
from pathlib import Path

import pytest

import ragvault
from ragvault.config.settings import ChunkingSettings
from ragvault.ingest.chunk import chunk_note, embed_format
from ragvault.ingest.plan import text_fingerprint
from ragvault.text import sentence_spans
from tests.support.chunking import (
    CharCounter,
    WordCounter,
    chunked,
    parsed,
    uncovered_lines,
)


def _shape(chunks):
    return [(c.heading_path, c.start_line, c.end_line) for c in chunks]


def _sentences(n: int, start: int = 0) -> str:
    return " ".join(f"Sentence {i} says one thing." for i in range(start, start + n))


def test_a_section_is_a_chunk_with_its_place():
    chunks = chunked("# Plan\nintro\n\n## Budget\n\ntext of it\n\n## Next\nmore\n")
    assert _shape(chunks) == [
        (("Plan",), 1, 2),
        (("Plan", "Budget"), 4, 6),
        (("Plan", "Next"), 8, 9),
    ]
    assert chunks[1].text == "## Budget\n\ntext of it"
    assert chunks[1].embed_text == "Plan\n\n## Budget\n\ntext of it"
    assert chunks[0].embed_text == "# Plan\nintro"


def test_embed_text_names_title_and_headings_once():
    assert embed_format("T", ("A", "B"), 0, "x") == "T\nA > B\n\nx"
    assert embed_format("T", ("A", "B"), 1, "## B\nx") == "T\nA\n\n## B\nx"
    assert embed_format("T", ("t", "B"), 0, "x") == "t\nB\n\nx"
    assert embed_format("T", ("T",), 1, "# T\nx") == "# T\nx"
    assert embed_format("T", (), 0, "x") == "T\n\nx"


def test_a_bare_heading_goes_with_the_next_section():
    chunks = chunked("# Book\n\n## Part\n\n### One\ntext\n\n### Two\n\n---\n\n## End\nlast\n")
    assert _shape(chunks) == [(("Book", "Part", "One"), 1, 6), (("Book", "End"), 8, 13)]
    assert chunks[0].embed_text == "# Book\n\n## Part\n\n### One\ntext"
    assert chunks[1].embed_text == "Book\n\n### Two\n\n---\n\n## End\nlast"


def test_a_bare_heading_at_the_end_goes_with_the_section_before():
    assert _shape(chunked("# A\ntext\n## B\nmore\n## Empty\n")) == [
        (("A",), 1, 2),
        (("A", "B"), 3, 5),
    ]


def test_a_note_of_headings_alone_is_one_chunk():
    chunks = chunked("# Books\n## Dune\n## Solaris\n")
    assert _shape(chunks) == [(("Books",), 1, 3)]


LINKS = "[deploy]: how-to/deploy.md 'Deploy'\n[tags]: https://example.org/tags"


@pytest.mark.parametrize(
    "empty",
    [
        "![[Movies.base#Last seen]]",
        "![](arch.png)",
        "[![Build](https://ci.example/b.svg)](https://ci.example)",
        "<!-- Old headings. Do not remove. -->\n\n<a id='old'></a>",
        LINKS,
    ],
)
def test_what_says_nothing_is_no_passage_of_its_own(empty):
    """It would be found by the words of its addresses, and quoted for nothing."""
    (first, second) = chunked(f"# A\ntext of it\n\n# Seen\n\n{empty}\n\n# B\nmore text\n")
    assert (first.heading_path, second.heading_path) == (("A",), ("B",))
    assert empty in second.text


def test_an_image_that_someone_described_is_text():
    """Its description may be all that the notes say of it."""
    for image in ("![How the parts hang together](a.png)", '<img alt="two parts, one arrow">'):
        assert len(chunked(f"# A\ntext\n\n# Overview\n\n{image}\n\n# B\nmore\n")) == 3


def test_link_definitions_go_with_the_text_above_them_and_take_no_room():
    """As passages of their own they outrank what the note says, with nothing to read in them."""
    many = "\n".join(f"[page{i}]: folder/page{i}.md 'Page {i}'" for i in range(20))
    chunks = chunked(f"# A\n\n{_sentences(20)}\n\n{many}\n", window=45)
    assert len(chunks) > 2
    assert chunks[-1].text.endswith(many) and "Sentence 19" in chunks[-1].text
    assert chunks[-1].end_line == 24
    assert all("page" not in chunk.embed_text for chunk in chunks)
    (whole,) = chunked(f"# A\ntext\n\n{LINKS}\n")
    assert whole.text.endswith(LINKS) and whole.embed_text == "# A\ntext"
    (alone,) = chunked(f"{LINKS}\n")
    assert "deploy.md" in alone.embed_text, "a note of links alone is found by them"


def test_a_line_of_a_chat_is_no_link_definition():
    """[Anna]: yes" is what somebody said; so is a footnote."""
    for line in ("[Anna]: yes", "[12:30]: see https://a.org for it", "[^1]: https://a.org"):
        (chunk,) = chunked(f"# A\ntext\n\n{line}\n")
        assert line in chunk.embed_text


def test_a_comment_does_not_make_a_piece_of_its_own():
    """Old anchors at the end of a long section would be a passage without a word to read."""
    anchor = "<!-- Old headings. Do not remove or links may break. -->\n<a id='x'></a>"
    for n in range(8, 20):
        chunks = chunked(f"# A\n\n{_sentences(n)}\n\n{anchor}\n\n# B\ntext\n", window=40)
        holding = [chunk for chunk in chunks if "Old headings" in chunk.text]
        assert all("Sentence" in chunk.text for chunk in holding)


def test_words_before_the_first_heading():
    assert _shape(chunked("#tag [[Up]]\n\n# A\ntext\n")) == [(("A",), 1, 4)]
    long = _sentences(4)
    assert _shape(chunked(f"{long}\n\n# A\ntext\n")) == [((), 1, 1), (("A",), 3, 4)]
    assert _shape(chunked("no heading\n")) == [((), 1, 1)]


@pytest.mark.parametrize("text", ["", "\n \n", "---\n---\n"])
def test_an_empty_note_is_found_by_its_title(text):
    (chunk,) = chunked(text, rel_path="a/Project Apollo.md")
    assert "Project Apollo" in chunk.embed_text
    assert chunk.start_line == 1


def test_frontmatter_goes_with_the_first_section():
    text = "---\ntitle: Plan\ntags: [x, y]\ndraft: true\n---\n\n# Goals\ntext\n\n# More\nwords\n"
    chunks = chunked(text)
    assert _shape(chunks) == [(("Goals",), 1, 8), (("More",), 10, 11)]
    assert chunks[0].text == "\n".join(text.split("\n")[:8])
    assert chunks[0].embed_text == "Plan\n\ntags: x, y\n\n# Goals\ntext"
    assert chunks[1].embed_text == "Plan\n\n# More\nwords"


def test_frontmatter_that_leaves_no_room_is_a_chunk_of_its_own():
    chunks = chunked(f"---\nsummary: {'word ' * 25}\n---\n# A\n{_sentences(4)}\n", window=40)
    assert _shape(chunks) == [((), 1, 3), (("A",), 4, 5)]
    assert chunks[0].embed_text.startswith("A\n\nsummary: word")


def test_short_frontmatter_stays_with_a_first_section_that_is_cut():
    chunks = chunked(f"---\ntags: x\n---\n# A\n\n{_sentences(20)}\n", window=40)
    assert chunks[0].start_line == 1 and chunks[0].text.startswith("---\ntags: x\n---\n# A\n\nSent")
    assert "tags: x\n\n# A" in chunks[0].embed_text
    assert len(chunks) > 2


def test_frontmatter_longer_than_the_window_is_cut_and_all_found():
    text = "---\n" + "".join(f"key{i}: value{i} and more\n" for i in range(40)) + "---\n"
    chunks = chunked(text, window=40)
    assert len(chunks) > 3
    joined = "\n".join(c.embed_text for c in chunks)
    assert all(f"value{i} " in joined for i in range(40))


def test_a_long_section_is_cut_between_blocks():
    paragraphs = [_sentences(3, 10 * i) for i in range(6)]
    chunks = chunked("# A\n\n" + "\n\n".join(paragraphs), window=45)
    assert len(chunks) > 2
    for chunk in chunks:
        assert chunk.heading_path == ("A",)
        for paragraph in paragraphs:
            assert paragraph in chunk.text or paragraph[:20] not in chunk.text
    assert chunks[1].embed_text.startswith("A\n\nSentence")
    assert [c.ordinal for c in chunks] == list(range(len(chunks)))


def test_a_long_paragraph_is_cut_between_sentences_and_overlaps():
    chunks = chunked("# A\n\n" + _sentences(40), window=60)
    assert chunks[0].text.startswith("# A\n\nSentence 0")
    for before, after in pairwise(chunks):
        assert before.text.endswith("thing.")
        assert after.text.startswith("Sentence")
        assert after.text.split(" says")[0] in before.text, "no overlap"
    sizes = WordCounter().count_tokens([c.embed_text for c in chunks])
    assert max(sizes) <= 60
    assert min(sizes) > 30, f"a useless tiny chunk: {sizes}"


def test_a_sentence_longer_than_the_window_is_cut_between_words():
    words = [f"word{i}" for i in range(200)]
    chunks = chunked("# A\n" + " ".join(words), window=30)
    assert len(chunks) > 5
    for chunk in chunks:
        assert set(chunk.text.split()) <= {*words, "#", "A"}


def test_lines_are_cut_only_when_alone_too_long():
    lines = [f"line {i} of a hard-wrapped paragraph that goes on" for i in range(40)]
    chunks = chunked("# A\n" + "\n".join(lines), window=50)
    assert len(chunks) > 5
    note_lines = ["# A", *lines]
    for chunk in chunks:
        assert chunk.text == "\n".join(note_lines[chunk.start_line - 1 : chunk.end_line])


def test_a_long_fence_repeats_its_opening_in_what_is_embedded():
    code = "\n".join(f"call_{i}(argument)" for i in range(40))
    chunks = chunked(f"# A\n\n```python\n{code}\n```\n", window=50)
    assert len(chunks) > 2
    for chunk in chunks[1:]:
        assert "```python\ncall_" in chunk.embed_text
        assert "```python" not in chunk.text
    assert chunks[-1].text.endswith("\n```")
    assert chunks[0].text.count("call_") > 1


def test_a_fence_that_fits_is_never_cut():
    fence = "```sh\n" + "\n".join(f"step {i}" for i in range(8)) + "\n```"
    chunks = chunked(f"# A\n\n{_sentences(5)}\n\n{fence}\n\n{_sentences(5, 50)}", window=40)
    assert any(fence in chunk.text for chunk in chunks)


def test_a_long_table_repeats_its_header_rows():
    rows = "\n".join(f"| name{i} | value{i} |" for i in range(30))
    chunks = chunked(f"# A\n\n| Name | Value |\n|---|---|\n{rows}\n", window=60)
    assert len(chunks) > 2
    for chunk in chunks[1:]:
        assert "| Name | Value |\n|---|---|\n| name" in chunk.embed_text
        assert "| Name |" not in chunk.text
        assert all(line.endswith(" |") for line in chunk.text.split("\n"))


def test_a_header_too_long_to_repeat_is_left_out():
    head = "| " + " | ".join(f"column{i}" for i in range(12)) + " |\n|" + "-|" * 12
    rows = "\n".join("| " + " | ".join(f"r{i}c{j}" for j in range(12)) + " |" for i in range(10))
    chunks = chunked(f"{head}\n{rows}\n", window=60)
    assert max(WordCounter().count_tokens([c.embed_text for c in chunks])) <= 60


def test_list_items_stay_whole_and_nested_ones_are_cut_last():
    items = "\n".join(f"- item {i} with some words\n  - child {i} of it" for i in range(20))
    chunks = chunked(f"# A\n\n{items}\n", window=50)
    assert len(chunks) > 3
    assert all(not chunk.text.startswith("  - ") for chunk in chunks)


def test_a_callout_repeats_its_title():
    lines = "\n>\n".join(f"> Line {i} of the callout says something." for i in range(20))
    chunks = chunked(f"# A\n\n> [!warning] Backups\n{lines}\n", window=50)
    assert len(chunks) > 2
    assert all("> [!warning] Backups" in chunk.embed_text for chunk in chunks)


def test_a_heading_is_never_left_alone_by_a_cut():
    chunks = chunked("# A\n\n## Long heading of some words\n\n" + _sentences(30), window=40)
    assert "Sentence 0" in chunks[0].text


def test_text_without_spaces_is_cut_between_graphemes():
    family = "👩‍👩‍👧"
    text = family * 100 + "e\u0301" * 100 + "🇩🇪" * 100 + "漢" * 300
    chunks = chunked(text, window=60, counter=CharCounter())
    assert len(chunks) > 5
    for chunk in chunks:
        assert not chunk.text.startswith(("\u0301", "\u200d"))
        assert not chunk.text.endswith("\u200d")
        assert chunk.text.count("🇩") == chunk.text.count("🇪")
    assert uncovered_lines(parsed(text), chunks) == []


def test_a_blob_that_is_one_token_does_not_make_an_endless_chunk():
    """An unknown word is one token to the model; a prompt would still carry all of it."""
    chunks = chunked("# A\n" + "x" * 50_000, window=100)
    assert max(len(c.text) for c in chunks) <= 1600
    assert sum(len(c.text) for c in chunks) >= 50_000


@pytest.mark.slow
@pytest.mark.parametrize("word", ["word ", "x" * 7, "漢字", "한국어 "])
def test_an_endless_line_is_cut_without_looking_at_each_word(word):
    """30 MB in one line: an object a word, and all of them counted again and again, filled the
    memory and took a minute."""

    class Careful(CharCounter):
        seen = 0

        def count_tokens(self, texts):
            self.seen += sum(map(len, texts))
            return super().count_tokens(texts)

    counter, text = Careful(), word * (400_000 // len(word))
    chunks = chunked(text, window=100, counter=counter, rel_path="a.md")
    found = sum(len("".join(chunk.text.split())) for chunk in chunks)
    assert found >= len("".join(text.split()))
    assert max(counter.count_tokens([c.embed_text for c in chunks])) <= 100
    assert counter.seen < 16 * len(text)


def test_title_and_headings_longer_than_the_window_leave_room_for_text():
    text = "# " + "title words " * 15 + "\n## " + "more words " * 15 + "\n" + _sentences(20)
    chunks = chunked(text, window=40)
    sizes = WordCounter().count_tokens([c.embed_text for c in chunks])
    assert max(sizes) <= 40
    assert uncovered_lines(parsed(text), chunks) == []


def test_max_tokens_lowers_the_window_and_never_raises_it():
    note = parsed("# A\n" + _sentences(60))
    small = chunk_note(note, "v", WordCounter(), ChunkingSettings(max_tokens=30), 100)
    large = chunk_note(note, "v", WordCounter(), ChunkingSettings(max_tokens=500), 100)
    assert max(WordCounter().count_tokens([c.embed_text for c in small])) <= 30
    assert max(WordCounter().count_tokens([c.embed_text for c in large])) <= 100


def test_an_edit_in_one_section_moves_no_other_id():
    before = chunked("# A\none\n# B\ntwo\n# C\nthree\n")
    after = chunked("# A\none, changed\nand longer\n# B\ntwo\n# C\nthree\n")
    assert [c.id for c in before[1:]] == [c.id for c in after[1:]]
    assert before[0].id != after[0].id
    assert before[1].start_line != after[1].start_line


def test_ids_and_hashes_are_those_of_the_design():
    (chunk,) = chunked("# A\none\n")
    assert chunk.text_hash == hashlib.sha256(chunk.embed_text.encode()).hexdigest()
    key = "\0".join(("vault", "folder/note.md", "A", "0", chunk.text_hash))
    assert chunk.id == hashlib.sha256(key.encode()).hexdigest()[:32]


def test_equal_headings_with_equal_text_have_distinct_ids():
    chunks = chunked("# Log\n## Mon\nsame\n## Mon\nsame\n")
    assert len({c.id for c in chunks}) == 2
    assert [c.ordinal for c in chunks] == [0, 1]


def test_tokens_are_counted_in_one_go_for_a_note_that_fits():
    counter = WordCounter()
    chunked("---\nx: y\n---\n" + "".join(f"# H{i}\ntext\n" for i in range(50)), counter=counter)
    assert counter.calls <= 3, "all sections, the frontmatter, and both together"


@pytest.mark.slow
def test_fifty_thousand_lines_take_linear_work():
    """Twice the lines may cost about twice the counting, or a long log would never be indexed."""
    work = []
    for n in (2_000, 4_000):
        counter = WordCounter()
        chunked("# Log\n" + "".join(f"- entry {i} of it\n" for i in range(n)), counter=counter)
        work.append((counter.calls, counter.texts))
    assert work[1][0] <= work[0][0] + 2
    assert work[1][1] <= 2.2 * work[0][1]


def test_the_fingerprint_moves_with_what_decides_the_chunks():
    base = text_fingerprint(ChunkingSettings(), 254)
    assert text_fingerprint(ChunkingSettings(max_tokens=100), 254) != base
    assert text_fingerprint(ChunkingSettings(overlap=0.2), 254) != base
    assert text_fingerprint(ChunkingSettings(), 126) != base, "a model that reads less"


def test_another_model_keeps_the_passages():
    """Their ids, and what is written about them, outlive a change of models."""
    base = text_fingerprint(ChunkingSettings(), 254)
    assert text_fingerprint(ChunkingSettings(), 2046) == base
    assert text_fingerprint(ChunkingSettings(), None) == base, "no model at hand now"


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        (">" * 200 + " x\n") * 100,
        "".join("  " * i + "- x\n" for i in range(200)),
        "Dr. " * 20_000,
        "🇩🇪" * 20_000,
        "e" + "\u0301" * 20_000,
        " " * 100_000 + "x",
        "`a " * 20_000,
        "-" * 50_000,
        "漢字" * 20_000,
        "| a |\n|---|\n" + "| 1 |\n" * 5_000,
        "---\n" + "key: value\n" * 3_000 + "---\n",
        "## a b c\n" * 5_000 + "text",
    ],
    ids=lambda text: repr(text[:12]),
)
def test_hostile_notes_are_chunked_in_linear_work(text):
    """Each level of nesting, or each word, looked at again and again would be a hang."""

    class Characters(WordCounter):
        seen = 0

        def count_tokens(self, texts):
            self.seen += sum(map(len, texts))
            return super().count_tokens(texts)

    counter = Characters()
    chunks = chunked(text, window=60, counter=counter)
    found = sum(len("".join(chunk.text.split())) for chunk in chunks)
    assert found >= len("".join(text.split()))
    assert counter.seen < 30 * len(text) + 10_000


def test_with_the_real_tokenizer_nothing_is_cut_off_by_the_model():
    """What is beyond the window is not embedded: it would be invisible to the vector leg."""
    tokenizers = pytest.importorskip("tokenizers")
    path = Path(ragvault.__file__).parent / "adapters" / "onnx" / "data" / "minilm-tokenizer.json"
    tokenizer = tokenizers.Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()

    class WordPiece:
        def count_tokens(self, texts):
            encodings = tokenizer.encode_batch(list(texts), add_special_tokens=False)
            return [len(encoding.ids) for encoding in encodings]

    table = "| Город | 都市 | naïveté |\n|---|---|---|\n" + "| Köln | 東京都 | 3.14 % |\n" * 60
    code = "```python\n" + "result = call_something(argument[0], key='väl')\n" * 40 + "```\n"
    text = (
        f"# Übersicht\n\n{_sentences(80)}\n\n{table}\n{code}\n{'会議の予算は百万円です。' * 60}\n"
    )
    note = parsed(text)
    chunks = chunk_note(note, "v", WordPiece(), ChunkingSettings(), 254)
    sizes = WordPiece().count_tokens([chunk.embed_text for chunk in chunks])
    assert max(sizes) <= 254
    assert sum(sizes) / len(sizes) > 150
    assert uncovered_lines(note, chunks) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "Dra. Llopis raised it to 200.",
        "La Sra. Peris vino el 3 de dic. 2025 a casa.",
        "Siehe Kap. 3 und Art. 5 im Vertrag vom 5. September 2026.",
        "Mme. Dupont l'a vu, p. 12, avec M. Roche.",
        "He said no.",
        "Ask J. R. Roche, or J.-P. Roche.",
        "Its number is VT-88213-K.",
    ],
)
def test_an_abbreviation_ends_no_sentence(sentence: str):
    text = f"{sentence} Then we left."
    assert [text[a:b] for a, b in sentence_spans(text)] == [sentence, "Then we left."]
