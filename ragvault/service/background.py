"""What questions that have nothing to do with a vault reach in it, for an embedding model that
nobody measured: the background that a cosine is held against.

How near is near is a matter of the model: .45 is a good match of one and less than chance of
another. So questions about everything under the sun are asked of each vault, in several languages,
once an ``index`` run has changed it much, and the median cosine of the nearest passage is kept, by
language. A few of them may happen to be about the notes: that doesn't move it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING

from ragvault.errors import StoreError
from ragvault.ingest.write import batched
from ragvault.model import Background, VaultInfo
from ragvault.retrieval.ranking.blend import measured

if TYPE_CHECKING:
    from ragvault.model import Matrix
    from ragvault.ports import Catalog, Embedder

MOVED = 0.1  # of a vault's passages: a background measured on so many more or less is stale
_PAGE = 2_000  # vectors compared at a time
# Chosen to be about anything; the same ones in each language, so that these can be compared.
QUESTIONS: Mapping[str, tuple[str, ...]] = {
    "en": (
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
    ),
    "de": (
        "Wie finden Lachse den Fluss, in dem sie geboren wurden?",
        "Wodurch entstehen Polarlichter?",
        "Wie lange braucht Zement unter Wasser, bis er hart ist?",
        "Welche Monde des Saturn haben eine Atmosphäre?",
        "Wie wird aus Schafhaut Pergament gemacht?",
        "Warum schnurren Katzen?",
        "Welche Gewürze gehören in eine marokkanische Tajine?",
        "Wo liegt der Siedepunkt von Quecksilber?",
        "Was aßen römische Soldaten auf dem Marsch?",
        "Was sind die Symptome von Masern?",
        "Wie halten Pinguine ihre Eier warm?",
        "Wer gewann den Hundertmeterlauf bei den Olympischen Spielen?",
    ),
    "fr": (
        "Comment les saumons retrouvent-ils la rivière où ils sont nés ?",
        "Qu'est-ce qui provoque les aurores polaires ?",
        "Combien de temps le ciment met-il à durcir sous l'eau ?",
        "Quelles lunes de Saturne ont une atmosphère ?",
        "Comment fabrique-t-on le parchemin avec de la peau de mouton ?",
        "Pourquoi les chats ronronnent-ils ?",
        "Quelles épices met-on dans un tajine marocain ?",
        "Quel est le point d'ébullition du mercure ?",
        "Que mangeaient les soldats romains en marche ?",
        "Quels sont les symptômes de la rougeole ?",
        "Comment les manchots gardent-ils leurs œufs au chaud ?",
        "Qui a gagné le cent mètres aux Jeux olympiques ?",
    ),
    "es": (
        "¿Cómo encuentran los salmones el río donde nacieron?",
        "¿Qué causa las auroras polares?",
        "¿Cuánto tarda el cemento en endurecerse bajo el agua?",
        "¿Qué lunas de Saturno tienen atmósfera?",
        "¿Cómo se hace el pergamino con piel de oveja?",
        "¿Por qué ronronean los gatos?",
        "¿Qué especias lleva un tajín marroquí?",
        "¿Cuál es el punto de ebullición del mercurio?",
        "¿Qué comían los soldados romanos en marcha?",
        "¿Cuáles son los síntomas del sarampión?",
        "¿Cómo mantienen calientes sus huevos los pingüinos?",
        "¿Quién ganó los cien metros en los Juegos Olímpicos?",
    ),
}


def background_of(catalog: Catalog, embedder: Embedder, vault: VaultInfo) -> Background | None:
    """What is known of a vault, however old; measured where nothing is. None for a vault without
    vectors of this model. Raises ModelError, StoreError."""
    known = catalog.background(vault.name, embedder.fingerprint)
    if known is not None or not vault.embedded:  # while words alone are there, nothing is read
        return known
    return _measured(catalog, embedder, vault)


def refresh_background(catalog: Catalog, embedder: Embedder, vault: VaultInfo) -> None:
    """Measure it again where the vault has grown or shrunk by a tenth since; not for a model whose
    background is known. Linear in the vault then: some 10 µs a passage. Raises ModelError,
    StoreError."""
    if measured(embedder.model):
        return
    known = catalog.background(vault.name, embedder.fingerprint)
    if known is None or abs(vault.chunks - known.chunks) > MOVED * known.chunks:
        _measured(catalog, embedder, vault)


def _measured(catalog: Catalog, embedder: Embedder, vault: VaultInfo) -> Background | None:
    import numpy as np

    pages = _pages(catalog, vault.name, embedder.fingerprint)
    first = next(pages, None)
    if first is None:  # nothing is embedded yet
        return None
    questions = _vectors(catalog, embedder)
    best, chunks = np.full(len(questions), -1.0, np.float32), 0
    for page in chain([first], pages):
        chunks += len(page)
        best = np.maximum(best, (questions @ page.T).max(axis=1))
    ends = np.cumsum([len(asked) for asked in QUESTIONS.values()])[:-1]
    medians = [float(np.median(cosines)) for cosines in np.split(best, ends)]
    made = Background(chunks, dict(zip(QUESTIONS, medians, strict=True)))
    with suppress(StoreError):  # another process is writing: it is measured again another time
        catalog.set_background(vault.name, embedder.fingerprint, made)
    return made


def _vectors(catalog: Catalog, embedder: Embedder) -> Matrix:
    """The questions' vectors, one row each, as the embedding cache gives them back (float16): the
    same whether they were just made or not."""
    import numpy as np

    keys = {
        hashlib.sha256(f"question\0{text}".encode()).hexdigest(): text
        for asked in QUESTIONS.values()
        for text in asked
    }
    cached = catalog.cached_vectors(embedder.fingerprint, list(keys))
    missing = {key: embedder.embed_query(text) for key, text in keys.items() if key not in cached}
    if missing:
        with suppress(StoreError):
            catalog.store_vectors(embedder.fingerprint, missing)
        cached = missing | cached | catalog.cached_vectors(embedder.fingerprint, list(missing))
    return np.stack([cached[key] for key in keys])


def _pages(catalog: Catalog, vault: str, fingerprint: str) -> Iterator[Matrix]:
    import numpy as np

    for page in batched(catalog.iter_vectors(vault, fingerprint), _PAGE):
        yield np.stack([vector for _, vector in page])
