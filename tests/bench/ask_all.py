"""Ask many questions, and hold each answer to DESIGN.md's contract of ``ask --json``.

    python -m tests.bench.ask_all INDEX_FOLDER QUESTIONS.jsonl [--server down|scripted|real]
        [--vault NAME] [--limit N] [--processes N]

Checks that stdout is one JSON object with every promised key, of the promised type, that the exit
code is 0 or 3 as ``abstained`` says, that stderr holds no traceback, and that each reference and
citation is consistent. The command line runs in this process (its models and stores stay loaded);
``--processes`` asks some of the questions again, each in a process of its own. ``scripted`` is a
server whose replies go round: sentences of the passages sent, true or with another number, invented
ones, mangled, uncited, uncertain, broken off, empty, refused. For each it is known what must become
of it: true statements stay, false ones are marked or not shown. Exit code 1 when a check fails.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.cli import NO_SERVER, ROOT

MODEL = {"name": "llama3.2:latest", "context_length": 8192, "capabilities": ["completion"]}


@dataclass(frozen=True)
class Case:
    """A scripted reply, and what the answer to it must be: its ``mode`` (None: either written or
    quoted), how many statements are ``wrong`` (reported as unsupported), which citations are
    ``removed``, and words that a caveat holds or the answer doesn't."""

    reply: str | dict[str, Any]
    mode: str | None = None
    wrong: int | None = None
    removed: int | None = None
    caveat: str = ""
    hidden: str = ""


CASES = (
    Case("{sentence:1} {citation:1}", "llm", 0, 0),
    Case("According to the notes, {sentence:1} {citation:1}. {sentence:2} {citation:2}", "llm", 0),
    # altered numbers: never alone an answer; beside a true statement, marked
    Case("{changed:1} {citation:1}", "extractive"),
    Case("{sentence:1} {citation:1} {changed:1} {citation:1}", "llm", 1, caveat="not held"),
    Case(
        "{sentence:1} {citation:1} The Zanzibar Committee bought 8391 blue elephants {citation:1}.",
        "llm", 1, caveat="not held",
    ),
    Case("The Zanzibar Committee bought 8391 blue elephants {citation:1}.", "extractive",
         hidden="Zanzibar"),
    Case("{sentence:1} {citation:1} {sentence:1} [File: nowhere.md, Section: None]", "llm", 0, 1,
         hidden="nowhere.md"),
    Case("{sentence:1} [File: Invented/never.md, Section: Not > There]", "extractive",
         hidden="never.md"),
    Case("Mangled [file: {citation:1}. And [File: nowhere.md, Section: None]. Also [1] and [2].",
         hidden="nowhere.md"),
    Case("No citation at all, whatever one asks for.", "extractive", hidden="whatever one asks"),
    Case("I don't have enough information in your notes to answer that.", "none"),
    Case({"steps": [{"text": "{sentence:1} {citation:1} And then the other "},
                    {"disconnect": True}]},
         "llm", 0, caveat="cut off", hidden="And then the other"),
    Case({"steps": [{"text": "And then the oth"}, {"disconnect": True}]}, "extractive"),
    Case("", "extractive"),
    Case({"status": 500, "steps": [{"text": "the server broke"}]}, "extractive",
         hidden="server broke"),
    Case({"steps": [{"thinking": "hmm"},
                    {"text": "<think>aloud</think>{sentence:1} {citation:1}"}]},
         "llm", 0, hidden="aloud"),
    Case("\u001b[31m{sentence:1} {citation:1}\u001b[0m \u202eAnd " + "word " * 400, "llm"),
    Case(f"{{sentence:1}} {{citation:1}} {'It says so over and over. ' * 30}", "llm",
         caveat="repeat"),
)  # fmt: skip


def misjudged(case: Case, value: dict[str, Any]) -> list[str]:
    """What the answer to a scripted reply should have been and isn't. An abstention before any
    model was asked is right by itself."""
    if value["mode"] == "none" and value["meta"]["model"] is None:
        return []
    removed = sum(c["status"] == "removed" for c in value["citations"])
    caveats = " ".join(value["caveats"])
    rules = {
        f"mode is not {case.mode}": case.mode in (None, value["mode"]),
        f"not {case.wrong} wrong": case.wrong in (None, len(value["unsupported"])),
        f"not {case.removed} removed": case.removed in (None, removed),
        f"no caveat {case.caveat!r}": case.caveat in caveats,
        f"{case.hidden!r} is shown": not case.hidden or case.hidden not in value["answer"],
    }
    return [
        f"{name}, to {json.dumps(case.reply)[:90]}: {json.dumps(value)[:900]}"
        for name, ok in rules.items()
        if not ok
    ]


KEYS: dict[str, tuple[type, ...]] = {
    "schema_version": (int,), "question": (str,), "answer": (str,), "abstained": (bool,),
    "abstain_reason": (str, type(None)), "mode": (str,), "confidence": (int, float),
    "confidence_band": (str,), "references": (list,), "citations": (list,), "nearest": (list,),
    "meta": (dict,),
}  # fmt: skip
REFERENCE: dict[str, tuple[type, ...]] = {
    "marker": (int,), "vault": (str,), "rel_path": (str,), "heading_path": (list,),
    "chunk_index": (int,), "chunk_id": (str,), "start_line": (int,), "end_line": (int,),
    "snippet": (str,), "score": (int, float), "modified": (str,),
}  # fmt: skip
CITATION: dict[str, tuple[type, ...]] = {
    "raw": (str,), "position": (int,), "status": (str,), "chunk_id": (str, type(None)),
}  # fmt: skip
META: dict[str, tuple[type, ...]] = {
    "model": (str, type(None)), "id": (str,), "retrieval": (dict,),
    "llm_ms": (int, float, type(None)), "total_ms": (int, float),
    "prompt_tokens": (int, type(None)), "completion_tokens": (int, type(None)),
    "notices": (list,),
}  # fmt: skip
RETRIEVAL: dict[str, tuple[type, ...]] = {
    "k": (int,), "strategy": (str,), "candidate_count": (int,), "rerank_count": (int,),
    "time_ms": (int, float),
}  # fmt: skip
REASONS = {"no_relevant_context", "insufficient_information", "ambiguous_question"}


def faults(question: str, code: int, out: str, err: str) -> list[str]:
    """What is wrong with one run of ``ask --json``; empty when all is as promised."""
    found = ["a traceback on stderr"] if "Traceback" in err else []
    try:
        value = json.loads(out)
    except ValueError as error:
        return [*found, f"stdout is no JSON ({error}): {out[:200]!r}"]
    if "error" in value:
        return [*found, f"exit {code}: {value['error']}"]
    found += _typed(value, KEYS, "")
    if found:
        return found
    found += _typed(value["meta"], META, "meta.")
    found += _typed(value["meta"]["retrieval"], RETRIEVAL, "meta.retrieval.")
    for name, shape in (("references", REFERENCE), ("nearest", REFERENCE), ("citations", CITATION)):
        for entry in value[name]:
            found += _typed(entry, shape, f"{name}.")
    return found + _contradictions(value, question, code)


def _typed(value: dict[str, Any], shape: dict[str, tuple[type, ...]], prefix: str) -> list[str]:
    return [
        f"{prefix}{name} is {value.get(name, 'missing')!r}"
        for name, types in shape.items()
        if name not in value or not isinstance(value[name], types)
    ]


def _contradictions(value: dict[str, Any], question: str, code: int) -> list[str]:
    abstained = value["abstained"]
    rules = {
        "the exit code": code == (3 if abstained else 0),
        "the question": value["question"].split() == question.split(),
        "schema_version": value["schema_version"] == 1,
        "confidence": 0.0 <= value["confidence"] <= 1.0,
        "the band": value["confidence_band"] in ("high", "medium", "low", "very_low"),
        "mode": value["mode"] in (("none",) if abstained else ("llm", "extractive", "none")),
        "the reason": (value["abstain_reason"] in REASONS)
        if abstained
        else value["abstain_reason"] is None,
        "references": not (abstained and value["references"]),
        "an answer": bool(value["answer"].strip()),
        "control characters": not any(c in value["answer"] for c in "\x1b\u202e"),
        "markers": [r["marker"] for r in value["references"]]
        == list(range(1, len(value["references"]) + 1)),
    }
    cited = {c["chunk_id"] for c in value["citations"] if c["status"] != "removed"}
    shown = {r["chunk_id"] for r in value["references"]}
    rules["references are what is cited"] = abstained or cited == shown
    rules["positions"] = all(
        value["answer"][c["position"] :].startswith("[File: ")
        for c in value["citations"]
        if c["status"] != "removed"
    )
    return [f"{name} is wrong: {json.dumps(value)[:600]}" for name, ok in rules.items() if not ok]


class InProcess:
    """The command line in this process. The container outlives a command, else each question
    would load the model and open the stores again."""

    def __init__(self) -> None:
        from ragvault.cli import session
        from ragvault.wiring import Container

        kept: list[Container] = []

        class Kept(Container):
            def __new__(cls, *_arguments: Any) -> Any:
                if not kept:
                    kept.append(super().__new__(cls))
                return kept[0]

            def __init__(self, settings: Any, notify: Any) -> None:
                if "settings" not in self.__dict__:
                    super().__init__(settings, notify)

            def close(self) -> None:
                self.__dict__.pop("chat", None)  # an outage is remembered for one command only

        session.Container = Kept  # type: ignore[misc]

    def __call__(self, arguments: list[str]) -> tuple[int, str, str]:
        from ragvault.cli.main import run

        out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        err = io.StringIO()
        code = 0
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                run(arguments)
            except SystemExit as end:
                code = int(end.code or 0)
        out.flush()
        return code, out.buffer.getvalue().decode("utf-8"), err.getvalue()  # type: ignore[attr-defined]


def in_own_process(arguments: list[str]) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "ragvault", *arguments],
        capture_output=True, text=True, encoding="utf-8", check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@contextlib.contextmanager
def chat_server(kind: str) -> Iterator[Any]:
    """Sets ``ollama.host`` to the wanted kind of server; yields it, None when it is down."""
    from tests.support.ollama_fixtures import real_server, scripted_ollama

    if kind == "down":
        os.environ["RAGVAULT_OLLAMA_HOST"] = NO_SERVER
        yield None
        return
    chosen: AbstractContextManager[Any] = (
        real_server() if kind == "real" else scripted_ollama({"models": [MODEL]})
    )
    with chosen as handle:
        os.environ["RAGVAULT_OLLAMA_HOST"] = handle.url
        if kind == "real":
            os.environ["RAGVAULT_OLLAMA_MODEL"] = "smollm2:135m"
        yield handle


def ask_each(
    ask: Any, questions: list[str], vault: str | None, server: Any, seen: Counter[str]
) -> list[str]:
    """Ask, check, count; the faults, each with its question."""
    found: list[str] = []
    for number, question in enumerate(questions):
        case = None
        if server is not None and hasattr(server, "play") and seen["scripted"]:
            case = CASES[number % len(CASES)]
            server.play({"models": [MODEL], "replies": [case.reply]})
        scope = ["--vault", vault] if vault else []
        code, out, err = ask(["ask", "--json", *scope, "--", question])
        found += [f"{question[:80]!r}: {fault}" for fault in faults(question, code, out, err)]
        seen[f"exit {code}"] += 1
        with contextlib.suppress(ValueError):
            value = json.loads(out)
            seen[f"mode {value.get('mode')}"] += 1
            if case is not None and "meta" in value:
                found += [f"{question[:80]!r}: {fault}" for fault in misjudged(case, value)]
    return found


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("index", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--server", choices=("down", "scripted", "real"), default="down")
    parser.add_argument("--vault")
    parser.add_argument("--limit", type=int, default=0, help="a random sample of so many")
    parser.add_argument("--processes", type=int, default=0, help="so many once more, in processes")
    options = parser.parse_args(argv)
    lines = options.questions.read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line)["question"] for line in lines if line.strip()]
    dice = random.Random(7)
    if options.limit and options.limit < len(questions):
        questions = dice.sample(questions, options.limit)
    for name in [name for name in os.environ if name.startswith("RAGVAULT_")]:
        del os.environ[name]
    os.environ["RAGVAULT_INDEX_PATH"] = str(options.index)
    os.environ["RAGVAULT_EMBEDDING_DOWNLOAD"] = "false"
    os.environ["RAGVAULT_ANSWER_LOG"] = "false"
    began = time.perf_counter()
    seen: Counter[str] = Counter(scripted=int(options.server == "scripted"))
    with chat_server(options.server) as server:
        found = ask_each(InProcess(), questions, options.vault, server, seen)
        again = dice.sample(questions, min(options.processes, len(questions)))
        found += ask_each(in_own_process, again, options.vault, server, seen)
    counts = ", ".join(f"{name}: {count}" for name, count in sorted(seen.items()))
    asked = len(questions) + len(again)
    print(
        f"{options.questions.parent.name}, server {options.server}: {asked} asked "
        f"({len(again)} of them in processes), {len(found)} faults; {counts}; "
        f"{time.perf_counter() - began:.0f} s"
    )
    for fault in found[:20]:
        print(f"  {fault}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
