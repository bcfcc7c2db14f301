"""Asking the chat model which folders a question points at, and reading what it says.

The instruction is that of notes-engine-rag.md: only DIRECTLY relevant folders, a JSON array.
Small models wrap it in fences, begin with "json", stop in the middle or invent names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import islice

from ragvault.config.settings import OllamaSettings
from ragvault.model import ChatOptions, Message
from ragvault.ports import ChatModel

# The listing has to leave room in a small context window.
MAX_LISTED = 150
MAX_ANSWER_TOKENS = 300
# A model that runs wild is read this far, and tried at this many brackets.
MAX_REPLY_CHARS = 20_000
MAX_BRACKETS = 20
# So many names in the order of the listing, and all of them: a copy. Two may be so by chance.
_COPY = 3

SYSTEM = (
    "You select folders of a notes vault for a search. Reply with a JSON array of folder names "
    "and nothing else."
)
INSTRUCTION = """Question: {question}

Folders:
{folders}

Rank the folders that are DIRECTLY relevant to the question, most relevant first. Exclude folders \
that are only tangentially related. Use the names exactly as listed. Reply with a JSON array of \
strings, for example {example}. If none is directly relevant, reply with []."""
# None of the listed names: what a small model copies from here has to be known for a copy.
EXAMPLE = '["one/folder", "another/folder"]'

_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')


def ask_model(
    question: str, names: Sequence[str], chat: ChatModel, settings: OllamaSettings
) -> list[str] | None:
    """The model's ranking as names out of ``names``; None when its reply can't be read.

    Raises ModelError when there is no reply.
    """
    listed = list(names[:MAX_LISTED])
    prompt = INSTRUCTION.format(
        question=question, folders="\n".join(f"- {name}" for name in listed), example=EXAMPLE
    )
    options = ChatOptions(
        model=settings.model,
        num_ctx=settings.max_context,
        temperature=0.0,
        max_tokens=MAX_ANSWER_TOKENS,
    )
    reply = chat.complete([Message("system", SYSTEM), Message("user", prompt)], options)
    return parse_ranking(reply, listed)


def parse_ranking(reply: str, names: Sequence[str]) -> list[str] | None:
    """The folders that a reply names, in its order, each once; invented ones dropped.

    Reads the first JSON array in it, else (a truncated or malformed one) the quoted strings
    after the first bracket. None: there is no array, or it held names and all were invented, or
    it is the whole list as it was given: a copy ranks nothing.
    """
    said = _read_array(reply)
    if said is None:
        return None
    found = [name for item in said if (name := _match(item, names)) is not None]
    if said and not found:
        return None
    ranked = list(dict.fromkeys(found))
    return None if len(ranked) >= _COPY and ranked == list(names) else ranked


def _read_array(reply: str) -> list[str] | None:
    decoder = json.JSONDecoder()
    reply = reply[:MAX_REPLY_CHARS]
    for start in (m.start() for m in islice(re.finditer(r"\[", reply), MAX_BRACKETS)):
        try:
            value, _ = decoder.raw_decode(reply, start)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, list) and all(isinstance(v, str | dict) for v in value):
            return [text for v in value if (text := _item_text(v))]
    begin = reply.find("[")
    strings = _STRING.findall(reply[begin:]) if begin >= 0 else []
    return strings or None


def _item_text(value: str | dict[str, object]) -> str:
    """Some models write objects: {"folder": "work", "reason": …}."""
    if isinstance(value, str):
        return value
    return next((str(value[key]) for key in ("folder", "name", "path") if key in value), "")


def _match(said: str, names: Sequence[str]) -> str | None:
    wanted = said.strip().strip("/").casefold()
    if not wanted:
        return None
    for name in names:
        if name.casefold() == wanted:
            return name
    # Without the vault's name, if only one folder is called so.
    bare = [name for name in names if name.casefold().partition("/")[2] == wanted]
    return bare[0] if len(bare) == 1 else None
