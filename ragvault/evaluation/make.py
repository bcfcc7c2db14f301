"""A question set of one vault, with the container's objects: reads the notes, asks the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragvault.errors import ModelError, ModelServerError
from ragvault.evaluation.generate import PROMPT, Made, generate, usable_question
from ragvault.evaluation.harvest import Harvest
from ragvault.model import ChatOptions, Message, StoredChunk, VaultInfo

if TYPE_CHECKING:
    from ragvault.wiring import Container

_PASSAGE_CHARS = 2000
_CONTEXT_TOKENS = 2048
_REPLY_TOKENS = 80


@dataclass(frozen=True, slots=True)
class MadeSet:
    """``model`` is the one that wrote the questions, None when rules did. ``notice`` says why
    it isn't the one that was wanted, "" otherwise."""

    questions: tuple[Made, ...]
    model: str | None
    notice: str = ""


def make_set(
    container: Container,
    vault: VaultInfo,
    n: int,
    *,
    seed: int,
    with_model: bool = False,
    advance: Callable[[], None] = lambda: None,
) -> MadeSet:
    """At most ``n`` questions about a vault; ``advance`` is called for each note read.

    Linear in the vault's passages. Without a model server the rules make the questions, and the
    notice says so. Raises StoreError.
    """
    harvest = Harvest()
    for rel_path in sorted(container.catalog.file_states(vault.name)):
        for stored in container.catalog.note_chunks(vault.name, rel_path):
            harvest.add(stored)
        advance()
    if not with_model:
        return MadeSet(tuple(generate(harvest, n, seed=seed)), None)
    model = container.settings.ollama.model
    try:
        container.chat.info(model)
        made = generate(harvest, n, seed=seed, ask=_asker(container, model))
    except ModelError as error:
        if isinstance(error, ModelServerError):
            why = "Ollama can't be reached"
        else:
            why = error.message.rstrip(".")
        notice = f"{why}: the questions were made by rules."
        return MadeSet(tuple(generate(harvest, n, seed=seed)), None, notice)
    return MadeSet(tuple(made), model)


def _asker(container: Container, model: str) -> Callable[[StoredChunk], str | None]:
    options = ChatOptions(
        model=model, num_ctx=_CONTEXT_TOKENS, temperature=0.0, max_tokens=_REPLY_TOKENS
    )

    def ask(stored: StoredChunk) -> str | None:
        passage = stored.chunk.text[:_PASSAGE_CHARS]
        messages = [Message("system", PROMPT), Message("user", passage)]
        return usable_question(container.chat.complete(messages, options), passage)

    return ask
