"""When the profile `multilingual` would serve these notes better: said with numbers, once."""

from __future__ import annotations

from dataclasses import dataclass

from ragvault.config.profiles import PROFILES
from ragvault.wiring import Container

OTHER = "multilingual"
_SHARE = 0.15  # of the notes; with fewer the change isn't worth its time
# Processor seconds that EmbeddingGemma (int8) takes for a passage, measured on one thread:
# 622 tokens a second, passages of up to 254 tokens that have 190 on average.
_SECONDS = 0.3
_NAMES = {
    "ar": "Arabic", "de": "German", "el": "Greek", "es": "Spanish", "fr": "French", "he": "Hebrew",
    "hi": "Hindi", "it": "Italian", "ja": "Japanese", "ko": "Korean", "nl": "Dutch",
    "pt": "Portuguese", "ru": "Russian", "th": "Thai", "zh": "Chinese",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Advice:
    """Why another model would help, and how to change over."""

    why: str
    how: str


def advice(container: Container) -> Advice | None:
    """None where nothing is to be said: the notes are English, or another model is chosen. Asks
    Ollama what it has. Raises NoIndexError."""
    embedding = container.settings.embedding
    is_bundled = embedding.profile == "bundled" and embedding.backend in ("auto", "onnx")
    if not is_bundled or embedding.path or embedding.model:
        return None
    notes = container.catalog.languages()
    total = sum(notes.values())
    others = {code: count for code, count in notes.items() if code not in ("", "en")}
    is_foreign = bool(total) and sum(others.values()) >= _SHARE * total
    place = container.where_model_is(OTHER)
    if not total or not (is_foreign or place):
        return None
    title = PROFILES[OTHER].title
    if is_foreign:
        shares = [f"{n / total:.0%} {_NAMES.get(code, code)}" for code, n in others.items()][:3]
        shares[0] = shares[0].replace(" ", " of your notes are ", 1)
        why = f"{', '.join(shares)}; the bundled model reads English."
    else:
        why = f"{title} is here ({place}), and finds more than the bundled model."
    passages = sum(vault.chunks for vault in container.catalog.vaults())
    minutes = max(1, round(passages * _SECONDS / container.cores / 60))
    get = "" if place else f"`ragvault model get {OTHER}`, "
    how = (
        f"{get}`ragvault config set embedding.profile {OTHER}`, then `ragvault index`: about "
        f"{minutes} min for these notes."
    )
    return Advice(why, how)


def advice_once(container: Container) -> str | None:
    """The same as a line, the first time only."""
    if container.facts.get("said", OTHER) or (given := advice(container)) is None:
        return None
    container.facts.put("said", OTHER, "yes")
    return f"{given.why} Change over with {given.how}"
