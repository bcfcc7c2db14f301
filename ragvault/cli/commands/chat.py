"""``ragvault chat``: one question after another, each with the conversation before it in mind."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Annotated

from ragvault.cli.desktop import open_hit
from ragvault.cli.failure import print_failure
from ragvault.cli.group import command_app
from ragvault.cli.options import Filters, SearchOptions, Writer, option, request_of
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


@app.command()
def chat(
    session: Session,
    *,
    filters: Filters,
    options: SearchOptions,
    conversation: Annotated[
        str | None, option("--session", "Go on with this conversation, or begin it.", "NAME")
    ] = None,
    writer: Writer,
) -> int:
    """Ask one question after another.

    Each may go on from the one before. /help lists the commands. Ctrl-C stops an answer, Ctrl-D
    ends the chat. Questions may also be piped in, a line each.
    """
    for name in ("SIGTERM", "SIGHUP"):  # Ctrl-C alone stops an answer; Windows has no SIGHUP
        if number := getattr(signal, name, None):
            signal.signal(number, lambda *_: sys.exit(130))
    writer.chosen_in(session)
    asked = request_of("", filters, options, datetime.now(), use_model=not writer.no_llm)
    return _Chat(session, asked, conversation).run()


class _Chat:
    """A conversation at the terminal, or with lines from a pipe."""

    def __init__(self, session: Session, asked: Request, name: str | None) -> None:
        self._session, self._container = session, session.container
        self._asked = asked
        self._said: list[AskResult] = []
        self._failure = 0
        self._new("")
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
                self._fail(failure)
        return 0 if is_tty else self._failure

    def _fail(self, failure: RagvaultError) -> None:
        self._failure = failure.exit_code
        print_failure(self._session.err, "Error:", failure)
        self._session.err.flush()

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
        while True:
            try:
                yield prompt.prompt()
            except KeyboardInterrupt:  # what was begun is thrown away
                continue
            except EOFError:
                return

    def _piped(self) -> Iterator[str]:
        """The lines of standard input as they come, shown above what they bring."""
        out = self._session.out
        while line := sys.stdin.readline():
            if line.strip():
                out.print(f"> {strip_controls(line.strip())}", "bold")
            yield line

    def _do(self, line: str) -> None:
        name, _, given = line.partition(" ")
        if not name.startswith("/"):
            if line:
                self._ask(line)
        elif name in _COMMANDS:
            _COMMANDS[name][1](self, given.strip())
        else:
            raise UsageError(f"There is no command {name}.", "/help lists those there are.")
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

    # ------------------------------------------------------------------ commands

    def _answer(self) -> AskResult:
        if not self._said:
            raise UsageError("There is no answer yet.", "Ask something.")
        return self._said[-1]

    def _sources(self, _given: str) -> None:
        AskView(self._session).replay(self._answer(), sources_only=True)

    def _open(self, given: str) -> None:
        if not given.isdecimal():
            raise UsageError("Give the number of a source.", "`/open 1`; /sources lists them.")
        open_hit(self._session, source_at(self._answer(), int(given)))

    def _debug(self, _given: str) -> None:
        result = self._answer()
        print_debug(self._session.out, result.retrieval, result)

    def _folder(self, given: str) -> None:
        asked = replace(self._asked, folders=(given,) if given else ())
        check_folders(self._container, asked)
        self._asked = asked
        self._session.notices([f"Searching {given or 'all folders'}."])

    def _model(self, given: str) -> None:
        if given:
            self._container.chat.info(given)
            self._container.change("ollama", model=given)
            self._asked = replace(self._asked, use_model=True)
            self._session.notices([f"{given} writes."])
        else:
            self._session.out.print("\n".join(self._container.chat.models()))

    def _new(self, _given: str) -> None:
        self._asked = replace(self._asked, session=f"chat {datetime.now()}", earlier=())
        self._said = []

    def _save(self, given: str) -> None:
        self._answer()
        said = "\n\n".join(f"## {one.question}\n\n{as_markdown(one)}" for one in self._said)
        if not given:
            raise UsageError("Give the name of a new file.", "`/save FILE.md`.")
        write_new(self._container, Path(given).expanduser(), f"{said}\n")
        self._session.notices([f"Saved to {given}."])

    def _help(self, _given: str) -> None:
        for name, (told, _) in _COMMANDS.items():
            usage, _, what = told.partition(": ")
            self._session.out.print(f"{f'{name} {usage}'.strip():<16}{what}")
        self._session.out.print(f"{'/quit':<16}end (Ctrl-D)")


_COMMANDS: dict[str, tuple[str, Callable[[_Chat, str], None]]] = {
    "/sources": (": the sources of the last answer", _Chat._sources),
    "/open": ("N: open source N of the last answer", _Chat._open),
    "/debug": (": how the last answer came about", _Chat._debug),
    "/folder": ("[NAME]: search this folder only, or all again", _Chat._folder),
    "/model": ("[NAME]: have this model write, or list those there are", _Chat._model),
    "/new": (": begin another conversation", _Chat._new),
    "/save": ("FILE.md: write the conversation to a file", _Chat._save),
    "/help": (": these commands", _Chat._help),
}
