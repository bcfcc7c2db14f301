"""``ragvault chat``: one question after another, each with the conversation before it in mind."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from ragvault.cli.desktop import open_hit
from ragvault.cli.failure import print_failure
from ragvault.cli.group import command_app
from ragvault.cli.options import SESSION, Filters, SearchOptions, Writer, request_of
from ragvault.cli.render.ask import AskView
from ragvault.cli.render.debug import print_debug
from ragvault.cli.session import Session
from ragvault.errors import RagvaultError, UsageError
from ragvault.model import AskResult, Request
from ragvault.service.ask import ask, turn_of, turns_of
from ragvault.service.history import as_markdown, source_at
from ragvault.service.json_objects import ask_object
from ragvault.service.originals import Links
from ragvault.service.search import check_folders
from ragvault.service.vaults import write_new
from ragvault.text import strip_controls

app = command_app()

_REMEMBERED = 200  # questions that the up arrow brings back
_COMMANDS = {
    "/sources": "the sources of the last answer",
    "/open N": "open source N of the last answer",
    "/debug": "how the last answer came about",
    "/folder [NAME]": "search this folder only, or all again",
    "/model [NAME]": "have this model write, or list those there are",
    "/new": "begin another conversation",
    "/save FILE.md": "write the conversation to a file",
    "/help": "these commands",
    "/quit": "end (Ctrl-D)",
}


@app.command()
def chat(
    session: Session,
    *,
    filters: Filters,
    options: SearchOptions,
    conversation: str | None = SESSION,
    writer: Writer,
) -> int:
    """Each may go on from the one before. /help lists the commands. Ctrl-C stops an answer, Ctrl-D
    ends the chat. Questions may also be piped in, a line each."""
    _when_told_to_end(lambda: sys.exit(130))
    writer.chosen_in(session)
    asked = request_of([], filters, options, datetime.now(), use_model=not writer.no_llm)
    return _Chat(session, asked, conversation).run()


def _when_told_to_end(end: Callable[[], object]) -> None:
    """What SIGTERM and SIGHUP (a closed terminal) do; Ctrl-C stops an answer only."""
    for name in ("SIGTERM", "SIGHUP"):  # Windows has no SIGHUP
        if number := getattr(signal, name, None):
            signal.signal(number, lambda *_: end())


class _Chat:
    """A conversation at the terminal, or with lines from a pipe."""

    def __init__(self, session: Session, asked: Request, name: str | None) -> None:
        self._session, self._container = session, session.container
        self._asked = asked
        self._failure = 0
        self._new()
        if name:
            earlier = turns_of(self._container, name)
            self._asked = replace(self._asked, session=name, earlier=earlier)

    def run(self) -> int:
        """Until the lines end. The exit code is the last failure's, if they were piped in."""
        is_tty = sys.stdin.isatty() and self._session.out.is_tty
        self._container.catalog.vaults()  # nothing is indexed: said before a question is typed
        if is_tty:
            self._session.notices(
                ["/help lists the commands; Ctrl-C stops an answer, Ctrl-D ends."]
            )
        for line in self._typed() if is_tty else self._piped():
            if line.split()[:1] == ["/quit"]:
                break
            try:
                self._do(line.strip())
            except KeyboardInterrupt:
                if not is_tty:
                    raise
                self._session.out.print()
                self._session.notices(["Stopped."])
            except RagvaultError as failure:
                self._failure = failure.exit_code
                print_failure(self._session.err, "Error:", failure)
                self._session.err.flush()
        return 0 if is_tty else self._failure

    def _typed(self) -> Iterator[str]:
        """What is typed, with editing; the history's questions come back by the up arrow."""
        from prompt_toolkit import PromptSession
        from prompt_toolkit.history import InMemoryHistory
        from prompt_toolkit.key_binding import KeyBindings
        from prompt_toolkit.keys import Keys

        keys = KeyBindings()
        keys.add(Keys.Vt100MouseEvent)(lambda _: None)  # a colour in pasted text looks like one
        kept = self._container.history.entries(limit=_REMEMBERED)
        asked = [str(entry.document["question"]) for entry in reversed(kept)]
        prompt: PromptSession[str] = PromptSession(
            "> ", history=InMemoryHistory(asked), key_bindings=keys
        )
        told = asking = False

        def leave() -> None:
            """An exit raised within one of the prompt's tasks would have it ask for Enter."""
            nonlocal told
            told = True
            if not asking:
                sys.exit(130)
            if prompt.app.loop:
                prompt.app.loop.call_soon_threadsafe(close)

        def close() -> None:
            if told and prompt.app.future and not prompt.app.future.done():
                prompt.app.exit(exception=EOFError)

        _when_told_to_end(leave)
        while True:
            asking = True
            try:
                line = prompt.prompt(pre_run=close)
            except KeyboardInterrupt:  # what was begun is thrown away
                line = ""
            except EOFError:
                line = None
            asking = False
            if told:
                sys.exit(130)
            if line is None:
                return
            yield line

    def _piped(self) -> Iterator[str]:
        """The lines of standard input as they come, shown above what they bring."""
        out = self._session.out
        while line := sys.stdin.readline():
            if line.strip():
                out.print(f"> {strip_controls(line.strip())}", "bold")
            yield line

    def _do(self, line: str) -> None:
        if line.startswith("/"):
            name, _, given = line.partition(" ")
            self._command(name, given.strip())
        elif line:
            self._ask(line)
        self._session.out.flush()

    def _ask(self, question: str) -> None:
        request = replace(self._asked, question=question)
        with closing(ask(self._container, request, now=datetime.now(), look=True)) as events:
            result = AskView(self._session).draw(events)
        self._session.notices(result.notices)
        self._session.out.print()
        document = ask_object(result, Links.of(self._container))
        self._asked = replace(self._asked, earlier=(*self._asked.earlier, turn_of(document)))
        self._said.append(result)

    def _command(self, name: str, given: str) -> None:
        session, container = self._session, self._container
        match name:
            case "/sources":
                AskView(session).replay(self._answer(), sources_only=True)
            case "/open":
                if not given.isdecimal():
                    raise UsageError(
                        "Give the number of a source.", "`/open 1`; /sources lists them."
                    )
                open_hit(session, source_at(self._answer(), int(given)))
            case "/debug":
                result = self._answer()
                print_debug(session.out, result.retrieval, result)
            case "/folder":
                asked = replace(self._asked, folders=(given,) if given else ())
                check_folders(container, asked)
                self._asked = asked
                session.notices([f"Searching {given or 'all folders'}."])
            case "/model" if given:
                container.chat.info(given)
                container.change("ollama", model=given)
                self._asked = replace(self._asked, use_model=True)
                session.notices([f"{given} writes."])
            case "/model":
                session.out.print("\n".join(container.chat.models()))
            case "/new":
                self._new()
            case "/save":
                self._save(given)
            case "/help":
                for usage, what in _COMMANDS.items():
                    session.out.print(f"{usage:<16}{what}")
            case _:
                raise UsageError(f"There is no command {name}.", "/help lists those there are.")

    def _answer(self) -> AskResult:
        if not self._said:
            raise UsageError("There is no answer yet.", "Ask something.")
        return self._said[-1]

    def _new(self) -> None:
        self._asked = replace(self._asked, session=f"chat {datetime.now()}", earlier=())
        self._said: list[AskResult] = []

    def _save(self, given: str) -> None:
        self._answer()
        said = "\n\n".join(f"## {one.question}\n\n{as_markdown(one)}" for one in self._said)
        if not given:
            raise UsageError("Give the name of a new file.", "`/save FILE.md`.")
        write_new(self._container, Path(given).expanduser(), f"{said}\n")
        self._session.notices([f"Saved to {given}."])
