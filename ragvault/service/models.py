"""What an embedding model does for these notes: when the profile `multilingual` would serve them
better, said with numbers, once; and how near a model puts what has nothing to do with each other,
the background that a cosine is held against, where nobody measured that."""

from __future__ import annotations

import re

from ragvault.config.profiles import PROFILES
from ragvault.ports import Embedder
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


def advice(container: Container) -> tuple[str, str] | None:
    """Why another model would help, and how to change over. None where nothing is to be said: the
    notes are English, or another model is chosen. Asks Ollama what it has. Raises NoIndexError."""
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
    how = f"`ragvault config set embedding.profile {OTHER}`, then `ragvault index`"
    return why, f"Change over with {get}{how}: about {minutes} min for these notes."


def advice_once(container: Container) -> str | None:
    """The same as a line, the first time only."""
    if container.facts.get("said", OTHER) or (given := advice(container)) is None:
        return None
    container.facts.put("said", OTHER, "yes")
    return " ".join(given)


# How near is near is a matter of the model: .45 is a good match of one and less than chance of
# another. So questions about everything under the sun are asked of passages of a made-up person's
# notes, once for each model, and the median cosine of the nearest is kept. (It is .24 for
# all-MiniLM and .17 for EmbeddingGemma, where question sets told .25 and .2.)

QUESTIONS = (
    "How do salmon find the river they were born in?",
    "What causes the aurora over the poles?",
    "How long does cement take to harden under water?",
    "Which moons of Saturn have an atmosphere?",
    "How is parchment made from sheep skin?",
    "Why do cats purr?",
    "Which spices go into a Moroccan tagine?",
    "What is the boiling point of mercury?",
    "What did Roman soldiers eat on the march?",
    "What are the symptoms of measles?",
    "How do penguins keep their eggs warm?",
    "Who won the hundred metres at the Olympic Games?",
)
PASSAGES = (
    "Meeting with the tax adviser: bring last year's receipts and the rental contract.",
    "The boiler was serviced in March; the pressure should stay between one and two bar.",
    "To restart the server, run the deploy script and watch the logs for ten minutes.",
    "Anna's birthday is on the ninth of June. She likes tulips and dark chocolate.",
    "Recipe for lentil soup: onions, carrots, red lentils, cumin, a squeeze of lemon.",
    "Quarterly goals: hire two engineers, cut the build time in half, ship the new editor.",
    "The train to Lyon leaves at seven; tickets are in the blue folder.",
    "Book notes: the author argues that habits are built by small, repeated choices.",
    "The garden fence needs two new posts and a coat of paint before winter.",
    "Password policy: at least twelve characters, changed once a year.",
    "Guitar practice: scales for ten minutes, then the second movement, slowly.",
    "Dentist appointment moved to Thursday; ask about the crown on the upper left.",
    "The database migration adds an index on the orders table and takes an hour.",
    "Holiday plan: ferry on Friday, two nights in the mountains, back by Tuesday.",
    "Invoice 2041 was paid late; send a friendly reminder next time.",
    "Running log: eight kilometres along the river, knee felt fine.",
    "Draft of the speech: thank the parents, tell the story about the canoe.",
    "The printer only works after its cable has been unplugged for a minute.",
    "Budget for the kitchen: cupboards, worktop, plumber, and something for surprises.",
    "Interview questions: tell me about a project that failed and what you learned.",
    "The cat eats twice a day and gets her tablet with the evening meal.",
    "Unit tests for the parser are missing; empty input makes it loop for ever.",
    "Choir rehearsal is cancelled next week because the hall is being renovated.",
    "The lease ends in August; notice has to be given three months before.",
)


def background_of(container: Container, embedder: Embedder) -> float:
    """0..1. Remembered beside the index; else some forty short texts are embedded. Raises
    ModelError."""
    import numpy as np

    facts = container.facts
    known = facts.get("background", embedder.fingerprint) or ""
    if re.fullmatch(r"0\.\d{3}|1\.000", known):  # as it is written below; else none, or damaged
        return float(known)
    questions = np.stack([embedder.embed_query(text) for text in QUESTIONS])
    cosines = questions @ embedder.embed_documents(PASSAGES).T
    value = max(0.0, round(float(np.median(cosines.max(axis=1))), 3))
    facts.put("background", embedder.fingerprint, f"{value:.3f}")
    return value
