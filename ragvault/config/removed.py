"""Keys of earlier versions that are no settings any more.

A configuration file or variable that still has one works: the key is ignored, and a notice says
why and where it stands.
"""

from __future__ import annotations

from ragvault.config.keys import ENV_PREFIX

# Dotted key, or "key: value" for a choice that went → what is so now, as it stands in the notice:
# "`retrieval.heading_bonus` is no longer a setting (it gained nothing)".
REMOVED: dict[str, str] = {
    "embedding.download": "nothing is fetched but by `ragvault model get`",
    "rerank.download": "nothing is fetched but by `ragvault model get`",
    "index.watch_debounce_s": "fixed at 1",
    "retrieval.vector_candidates": "fixed at 50",
    "retrieval.lexical_candidates": "fixed at 50",
    "retrieval.max_candidates": "fixed at 200",
    "retrieval.weight_lexical": "it is what `retrieval.weight_vector` leaves",
    "retrieval.mmr_lambda": "it gained nothing: the best passages are kept",
    "retrieval.time_weight_vector": "`retrieval.weight_vector` holds there too",
    "retrieval.time_weight_lexical": "it is what `retrieval.weight_vector` leaves",
    "retrieval.time_weight_recency": "fixed at 0.25",
    "retrieval.heading_bonus": "it gained nothing",
    "retrieval.note_share_vector": "it gained nothing",
    "retrieval.note_share_lexical": "it gained nothing",
    "retrieval.note_chunks": "it gained nothing",
    "retrieval.max_per_note": "there is no limit",
    "retrieval.expand_variants": "fixed at 3",
    "retrieval.k_min": "fixed at 3; `-k` sets the number",
    "retrieval.k_default": "fixed at 5, by the question; `-k` sets the number",
    "retrieval.k_max": "fixed at 8; `-k` sets the number",
    "retrieval.max_folders": "fixed at 8",
    "retrieval.max_question_chars": "fixed at 2000",
    "rerank.backend: late-interaction": "it gained nothing; there are onnx and cross-encoder",
    "gate.mode": "the confidence decides; `gate.min_confidence: 0` goes by the floors alone",
    "gate.min_final": "the confidence decides",
    "gate.calibration": "the built-in one holds for every embedding model",
    "answer.max_chunks": "fixed at 12",
    "answer.retry_uncited": "citations are found by ragvault",
    "ollama.connect_timeout_s": "fixed at 2",
    "answer.neighbours_for": "the best passage gets its neighbours",
}

# Keys that have another name now: they work as before.
RENAMED = {"answer.log": "history.enabled"}


def variable(key: str) -> str:
    """The RAGVAULT_ variable that set it."""
    return f"{ENV_PREFIX}{key.replace('.', '_').upper()}"


def variables() -> dict[str, str]:
    """The dotted keys by the variables that set them."""
    return {variable(key): key for key in REMOVED}


def entry_of(dotted: str, value: object) -> str | None:
    """The entry of REMOVED for a key that is set to a value; None: it isn't an old one."""
    return next((entry for entry in (dotted, f"{dotted}: {value}") if entry in REMOVED), None)


def notice(entry: str, place: str, remedy: str) -> str:
    """One line for the person whose configuration has the key; ``place`` is a file and line, or
    a variable."""
    what = "choice" if ":" in entry else "setting"
    return f"{place}: `{entry}` is no longer a {what} ({REMOVED[entry]}); {remedy}."
