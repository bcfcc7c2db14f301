"""What every vector store promises (`ports.VectorIndex`): run on the fake, on embedded Chroma
and on a real Chroma server; then what only the real ones can show."""

from __future__ import annotations

import subprocess
import sys
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pytest

from ragvault.adapters.chroma.errors import BY_CLASS, translate
from ragvault.adapters.chroma.http import HttpChroma
from ragvault.adapters.chroma.index import chroma_settings, collection_name
from ragvault.adapters.chroma.persistent import PersistentChroma
from ragvault.config.settings import StoreSettings
from ragvault.errors import (
    DiskFullError,
    IndexBusyError,
    RagvaultError,
    StoreDamagedError,
    StoreError,
)
from ragvault.model import ScoredId
from tests.support.chroma_server import chroma_server, free_port
from tests.support.fakes import FakeVectorIndex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ragvault.model import Matrix, Vector
    from ragvault.ports import VectorIndex

DIMENSIONS = 16


class Reopen(Protocol):
    def __call__(self) -> VectorIndex: ...


def http_index(folder: Path, port: int) -> HttpChroma:
    return HttpChroma(folder, StoreSettings(host="127.0.0.1", port=port))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with chroma_server(tmp_path_factory.mktemp("chroma-server")) as port:
        yield port


@pytest.fixture(params=["fake", "persistent", "http"])
def open_index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Reopen]:
    """Opens the same store again at each call, as another process would."""
    opened: list[VectorIndex] = []
    place: dict[str, dict[str, Vector]] = {}

    def make() -> VectorIndex:
        index: VectorIndex
        if request.param == "fake":
            index = FakeVectorIndex(place)
        elif request.param == "persistent":
            index = PersistentChroma(tmp_path)
        else:
            port = request.getfixturevalue("server")
            index = http_index(tmp_path, port)
        opened.append(index)
        return index

    yield make
    for index in opened:
        index.close()


@pytest.fixture
def index(open_index: Reopen) -> VectorIndex:
    return open_index()


def unit(n: int, seed: int = 0, dimensions: int = DIMENSIONS) -> Matrix:
    rows = np.random.default_rng(seed).standard_normal((n, dimensions)).astype(np.float32)
    matrix: Matrix = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return matrix


def some(n: int, seed: int = 0) -> dict[str, Vector]:
    """Vectors by the ids 0000, 0001 …"""
    return {f"{i:04}": vector for i, vector in enumerate(unit(n, seed))}


def ids_of(hits: list[ScoredId]) -> list[str]:
    return [hit.chunk_id for hit in hits]


# --------------------------------------------------------------------------- the contract


def test_the_nearest_come_first_with_their_cosine(index: VectorIndex) -> None:
    stored = some(40)
    index.upsert("notes", stored)
    question = unit(1, seed=9)[0]
    cosines = {i: float(vector @ question) for i, vector in stored.items()}
    expected = sorted(cosines, key=lambda i: -cosines[i])[:7]
    hits = index.query("notes", question, 7)
    assert ids_of(hits) == expected
    for hit in hits:
        assert hit.score == pytest.approx(cosines[hit.chunk_id], abs=1e-5)
        assert -1.0 <= hit.score <= 1.0


def test_ties_are_ordered_by_id(index: VectorIndex) -> None:
    """Notes with the same text must not change places from one run to the next."""
    vector = unit(1)[0]
    index.upsert("notes", dict.fromkeys(("c", "a", "e", "b", "d"), vector))
    assert ids_of(index.query("notes", vector, 3)) == ["a", "b", "c"]


def test_an_unknown_vault_is_empty(index: VectorIndex) -> None:
    assert index.query("nope", unit(1)[0], 5) == []
    assert index.ids("nope") == set()
    assert index.count("nope") == 0
    index.delete("nope", ["x"])
    index.drop("nope")


def test_fewer_come_when_there_are_fewer(index: VectorIndex) -> None:
    index.upsert("notes", some(3))
    assert len(index.query("notes", unit(1)[0], 500)) == 3
    assert index.query("notes", unit(1)[0], 0) == []


def test_an_upsert_replaces_the_vector(index: VectorIndex) -> None:
    old, new = unit(2)
    index.upsert("notes", {"a": old})
    index.upsert("notes", {"a": new})
    assert index.count("notes") == 1
    assert index.query("notes", new, 1)[0].score == pytest.approx(1.0, abs=1e-5)


def test_deleted_ids_are_not_found_and_absent_ones_ignored(index: VectorIndex) -> None:
    stored = some(5)
    index.upsert("notes", stored)
    index.delete("notes", ["0001", "0003", "absent"])
    assert index.ids("notes") == {"0000", "0002", "0004"}
    assert set(index.vectors("notes", ["0001", "0002"])) == {"0002"}
    assert index.vectors("notes", ["0002"])["0002"] @ stored["0002"] == pytest.approx(1.0)
    assert index.count("notes") == 3
    assert "0001" not in ids_of(index.query("notes", stored["0001"], 5))
    index.delete("notes", [])


def test_vaults_are_apart_whatever_their_names(index: VectorIndex) -> None:
    names = ["notes", "Notes", "nötes", "n o/t:e s", "日本語", "x" * 300, ".", "", "notes-"]
    for number, name in enumerate(names):
        index.upsert(name, {str(number): unit(1)[0]})
    for number, name in enumerate(names):
        assert index.ids(name) == {str(number)}, name
    index.drop("notes")
    assert index.ids("notes") == set()
    assert index.ids("Notes") == {"1"}


def test_what_is_not_retained_is_gone(index: VectorIndex) -> None:
    """Of a model that was changed, or a vault that was removed: it would fill the disk."""
    for name in ("a", "b", "c"):
        index.upsert(name, some(2))
    index.retain(["b", "never there"])
    assert [index.count(name) for name in ("a", "b", "c")] == [0, 2, 0]
    index.upsert("a", some(1))
    assert index.ids("a") == {"0000"}


def test_a_dropped_vault_can_be_filled_again_with_another_model(index: VectorIndex) -> None:
    index.upsert("notes", some(3))
    index.drop("notes")
    index.upsert("notes", {"a": unit(1, dimensions=24)[0]})
    assert index.ids("notes") == {"a"}


def test_what_is_stored_is_there_after_reopening(open_index: Reopen) -> None:
    first = open_index()
    first.upsert("notes", some(20))
    identity = first.identity
    first.close()
    second = open_index()
    assert second.count("notes") == 20
    assert len(second.query("notes", unit(1)[0], 20)) == 20
    if not isinstance(second, FakeVectorIndex):
        assert second.identity == identity


def test_a_reset_forgets_everything(index: VectorIndex) -> None:
    index.upsert("notes", some(3))
    index.upsert("other", some(3))
    index.reset()
    assert index.ids("notes") == index.ids("other") == set()
    index.upsert("notes", some(2))
    assert index.count("notes") == 2


def test_a_reader_sees_other_writers_after_sync(open_index: Reopen) -> None:
    """Embedded Chroma goes on answering from memory: without this a new note is never found."""
    reader, writer = open_index(), open_index()
    vectors = unit(2)
    writer.upsert("notes", {"old": vectors[0]})
    writer.seal()
    reader.sync_to(1)
    assert ids_of(reader.query("notes", vectors[1], 5)) == ["old"]
    writer.upsert("notes", {"new": vectors[1]})
    writer.delete("notes", ["old"])
    writer.seal()
    reader.sync_to(2)
    assert ids_of(reader.query("notes", vectors[1], 5)) == ["new"]


def test_a_reader_outlives_a_store_that_is_made_anew(open_index: Reopen) -> None:
    reader, writer = open_index(), open_index()
    writer.upsert("notes", some(3))
    writer.seal()
    reader.sync_to(1)
    assert reader.count("notes") == 3
    writer.drop("notes")
    writer.upsert("notes", some(2))
    writer.seal()
    reader.sync_to(2)
    assert reader.count("notes") == 2
    assert len(reader.query("notes", unit(1)[0], 9)) == 2
    writer.reset()
    reader.sync_to(3)
    assert reader.query("notes", unit(1)[0], 9) == []


# --------------------------------------------------------------------------- real stores only


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "chroma"


@pytest.mark.parametrize(
    "bad",
    [
        np.ones(3, dtype=np.float32),
        np.ones((2, DIMENSIONS), dtype=np.float32),
        np.ones(0, dtype=np.float32),
    ],
)
def test_a_broken_vector_is_refused_and_harms_nothing(folder: Path, bad: Vector) -> None:
    index = PersistentChroma(folder.parent)
    index.upsert("notes", some(3))
    with pytest.raises(StoreError):
        index.upsert("notes", {"bad": bad})
    with pytest.raises(StoreError):
        index.upsert("notes", {"good": unit(1)[0], "bad": bad})
    with pytest.raises(StoreError):
        index.query("notes", bad, 3)
    assert index.ids("notes") == {"0000", "0001", "0002"}
    index.close()


def test_more_than_chromas_batch_at_once(folder: Path) -> None:
    index = PersistentChroma(folder.parent)
    many = some(6000)
    index.upsert("notes", many)
    assert index.count("notes") == 6000
    index.delete("notes", list(many)[:5900])
    assert index.count("notes") == 100
    index.close()


def test_names_that_chroma_allows() -> None:
    for name in ("", "..", "é" * 400, "a" * 600, "x/y", "-"):
        made = collection_name(name)
        assert 3 <= len(made) <= 512
        assert made[0].isalnum()
        assert made[-1].isalnum()
        assert made.replace("-", "").isascii()
        assert made != collection_name(name, "another namespace")


def test_nothing_is_opened_or_made_to_read_an_empty_store(folder: Path) -> None:
    """`ask` before the first `index` would spend a second on importing Chroma and leave files."""
    code = (
        "import sys; from pathlib import Path\n"
        "from ragvault.adapters.chroma.persistent import PersistentChroma\n"
        "folder = Path(sys.argv[1]); index = PersistentChroma(folder.parent)\n"
        "assert index.stored_identity() is None and index.size() == 0\n"
        "assert index.count('v') == 0 and index.ids('v') == set()\n"
        "index.delete('v', ['a']); index.drop('v'); index.sync_to(3); index.close()\n"
        "assert not {'chromadb', 'numpy', 'httpx'} & set(sys.modules), 'imported too early'\n"
        "assert not folder.exists()\n"
    )
    _python(code, str(folder))


def test_the_identity_is_the_stores_own(folder: Path) -> None:
    """A store that was deleted or copied over must not be taken for the one the catalog knows."""
    index = PersistentChroma(folder.parent)
    first = index.identity
    assert index.stored_identity() is None, "not before it is whole"
    index.seal()
    assert index.stored_identity() == first
    index.upsert("notes", some(1))
    index.close()
    assert index.stored_identity() == first == index.identity
    assert index.size() > 1000
    index.reset()
    assert index.stored_identity() is None
    assert index.identity != first
    index.close()
    (folder / "chroma.sqlite3").unlink()
    assert index.stored_identity() is None


def test_servers_and_indexes_have_identities_of_their_own(tmp_path: Path) -> None:
    """Else a store that was never filled would be taken for the one that was."""
    here, there = tmp_path / "here", tmp_path / "there"
    settings = [StoreSettings(mode="http", host="h", port=port) for port in (1, 2)]
    settings.append(StoreSettings(mode="http", host="h", port=1, ssl=True))
    stores = [HttpChroma(here, one) for one in settings] + [HttpChroma(there, settings[0])]
    made = [store.stored_identity() for store in stores]
    assert len(set(made)) == 4
    assert [store.identity for store in stores] == made, "also the second time"


def test_installations_on_one_server_do_not_touch_each_other(server: int, tmp_path: Path) -> None:
    mine, theirs = (http_index(tmp_path / name, server) for name in ("mine", "theirs"))
    mine.upsert("notes", some(3))
    theirs.upsert("notes", some(5))
    mine.reset()
    assert (mine.count("notes"), theirs.count("notes")) == (0, 5)
    mine.close()
    theirs.close()


def test_a_collection_that_is_made_anew_in_between_is_asked_for_again(
    server: int, tmp_path: Path
) -> None:
    """Another process refills the store between a reader's asking for it and its query."""
    writer = http_index(tmp_path, server)
    writer.upsert("notes", some(3))

    class Between(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

        def do_POST(self) -> None:
            if self.path.endswith("/query") and writer.count("notes") == 3:
                writer.drop("notes")
                writer.upsert("notes", some(5))
            self.do_GET()

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            to = HTTPConnection("127.0.0.1", server)
            to.request(self.command, self.path, body, dict(self.headers))
            reply = to.getresponse()
            data = reply.read()
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.getheader("Content-Type", ""))
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    with ThreadingHTTPServer(("127.0.0.1", 0), Between) as proxy:
        Thread(target=proxy.serve_forever, daemon=True).start()
        reader = http_index(tmp_path, proxy.server_port)
        assert ids_of(reader.query("notes", some(5)["0004"], 1)) == ["0004"]
        reader.close()
        proxy.shutdown()
    writer.close()


def _python(code: str, *args: str) -> str:
    run = subprocess.run(
        [sys.executable, "-c", code, *args],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stderr == "", "Chroma's noise would mix with the progress on stderr"
    return run.stdout


_WRITER = """
import sys; from pathlib import Path; import numpy as np
from ragvault.adapters.chroma.persistent import PersistentChroma
index = PersistentChroma(Path(sys.argv[1]).parent)
rows = np.eye(16, dtype=np.float32)
index.upsert("notes", {f"new{i}": rows[i] for i in range(16)})
index.close()
"""


def test_a_long_lived_reader_sees_another_process_after_sync(folder: Path) -> None:
    """The real thing: a writer in a process of its own, and a reader that was open before."""
    reader = PersistentChroma(folder.parent)
    reader.upsert("notes", some(300))
    reader.seal()
    rows = np.eye(16, dtype=np.float32)
    reader.sync_to(1)
    assert ids_of(reader.query("notes", rows[3], 1)) != ["new3"]
    _python(_WRITER, str(folder))
    reader.sync_to(2)
    assert ids_of(reader.query("notes", rows[3], 1)) == ["new3"]
    assert reader.count("notes") == 316
    reader.close()


def _filled(folder: Path) -> None:
    index = PersistentChroma(folder.parent)
    index.upsert("notes", some(1500))
    index.close()


@pytest.mark.parametrize("damage", ["garbage", "truncated", "zeroed", "hnsw header", "hnsw ids"])
def test_a_damaged_store_is_named_so_and_can_be_reset(folder: Path, damage: str) -> None:
    _filled(folder)
    database = folder / "chroma.sqlite3"
    if damage == "garbage":
        database.write_bytes(b"garbage" * 2000)
    elif damage == "truncated":
        database.write_bytes(database.read_bytes()[: database.stat().st_size // 2])
    elif damage == "zeroed":
        content = bytearray(database.read_bytes())
        content[8192:200_000] = bytes(200_000 - 8192)
        database.write_bytes(content)
    else:
        name = "header.bin" if damage == "hnsw header" else "index_metadata.pickle"
        (segment,) = folder.glob(f"*/{name}")
        segment.write_bytes(b"x" * 50)
    index = PersistentChroma(folder.parent)
    with pytest.raises(StoreDamagedError, match="vector store") as caught:
        index.count("notes")
        index.query("notes", unit(1)[0], 3)
    assert "ragvault index" in caught.value.hint
    index.reset()
    index.upsert("notes", some(3))
    assert index.count("notes") == 3
    index.close()


def test_a_file_in_the_place_of_the_folder_is_an_error_with_a_hint(folder: Path) -> None:
    folder.write_text("not a folder")
    with pytest.raises(StoreError, match="chroma") as caught:
        PersistentChroma(folder.parent).upsert("notes", some(1))
    assert "ragvault index" in caught.value.hint


def test_a_server_that_is_down_is_named(server: int, tmp_path: Path) -> None:
    port = free_port()
    with pytest.raises(StoreError, match=f"127.0.0.1:{port}") as caught:
        http_index(tmp_path, port).count("notes")
    assert "store.port" in caught.value.hint


def test_a_server_that_goes_away_is_named(tmp_path: Path) -> None:
    with chroma_server(tmp_path / "server") as port:
        index = http_index(tmp_path, port)
        index.upsert("notes", some(3))
    with pytest.raises(StoreError, match=f"127.0.0.1:{port}.*reached"):
        index.query("notes", unit(1)[0], 3)


def test_no_env_file_or_variable_redirects_the_store(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """chromadb reads ``.env`` of the current folder, which may be anyone's vault."""
    (tmp_path / ".env").write_text("CHROMA_API_IMPL=nonsense\nCHROMA_SERVER_HOST=example.org\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CHROMA_OTEL_COLLECTION_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("PERSIST_DIRECTORY", str(tmp_path / "elsewhere"))
    index = PersistentChroma(folder.parent)
    index.upsert("notes", some(1))
    settings = chroma_settings()
    assert settings.chroma_otel_collection_endpoint == ""
    assert settings.anonymized_telemetry is False
    assert settings.chroma_server_host is None
    index.close()
    assert (folder / "chroma.sqlite3").exists()
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("how", ["query('notes', [1.0], 1)", "drop('notes')"])
def test_an_env_file_that_chroma_cannot_read_is_told(folder: Path, how: str) -> None:
    """In a process of its own: it is read when chromadb is imported."""
    _filled(folder)
    (folder.parent / ".env").write_text("CHROMA_SERVER_HTTP_PORT=none\n")
    code = (
        "import os, sys; from pathlib import Path\n"
        "from ragvault.adapters.chroma.persistent import PersistentChroma\n"
        "from ragvault.errors import StoreError\n"
        "folder = Path(sys.argv[1]); os.chdir(folder)\n"
        f"try: PersistentChroma(folder).{how}\n"
        "except StoreError as error: print(error.message)\n"
    )
    assert "failed (1 validation error for Settings)" in _python(code, str(folder.parent))


# --------------------------------------------------------------------------- the table of errors


def _subclasses(kind: type[BaseException]) -> set[type[BaseException]]:
    direct = set(kind.__subclasses__())
    return direct.union(*(_subclasses(sub) for sub in direct)) if direct else set()


def test_every_error_of_chroma_and_httpx_is_in_the_table() -> None:
    import httpx
    from chromadb import errors as chroma_errors

    for kind in set(chroma_errors.error_types.values()) | _subclasses(chroma_errors.ChromaError):
        assert any(base.__name__ in BY_CLASS for base in kind.__mro__), kind
    httpx_kinds = {
        kind
        for name in dir(httpx)
        if isinstance(kind := getattr(httpx, name), type) and issubclass(kind, Exception)
    }
    assert httpx_kinds, "httpx moved its exceptions"
    for kind in httpx_kinds:
        assert any(base.__name__ in BY_CLASS for base in kind.__mro__), kind


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("error returned from database: (code: 13) database or disk is full", DiskFullError),
        ("IO error: No space left on device (os error 28)", DiskFullError),
        ("(code: 5) database is locked", IndexBusyError),
        ("(code: 11) database disk image is malformed", StoreDamagedError),
        ("something never seen before", StoreDamagedError),
    ],
)
def test_the_rust_cores_words_decide(words: str, expected: type[RagvaultError]) -> None:
    from chromadb.errors import InternalError

    assert type(translate(InternalError(words), "/index", server=False)) is expected


def test_a_log_that_cant_be_read_is_damage_though_chroma_calls_it_an_argument() -> None:
    """A catalog in the place of chroma.sqlite3: every fifth `repair` ended at this."""
    from chromadb.errors import InvalidArgumentError

    torn = "Error in compaction: Failed to pull logs from the log store"
    made = translate(InvalidArgumentError(torn), "/index", server=False)
    assert type(made) is StoreDamagedError
    refused = translate(InvalidArgumentError("expecting dimension 3"), "/index", server=False)
    assert type(refused) is StoreError


def test_a_readonly_store_is_no_damage() -> None:
    from chromadb.errors import InternalError

    error = InternalError("(code: 8) attempt to write a readonly database")
    made = translate(error, "/index", server=False)
    assert type(made) is StoreError
    assert "permissions" in made.hint


def test_a_servers_inner_error_is_not_for_this_machine_to_rebuild() -> None:
    from chromadb.errors import InternalError

    made = translate(InternalError("hnsw exploded"), "host:1", server=True)
    assert type(made) is StoreError
    assert "host:1" in made.message
