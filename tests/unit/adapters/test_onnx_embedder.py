"""The ONNX adapter with models that aren't the usual one, broken ones, and Ctrl-C."""

from __future__ import annotations

import math
import signal
import threading
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from ragvault.adapters.models import usable_cores
from ragvault.adapters.onnx.embedder import OnnxEmbedder
from ragvault.adapters.onnx.model_files import BUNDLED_TOKENIZER
from ragvault.adapters.onnx.runtime import SideBySide
from ragvault.adapters.onnx.tokenizer import PassageCounter, Tokenizer
from ragvault.config.settings import Settings
from ragvault.errors import EmbedderUnavailableError
from tests.support.tiny_onnx import write_model

CLS, SEP, HELLO, WORLD = 101, 102, 7592, 2088


def unit(*values: float) -> list[float]:
    length = math.hypot(*values)
    return [value / length for value in values]


def embedder_at(path: Path) -> OnnxEmbedder:
    return OnnxEmbedder(Settings(embedding={"path": str(path)}))


def test_token_vectors_are_averaged_with_their_specials(tmp_path: Path) -> None:
    embedder = embedder_at(write_model(tmp_path / "a.onnx"))
    mean = (CLS + HELLO + WORLD + SEP) / 4
    assert embedder.embed_query("hello world") == pytest.approx(unit(mean, 1, 1), abs=1e-6)
    assert embedder.embed_query("a").shape == (3,)
    assert embedder.name == f"{tmp_path.name}/a.onnx"


def test_a_model_that_pools_itself_is_only_normalised(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(
        Settings(embedding={"path": str(write_model(tmp_path / "a.onnx", pooled=True))})
    )
    mean = (CLS + HELLO + WORLD + SEP) / 4
    assert embedder.embed_query("hello world") == pytest.approx(unit(mean, 1, 1), abs=1e-6)


def test_a_model_whose_card_says_cls_is_pooled_so(tmp_path: Path) -> None:
    plain = OnnxEmbedder(
        Settings(embedding={"path": str(write_model(tmp_path / "a.onnx"))})
    ).fingerprint
    (tmp_path / "1_Pooling").mkdir()
    card = '{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}'
    (tmp_path / "1_Pooling" / "config.json").write_text(card)
    embedder = embedder_at(tmp_path / "a.onnx")
    assert embedder.embed_query("hello world") == pytest.approx(unit(CLS, 1, 1), abs=1e-6)
    assert embedder.fingerprint != plain


def test_a_pooling_that_is_not_known_is_refused(tmp_path: Path) -> None:
    write_model(tmp_path / "a.onnx")
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text('{"pooling_mode_max_tokens": true}')
    with pytest.raises(EmbedderUnavailableError, match="pools in a way"):
        _ = embedder_at(tmp_path / "a.onnx").fingerprint


@pytest.mark.parametrize("value", [math.nan, math.inf, 0.0], ids=["nan", "infinite", "zero"])
def test_a_vector_that_is_no_direction_never_reaches_the_index(
    tmp_path: Path, value: float
) -> None:
    embedder = OnnxEmbedder(
        Settings(embedding={"path": str(write_model(tmp_path / "a.onnx", value=value))})
    )
    with pytest.raises(EmbedderUnavailableError, match="not a number, or of no length"):
        embedder.embed_documents(["hello"])


def test_a_model_of_another_shape_is_refused(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(
        Settings(embedding={"path": str(write_model(tmp_path / "a.onnx", pooled=True, axis=2))})
    )
    with pytest.raises(EmbedderUnavailableError, match="shape"):
        embedder.embed_documents(["hello world", "hello"])


def test_a_model_with_unknown_inputs_is_refused(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(
        Settings(embedding={"path": str(write_model(tmp_path / "a.onnx", input_name="pixels"))})
    )
    with pytest.raises(EmbedderUnavailableError, match="pixels"):
        embedder.embed_documents(["hello"])


def test_a_damaged_model_is_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "a.onnx"
    file.write_bytes(b"not a model")
    with pytest.raises(EmbedderUnavailableError, match="can't be loaded"):
        embedder_at(file).embed_query("hello")


def test_a_damaged_tokenizer_is_a_sentence(tmp_path: Path) -> None:
    write_model(tmp_path / "a.onnx")
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(EmbedderUnavailableError, match="tokenizer"):
        embedder_at(tmp_path / "a.onnx").embed_query("hello")


def test_a_model_replaced_between_fingerprint_and_load_is_noticed(tmp_path: Path) -> None:
    """Else the vectors of two models would be mixed under one fingerprint."""
    embedder = embedder_at(write_model(tmp_path / "a.onnx"))
    _ = embedder.fingerprint
    write_model(tmp_path / "a.onnx", dimensions=4)
    with pytest.raises(EmbedderUnavailableError, match="not the one"):
        embedder.embed_query("hello")


@pytest.mark.parametrize("threads", [1, 4])
def test_ctrl_c_ends_a_run_and_leaves_no_work_behind(threads: int) -> None:
    pool = SideBySide(threads)
    done: list[str] = []
    interrupted = threading.Event()

    def work(text: str) -> None:
        if text == "0":
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        interrupted.wait(30)
        done.append(text)

    with pytest.raises(KeyboardInterrupt):
        pool.map(work, ["0"] * 10_000)
    interrupted.set()
    pool.close()  # waits for the threads
    assert len(done) <= threads, "each ends after the item that it is at"
    texts = ["a", "bb" * 9, "", "cccc"]
    assert pool.map(len, texts) == [1, 18, 0, 4], "it works again afterwards"
    pool.close()


def test_a_container_starts_no_more_threads_than_its_quota(tmp_path: Path) -> None:
    file = tmp_path / "cpu.max"
    file.write_text("50000 100000\n")
    assert usable_cores(file) == 1
    for none in ("max 100000\n", "6400000 100000\n", "odd"):
        file.write_text(none)
        assert usable_cores(file) == usable_cores(tmp_path / "none") >= 1


def test_a_failure_in_a_thread_is_not_lost() -> None:
    pool = SideBySide(2)

    def work(text: str) -> None:
        if text == "7":
            raise EmbedderUnavailableError("broken")

    with pytest.raises(EmbedderUnavailableError, match="broken"):
        pool.map(work, [str(n) for n in range(50)])
    pool.close()


# ------------------------------------------------------------------------------ long texts

PARTS = ["word", " ", "\n", "\u00a0", "\x1c", "\x00", "ü", "東", "x" * 120, "a-b", "🦊"]
LONG = st.lists(st.sampled_from(PARTS), max_size=120).map("".join)


@cache
def bundled() -> Tokenizer:
    return Tokenizer(BUNDLED_TOKENIZER)


@settings(max_examples=150, deadline=None)
@given(text=LONG, head=st.integers(1, 8), window=st.integers(8, 40))
def test_encoding_only_the_head_gives_the_same_tokens(text: str, head: int, window: int) -> None:
    everything = bundled().encode(text, 10_000)
    cut = everything if len(everything) <= window else [*everything[: window - 1], SEP]
    assert bundled().encode(text, window, head) == cut


def test_passages_are_counted_as_the_bundled_model_reads_them() -> None:
    """Counted too low, a passage's end would be cut off unseen."""
    texts = [
        "Two words", "", "naïve façade – “quoted”…  tabs\tand\nlines", "日本語のノート と English",
        "https://example.org/a_b?c=d#e `code_block(x)`", "word " * 300, "x" * 5_000,
    ]  # fmt: skip
    counter, exact = PassageCounter(), Tokenizer(BUNDLED_TOKENIZER)
    assert counter.count_tokens(texts) == exact.count(texts)
    assert counter.count_tokens(texts[::-1]) == exact.count(texts[::-1])
    odd = ["a\x1fb\x85c\u2028d\u200be", "a \u0301b"]  # characters that it drops, or joins
    assert all(
        ours >= real for ours, real in zip(counter.count_tokens(odd), exact.count(odd), strict=True)
    )
