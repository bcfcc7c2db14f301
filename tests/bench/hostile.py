"""Seventy model servers that aren't one, or have gone mad, each asked by the whole program.

    python -m tests.bench.hostile VAULT QUESTION [FOLDER]

Each is met by `ask QUESTION` on an index of VAULT, which is kept in FOLDER. Every run has to end
within the limit that is set, under 300 MB, and with the notes' own words (0), "not in your notes"
(3) or "the model server" (5).
"""

from __future__ import annotations

import gzip
import itertools
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.bench.measure import Bench, run
from tests.support.hostile_server import OK, Reply, hostile_server, part

TIMEOUT_S = 2.0
LIMIT_S = (
    10 * TIMEOUT_S + 40
)  # ``limits.WHOLE_ANSWER``, and the program around it on a busy machine
LIMIT_MB = 300.0
ENDS = (0, 3, 5)  # exit codes
DONE = part("", done=True, done_reason="stop")
CHUNKED = OK[:-2] + b"Transfer-Encoding: chunked\r\n\r\n"


def says(*blocks: bytes) -> Reply:
    return lambda: [OK, *blocks]


def for_ever(*blocks: bytes, after: bytes = b"") -> Reply:
    return lambda: itertools.chain([OK + after], itertools.cycle(blocks))


def slowly(block: bytes, pause: float, head: bytes = OK) -> Reply:
    def dripping() -> Iterator[bytes]:
        yield head
        while True:
            time.sleep(pause)
            yield block

    return dripping


def status(code: int, body: bytes = b'{"error": "no"}', more: bytes = b"") -> Reply:
    head = b"HTTP/1.1 %d Oh\r\n%sContent-Length: %d\r\n\r\n" % (code, more, len(body))
    return lambda: [head, body]


def hangs(head: bytes = b"") -> Reply:
    def silent() -> Iterator[bytes]:
        yield head
        time.sleep(600)

    return silent


def repeated(text: str, times: int) -> Reply:
    """A draft of ``times`` parts, and its end."""
    return lambda: itertools.chain([OK], itertools.repeat(part(text), times), [DONE])


def counting(count: str) -> Reply:
    return says(part("x", done=True, prompt_eval_count=7).replace(b": 7", b": " + count.encode()))


def packed(kind: bytes, body: bytes) -> Reply:
    return lambda: [OK[:-2] + b"Content-Encoding: " + kind + b"\r\n\r\n", body]


BOMB = gzip.compress(bytes(50_000_000))
CHAT: dict[str, Reply] = {
    "text without end": for_ever(part("word ")),
    "sentences without end": for_ever(part("It is so. ")),
    "citations without end": for_ever(part("It is so [1]. ")),
    "new lines without end": for_ever(part("\n")),
    "white space without end": for_ever(part(" " * 500)),
    "reasoning without end": for_ever(part(thinking="hm ")),
    "a <think> without end": for_ever(part("hm "), after=part("<think>")),
    "a <think> that opens again": for_ever(part("<think>"), part("</think>")),
    "empty parts without end": for_ever(part("")),
    "blank lines without end": for_ever(b"\n" * 65536),
    "a line without end": for_ever(b"x" * 65536),
    "a text without end in one line": for_ever(b"x" * 65536, after=part("")[:-20]),
    "done, and on for ever": for_ever(part("more "), after=part("x", done=True)),
    "one byte at a time, no line": slowly(b" ", 0.05),
    "a part each 1.9 s": slowly(part("word "), 1.9),
    "a byte of a part each second": slowly(b" ", 1.0, OK + part("x")[:20]),
    "silence": hangs(),
    "silence after the head": hangs(OK),
    "silence after a word": hangs(OK + part("word")),
    "half a head": hangs(b"HTTP/1.1 200 OK\r\nContent-"),
    "32,000 times `[`": repeated("[" * 500, 64),
    "32,000 times a backtick": repeated("`" * 500, 64),
    "8,000 times `1. `": repeated("1. " * 200, 40),
    "8,000 times `Dr. `": repeated("Dr. " * 200, 40),
    "fences in fences": repeated("```\n" * 100, 60),
    "10,000 headings": repeated("# a\n" * 200, 50),
    "one sentence 2,000 times": repeated("The notes say that git lists files. ", 2_000),
    "half a character": says(part("a \ud800 b"), DONE),
    "escape sequences": says(part("\x1b]52;c;AAAA\x07\x1b[2J\u202egit"), DONE),
    "NUL": says(part("a\0b"), DONE),
    "a bomb": packed(b"gzip", BOMB),
    "a bomb in a bomb": packed(b"gzip, gzip", gzip.compress(BOMB)),
    "packed as nobody knows": packed(b"zzz", b"abc"),
    "100,000 brackets": says(b"[" * 100_000 + b"\n"),
    "100,000 braces": says(b'{"a":' * 100_000 + b"\n"),
    "a count of 5,000 digits": counting("9" * 5000),
    "a count beyond 64 bits": counting("99999999999999999999999"),
    "a count below none": counting("-1"),
    "a count that is a word": counting('"many"'),
    "not UTF-8": says(b'{"message": "\xff\xfe"}\n'),
    "a list": says(b"[1, 2]\n"),
    "null": says(b"null\n"),
    "NaN": says(b'{"message": NaN}\n'),
    "a message of another kind": says(b'{"message": [1], "done": 3}\n'),
    "another server's page": says(b"<html>" * 1000),
    "nothing": says(),
    "no end": says(part("It is so.")),
    "no HTTP at all": lambda: [b"hello\r\n\r\n"],
    "another HTTP": lambda: [b"HTTP/9.9 200 OK\r\n\r\n", DONE],
    "half a chunk": lambda: [CHUNKED + b"FFFF\r\nabc"],
    "a chunk of no size": lambda: [CHUNKED + b"ZZ\r\nabc"],
    "chunks of one byte, for ever": lambda: itertools.chain(
        [CHUNKED], itertools.repeat(b"1\r\n \r\n")
    ),
    "a wrong length": lambda: [OK[:-2] + b"Content-Length: 999\r\n\r\n" + DONE],
    "two lengths": lambda: [OK[:-2] + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}"],
    "a header of a megabyte": lambda: [OK[:-2] + b"X: " + b"x" * 1_000_000 + b"\r\n\r\n"],
    "headers without end": lambda: itertools.chain([OK[:-2]], itertools.repeat(b"X: y\r\n")),
    "100 for ever": lambda: itertools.repeat(b"HTTP/1.1 100 Continue\r\n\r\n"),
    "a redirect to itself": status(307, b"", b"Location: /api/chat\r\n"),
    "a redirect elsewhere": status(308, b"", b"Location: http://192.0.2.1/api/chat\r\n"),
    "an error": status(500),
    "an error without end": lambda: itertools.chain(
        [b"HTTP/1.1 500 Oh\r\n\r\n"], itertools.repeat(b"x" * 65536)
    ),
    "an error that is no JSON": status(502, b"<html>Bad gateway</html>"),
    "no such model": status(404, b'{"error": "model \\"m\\" not found"}'),
    "no memory": status(500, b'{"error": "model requires more system memory"}'),
    "no access": status(401),
    "too many": status(429),
}
# What goes before: which version, which models, what a model can do.
BEFORE: dict[tuple[str, str], Reply] = {
    ("/api/tags", "a list of models without end"): for_ever(b'{"models": [' + b"{}," * 20_000),
    ("/api/tags", "a list of no models"): says(b'{"models": []}'),
    ("/api/tags", "models that are none"): says(b'{"models": [1, null, {"model": 7}]}'),
    ("/api/tags", "silence for the list"): hangs(),
    ("/api/show", "a model without end"): for_ever(b'{"modelinfo": "' + b"x" * 65536),
    ("/api/show", "a model of no shape"): says(b'{"model_info": 3, "capabilities": {"a": 1}}'),
    ("/api/show", "a window of 10^30 tokens"): says(
        b'{"model_info": {"llama.context_length": 1' + b"0" * 30 + b'}, "capabilities": []}'
    ),
}


def servers() -> Iterable[tuple[str, str, Reply]]:
    yield from (("/api/chat", name, reply) for name, reply in CHAT.items())
    yield from ((path, name, reply) for (path, name), reply in BEFORE.items())


def main(argv: list[str]) -> int:
    if len(argv) < 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory(prefix="ragvault-hostile-") as made:
        bench = Bench(Path(argv[2]) if len(argv) > 2 else Path(made))
        index = bench.folder / "index"
        if not (index / "catalog.sqlite3").exists():
            bench.ragvault(index, "index", argv[0])
        return _asked(bench, index, argv[1])


def _asked(bench: Bench, index: Path, question: str) -> int:
    drawn = Table(title="`ask` with a hostile model server", title_justify="left")
    for name in ("server", "exit", "seconds", "MB", "what was said"):
        drawn.add_column(name, justify="right" if name in ("exit", "seconds", "MB") else "left")
    bad = 0
    for number, (path, name, reply) in enumerate(servers(), 1):
        with hostile_server(reply, path) as host:
            environment = {
                **bench.environment(index),
                "RAGVAULT_OLLAMA_HOST": host,
                "RAGVAULT_OLLAMA_TIMEOUT_S": str(TIMEOUT_S),
            }
            ask = [bench.python, "-m", "ragvault", "ask", "--json", question]
            command = [shutil.which("timeout") or "/usr/bin/timeout", f"{2 * LIMIT_S:g}", *ask]
            done = run(command, environment, ok=tuple(range(-64, 256)))
        said = json.loads(done.stdout or "{}")
        error, meta = said.get("error", {}), said.get("meta", {})
        code = error.get("exit_code", 3 if said.get("abstained") else 0) if said else -1
        text = error.get("message") or "; ".join(meta.get("notices", ())) or said.get("answer", "-")
        wrong = code not in ENDS or done.cost.wall > LIMIT_S or done.peak_mb > LIMIT_MB
        bad += wrong
        row = (
            name,
            str(code) if said else "none",
            f"{done.cost.wall:.1f}",
            f"{done.peak_mb:.0f}",
            " ".join(text.split())[:90],
        )
        drawn.add_row(*row, style="bold red" if wrong else None)
        print(f"{number}: {' · '.join(row)}", file=sys.stderr, flush=True)
    Console(width=None if sys.stdout.isatty() else 160).print(drawn)
    print(f"{number} servers, {bad} beyond the limits ({LIMIT_S:g} s, {LIMIT_MB:g} MB)")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
