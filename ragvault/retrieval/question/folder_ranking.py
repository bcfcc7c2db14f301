"""Asking the chat model which folders a question points at, and reading what it says.

The instruction is that of notes-engine-rag.md: only DIRECTLY relevant folders, a JSON array.
Small models wrap it in fences, begin with "json", stop in the middle or invent names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragvault.config.settings import OllamaSettings
from ragvault.model import ChatOptions, Message
from ragvault.ports import ChatModel

# The listing has to leave room in a small context window.
MAX_LISTED = 150
MAX_ANSWER_TOKENS = 300
MAX_REPLY_CHARS = 20_000  # of a model that runs wild
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

_ARRAY = re.compile(r'\[\s*(?=["{\]])[^\]]*')  # of strings or objects, closed or not
_STRING = re.compile(r'"([^"]*)"')


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

    Reads the strings of the first array in it, whole or cut off. None: there is no array, or it
    held names and all were invented, or it is the whole list as it was given: a copy ranks
    nothing.
    """
    array = _ARRAY.search(reply[:MAX_REPLY_CHARS])
    if array is None:
        return None
    said = _STRING.findall(array.group())
    found = dict.fromkeys(name for item in said if (name := _match(item, names)) is not None)
    is_copy = len(found) >= _COPY and list(found) == list(names)
    return None if is_copy or (said and not found) else list(found)


def _match(said: str, names: Sequence[str]) -> str | None:
    wanted = said.strip().strip("/").casefold()
    whole = [name for name in names if name.casefold() == wanted]
    # Without the vault's name, if only one folder is called so.
    bare = [name for name in names if name.casefold().partition("/")[2] == wanted]
    if whole:
        return whole[0]
    return bare[0] if wanted and len(bare) == 1 else None
