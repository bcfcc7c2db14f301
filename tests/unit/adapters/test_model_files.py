"""Where the embedding model is taken from, and that a changed file is never used."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import pytest

from ragvault.adapters.models import (
    EMBEDDING,
    FactStore,
    remembered_sha256,
    sha256_of,
)
from ragvault.adapters.onnx.model_files import (
    BUNDLED_TOKENIZER,
    BUNDLED_TOKENIZER_SHA256,
    DATA_PACKAGE,
    DATA_PACKAGE_SHA256,
    ModelFiles,
    find_model,
)
from ragvault.config.settings import EmbeddingSettings
from ragvault.errors import EmbedderUnavailableError


def find(path: Path | None = None, package: str = DATA_PACKAGE) -> ModelFiles:
    wanted = EmbeddingSettings(path=path and str(path))
    return find_model(EMBEDDING, wanted, FactStore(None), package)


def test_the_tokenizer_that_comes_along_is_the_pinned_one() -> None:
    assert sha256_of(BUNDLED_TOKENIZER) == BUNDLED_TOKENIZER_SHA256


def test_the_data_package_is_used_when_nothing_is_configured() -> None:
    files = find()
    assert DATA_PACKAGE in files.model.parts
    assert files.sha256 == DATA_PACKAGE_SHA256
    files.verify()


def test_a_path_in_the_config_comes_first(tmp_path: Path) -> None:
    model = tmp_path / "mine.onnx"
    model.write_bytes(b"one")
    files = find(model)
    assert files.model == model
    assert files.sha256 == hashlib.sha256(b"one").hexdigest()
    assert files.tokenizer == BUNDLED_TOKENIZER


@pytest.mark.parametrize("place", ["onnx/tokenizer.json", "tokenizer.json"])
def test_the_models_own_tokenizer_is_used(tmp_path: Path, place: str) -> None:
    (tmp_path / "onnx").mkdir()
    (tmp_path / "onnx" / "model.onnx").write_bytes(b"one")
    shutil.copy(BUNDLED_TOKENIZER, tmp_path / place)
    assert find(tmp_path / "onnx" / "model.onnx").tokenizer == tmp_path / place
    assert find(tmp_path).tokenizer == tmp_path / place, "the folder will do"


def test_a_folder_without_one_clear_model_says_which_there_are(tmp_path: Path) -> None:
    with pytest.raises(EmbedderUnavailableError, match=r"holds no \.onnx file"):
        find(tmp_path)
    for name in ("a.onnx", "b.onnx"):
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(EmbedderUnavailableError, match=r"more than one .*a\.onnx, b\.onnx"):
        find(tmp_path)


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(EmbedderUnavailableError, match="doesn't exist") as caught:
        find(tmp_path / "gone.onnx")
    assert "embedding.path" in caught.value.hint


def test_a_damaged_package_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a_damaged_package").mkdir()
    (tmp_path / "a_damaged_package" / "model.onnx").write_bytes(b"half a downlo")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(EmbedderUnavailableError, match="not the one that ragvault expects"):
        find(package="a_damaged_package")


def test_a_hash_is_remembered_until_the_file_changes(tmp_path: Path) -> None:
    file, store = tmp_path / "a.onnx", tmp_path / "facts.json"
    file.write_bytes(b"one")
    first = remembered_sha256(file, FactStore(store))
    file_facts = FactStore(store)
    assert remembered_sha256(file, file_facts) == first
    file.write_bytes(b"three")
    second = remembered_sha256(file, FactStore(store))
    assert second == hashlib.sha256(b"three").hexdigest() != first


def test_the_remembered_hash_saves_reading_the_file(tmp_path: Path) -> None:
    """Told by a file that was changed and given its old time stamp, which no one does."""
    file, store = tmp_path / "a.onnx", tmp_path / "facts.json"
    file.write_bytes(b"one")
    first, before = remembered_sha256(file, FactStore(store)), file.stat()
    file.write_bytes(b"two")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert remembered_sha256(file, FactStore(store)) == first


def test_before_loading_the_file_itself_is_read(tmp_path: Path) -> None:
    file = tmp_path / "a.onnx"
    file.write_bytes(b"one")
    sha256_of(file, hashlib.sha256(b"one").hexdigest())
    with pytest.raises(EmbedderUnavailableError, match="not the one"):
        sha256_of(file, hashlib.sha256(b"two").hexdigest())


# ------------------------------------------------------------------------------ the fact file


def test_facts_outlive_the_process(tmp_path: Path) -> None:
    FactStore(tmp_path / "deep" / "facts.json").put("kind", "key", "value")
    assert FactStore(tmp_path / "deep" / "facts.json").get("kind", "key") == "value"


@pytest.mark.parametrize("content", ["", "{", "[]", '{"version": 99}', '{"version": 1, "kind": 3}'])
def test_a_damaged_fact_file_is_only_empty(tmp_path: Path, content: str) -> None:
    store = tmp_path / "facts.json"
    store.write_text(content)
    facts = FactStore(store)
    assert facts.get("kind", "key") is None
    facts.put("kind", "key", "value")
    assert FactStore(store).get("kind", "key") == "value"


def test_a_fact_file_that_cannot_be_written_costs_only_the_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    facts = FactStore(tmp_path / "file" / "facts.json")
    facts.put("kind", "key", "value")
    facts.put("kind", "other", "value")
    assert facts.get("kind", "key") == "value"


def test_two_processes_keep_each_others_facts(tmp_path: Path) -> None:
    one, other = FactStore(tmp_path / "f"), FactStore(tmp_path / "f")
    assert one.get("kind", "a") is None and other.get("kind", "a") is None
    one.put("kind", "a", "1")
    other.put("kind", "b", "2")
    assert FactStore(tmp_path / "f").get("kind", "a") == "1"
    assert sorted(item.name for item in tmp_path.iterdir()) == ["f"], "no temporary file stays"


def test_the_fact_file_does_not_grow_without_end() -> None:
    facts = FactStore(None)
    for number in range(1000):
        facts.put("kind", str(number), "x")
    assert facts.get("kind", "999") == "x"
    assert facts.get("kind", "0") is None
