"""Input that nobody thought of, led by what of the code it reaches (atheris, libFuzzer).

    make fuzz MINUTES=10            # all targets, in turn
    python -m tests.bench.fuzz TARGET FOLDER [libFuzzer's options]

Begins with the sample vault's notes and the golden drafts. What ends a target, a traceback or a
minute without an end, stands in FOLDER as ``TARGET-crash-…`` or ``TARGET-timeout-…``: it becomes a
test, and is mended.
"""

from __future__ import annotations

import importlib
import json
import math
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
# Bytes of an input, seeds too. A draft is read twice, and each of its statements is checked.
_LONGEST = {"note": 4_000, "draft": 500, "statement": 4_000, "config": 4_000, "name": 4_000}
_HANGS_S = 60  # by the clock, instrumented, on a machine that is busy


def _targets() -> dict[str, Callable[[bytes], None]]:
    """Each takes any bytes. Raises for what must not be."""
    from ragvault.answering.check.binding import loose_parts
    from ragvault.answering.check.support import unsupported
    from ragvault.answering.citations.stream import CitationStream
    from ragvault.cli.commands.search import shell_quoted
    from ragvault.config.file import settings_in
    from ragvault.config.settings import ChunkingSettings
    from ragvault.errors import ConfigError
    from ragvault.formats import reader_for
    from ragvault.formats.decoding import NotTextError, read_lines
    from ragvault.ingest.chunk import chunk_note
    from ragvault.ingest.paths import shown
    from ragvault.model import VaultInfo
    from ragvault.service.originals import Links
    from tests.support.answering import hit
    from tests.support.chunking import CharCounter, WordCounter, uncovered_lines

    hits = (
        hit("projects/meeting-notes.md", "Meetings > Weekly", "We meet Monday. Budget is 1,500."),
        hit("top.md", "", "Text about cats and dogs. Use `git push`.", rank=2),
    )

    def note(data: bytes) -> None:
        kind, window, data = data[:1], data[1:2], data[2:]
        try:
            read = reader_for("a.txt" if kind < b"@" else "a.md")("dir/a.md", data, 0.0)
        except NotTextError:
            return
        counter = WordCounter() if kind < b"\x80" else CharCounter()
        chunks = chunk_note(read, "v", counter, ChunkingSettings(), 12 + int.from_bytes(window))
        assert chunks and not uncovered_lines(read, chunks)
        assert len({chunk.id for chunk in chunks}) == len(chunks)

    def draft(data: bytes) -> None:
        size, said = data[0] % 40 + 1 if data else 1, data[1:].decode("utf-8", "replace")

        def heard(pieces: list[str]) -> tuple[str, str]:
            stream = CitationStream(hits)
            events = [event for piece in pieces for event in stream.feed(piece)] + stream.close()
            return "".join(getattr(event, "text", "") for event in events), stream.result().text

        parts = [said[at : at + size] for at in range(0, len(said), size)]
        whole = heard([said])
        assert heard(parts) == whole, "the tokens' borders change the answer"
        assert "\x1b" not in whole[1]

    def statement(data: bytes) -> None:
        said, _, read = data.decode("utf-8", "replace").partition("\0")
        text = "\n".join(read_lines(read)[0])  # as a passage is
        cited = (hit("a.md", "Trips > Rome", text),)
        unsupported(said, cited)
        loose_parts(said, cited, "Rome")
        assert not unsupported(text, cited), "what a passage says is held by it"

    def config(data: bytes) -> None:
        try:
            settings_in(Path("/config.yaml"), data.decode("utf-8", "replace"))
        except ConfigError as error:
            assert error.message

    def name(data: bytes) -> None:
        path = data.decode("utf-8", "surrogateescape").replace("\0", "")
        assert shown(path).isprintable() and shell_quoted(path).isprintable()
        if all(c.isprintable() and not "\ud800" <= c <= "\udfff" for c in path):
            assert shlex.split(shell_quoted(path)) == [path]
        vault = [VaultInfo("v", Path("/v"), "folder")]
        assert str(Links(vault, "obsidian").uri("v", path, (path,))).isascii()
        if path and not path.startswith("/"):
            assert str(Links(vault, "file").uri("v", path)).isascii()

    return {"note": note, "draft": draft, "statement": statement, "config": config, "name": name}


def _seeds(target: str) -> Iterator[bytes]:
    vault = ROOT / "tests" / "sample-vault"
    if target == "note":
        yield from (b"z\x28" + path.read_bytes() for path in vault.rglob("*.md"))
    if target == "draft":
        for path in (ROOT / "tests" / "golden" / "citations").glob("*.txt"):
            drafts = path.read_bytes().partition(b"---\n")[2].split(b"\n\n")
            yield from (b"\x05" + part for part in drafts)
    if target == "statement":
        lines = (ROOT / "evals" / "statements" / "cases.jsonl").read_text().splitlines()
        said = [json.loads(line)["statement"] for line in lines]  # the true beside the false
        yield from (
            f"{one}\0{other}".encode() for one, other in zip(said[::9], said[1::9], strict=False)
        )
    if target == "config":
        yield (ROOT / "config.example.yaml").read_bytes()
    if target == "name":
        yield from (str(path.relative_to(vault)).encode() for path in vault.rglob("*"))


def all_in_turn(minutes: float, folder: Path) -> int:
    """How many targets found something."""
    found = 0
    for target in _LONGEST:
        corpus = folder / target
        corpus.mkdir(parents=True, exist_ok=True)
        for number, seed in enumerate(_seeds(target)):
            (corpus / f"seed-{number}").write_bytes(seed)
        seconds = math.ceil(60 * minutes / len(_LONGEST))
        options = [f"-max_total_time={seconds}", f"-artifact_prefix={folder}/{target}-"]
        command = [sys.executable, "-m", "tests.bench.fuzz", target, str(corpus), *options]
        print(f"{target}: {seconds} s", flush=True)
        found += subprocess.run(command, cwd=ROOT, check=False).returncode != 0
    return found


def main(argv: list[str]) -> int:
    if argv and argv[0] not in _LONGEST:
        return all_in_turn(float(argv[0]), Path(argv[1]).absolute())
    if len(argv) < 2:
        sys.exit(__doc__)
    atheris: Any = importlib.import_module("atheris")  # `make fuzz` installs it
    with atheris.instrument_imports(include=["ragvault", "markdown_it"]):
        targets = _targets()
    options = [f"-max_len={_LONGEST[argv[0]]}", f"-timeout={_HANGS_S}", "-rss_limit_mb=1500"]
    atheris.Setup([sys.argv[0], *options, *argv[1:]], targets[argv[0]])
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
