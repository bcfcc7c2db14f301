"""The two paths through the stages: a vault into the index, a question to an answer.

Beside ``wiring``: it hands the container's objects to the stages, one after the other. No output
here; the command line renders what comes back.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ragvault.errors import (
    ConfigError,
    Interrupted,
    NoIndexError,
    StoreError,
    UsageError,
)
from ragvault.model import (
    Abstention,
    Answer,
    AskResult,
    FileState,
    FolderSelection,
    GateOutcome,
    Hit,
    IndexReport,
    Intent,
    LoggedAnswer,
    Query,
    Request,
    Retrieval,
    VaultInfo,
)
from ragvault.text import strip_controls

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ragvault.answering.extract import Embed
    from ragvault.config import Settings
    from ragvault.ports import Catalog, Progress
    from ragvault.retrieval.calibration import Calibration
    from ragvault.wiring import Container

OBSIDIAN_FOLDER = ".obsidian"


# --------------------------------------------------------------------------- index


def known_vaults(container: Container, names: Sequence[str] = ()) -> list[VaultInfo]:
    """The remembered vaults, all or the named ones. Raises NoIndexError."""
    known = {vault.name: vault for vault in container.catalog.vaults()}
    if not known:
        raise NoIndexError("Nothing is indexed yet.")
    unknown = [name for name in names if name not in known]
    if unknown:
        raise NoIndexError(
            f"There is no vault '{unknown[0]}'.", f"Known: {', '.join(sorted(known))}."
        )
    return [known[name] for name in dict.fromkeys(names)] if names else list(known.values())


def vaults_at(
    container: Container, paths: Sequence[Path], name: str | None
) -> tuple[list[VaultInfo], list[str]]:
    """The vaults at some folders, known or new, and notices about them.

    Raises VaultPathError for a folder that can't be indexed, UsageError for a name that is
    taken, empty or unfit, or another one than the vault's own.
    """
    from ragvault.ingest.walk import check_vault_path, overlap_notice

    try:
        known = container.catalog.vaults()
    except NoIndexError:
        known = []
    chosen: dict[Path, VaultInfo] = {}
    notices = []
    for given in paths:
        path = check_vault_path(given, container.data_dir, known)
        vault = _vault_at(path, name, known, list(chosen.values()))
        chosen[path] = vault
        notices.append(overlap_notice(path, [*known, *(v for v in chosen.values() if v != vault)]))
    return list(chosen.values()), [notice for notice in notices if notice]


def _vault_at(
    path: Path, name: str | None, known: Sequence[VaultInfo], chosen: Sequence[VaultInfo]
) -> VaultInfo:
    for vault in (*known, *chosen):
        if _same_folder(vault.path, path):
            if name is not None and name != vault.name:
                raise UsageError(
                    f"{path} is indexed already, as '{vault.name}'.",
                    f"Rename it with `ragvault vault rename {vault.name} {name}`.",
                )
            return vault
    wanted = vault_name(path.name if name is None else name)
    taken = next((v for v in (*known, *chosen) if v.name.lower() == wanted.lower()), None)
    if taken is not None:
        raise UsageError(
            f"There is a vault '{taken.name}' already, at {taken.path}.",
            f"Give this one another name: `ragvault index {path} --name NAME`.",
        )
    kind = "obsidian" if (path / OBSIDIAN_FOLDER).is_dir() else "folder"
    return VaultInfo(wanted, path, kind)


def vault_name(name: str) -> str:
    """A vault's name without what would not survive ``vault/folder`` or a terminal.

    Raises UsageError when it is empty, longer than 100 characters, or holds a slash.
    """
    cleaned = " ".join(strip_controls(name).split())
    if not cleaned or "/" in cleaned or "\\" in cleaned or len(cleaned) > 100:
        shown = cleaned[:40] or "an empty name"
        raise UsageError(
            f"{shown!r} can't be a vault's name." if cleaned else "The vault needs a name.",
            "Choose one of 1 to 100 characters without slashes: --name NAME.",
        )
    return cleaned


def _same_folder(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:  # one of them is gone
        return one == other


def sync(
    container: Container,
    vault: VaultInfo,
    *,
    full: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> IndexReport:
    """Bring one vault up to date. The caller holds the lock, unless it is a dry run.

    Raises as ``ingest.sync.sync_vault`` does.
    """
    from ragvault.ingest.sync import SyncParts, sync_vault

    with _catalog_for(container, dry_run=dry_run) as catalog:
        parts = SyncParts(
            catalog=catalog,
            embedder=lambda: container.embedder,
            vectors=lambda: container.vectors,
            stored=container.stored_identity,
        )
        return sync_vault(
            vault, container.settings, parts, full=full, dry_run=dry_run, progress=progress
        )


@contextmanager
def _catalog_for(container: Container, *, dry_run: bool) -> Iterator[Catalog]:
    """The catalog to work on; a dry run before the first index leaves no trace of one."""
    if not dry_run:
        yield container.new_catalog
        return
    try:
        yield container.catalog
    except NoIndexError:
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            catalog = container.make_catalog(Path(folder))
            try:
                yield catalog
            finally:
                catalog.close()


def watch(
    container: Container,
    vaults: Sequence[VaultInfo],
    refresh: Callable[[VaultInfo], None],
    notify: Callable[[str], None],
) -> None:
    """Call ``refresh`` once for each vault, then whenever one has changed and been quiet for a
    moment. Its RagvaultErrors go to ``notify`` and it is tried again later.

    Returns on Ctrl-C or SIGTERM.
    """
    import signal
    import threading

    from ragvault.ingest.watch import watch_vaults

    by_path = {vault.path: vault for vault in vaults}
    stop = threading.Event()
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        watch_vaults(
            list(by_path),
            lambda path, _changed: refresh(by_path[path]),
            stop,
            container.settings.index,
            notify=notify,
        )
    except (KeyboardInterrupt, Interrupted):
        stop.set()
    finally:
        signal.signal(signal.SIGTERM, before)


def remove_vault(container: Container, name: str) -> list[str]:
    """Forget a vault: its notes' text, chunks and vectors. The notes themselves stay.

    Returns notices. Vectors that can't be reached now are dropped if the name is used again.
    """
    known_vaults(container, [name])
    with container.lock():
        container.catalog.remove_vault(name)
        try:
            container.vectors.drop(name)
        except StoreError as error:
            return [f"Its vectors could not be dropped from the vector store: {error.message}"]
    return []


def rename_vault(
    container: Container, old: str, new: str, *, progress: Progress | None = None
) -> IndexReport:
    """Give a vault another name and index it under it, embedding nothing again.

    Raises VaultPathError when its folder is out of reach (its chunks' ids hold the name, so the
    notes are read), UsageError for a name that is taken or unfit.
    """
    from ragvault.ingest.walk import check_vault_path

    vault = known_vaults(container, [old])[0]
    wanted = vault_name(new)
    others = [v for v in container.catalog.vaults() if v.name != old]
    if wanted == old:
        raise UsageError(f"The vault is called '{old}' already.", "Choose another name.")
    if any(v.name.lower() == wanted.lower() for v in others):
        raise UsageError(f"There is a vault '{wanted}' already.", "Choose another name.")
    check_vault_path(vault.path, container.data_dir, [vault])
    with container.lock():
        container.catalog.rename_vault(old, wanted)
        with suppress(StoreError):  # what is left of the old name is never asked for
            container.vectors.drop(old)
        return sync(container, replace(vault, name=wanted), progress=progress)


# --------------------------------------------------------------------------- search and ask


@dataclass(frozen=True, slots=True)
class Found:
    """A search's hits, best first, and the retrieval that they come from."""

    hits: tuple[Hit, ...]
    retrieval: Retrieval


def search(container: Container, request: Request, n: int, *, now: datetime) -> Found:
    """The ``n`` best passages, without the floor that an answer needs. Raises as ``retrieve``."""
    from ragvault.retrieval.pipeline import ranked_hits

    _, retrieval = _retrieve(container, request, now, for_answer=False)
    return Found(ranked_hits(retrieval, n), retrieval)


def _retrieve(
    container: Container, request: Request, now: datetime, *, for_answer: bool
) -> tuple[Query, Retrieval]:
    from ragvault.retrieval.pipeline import Deps, retrieve
    from ragvault.retrieval.query import analyse

    settings = container.settings
    query = analyse(request.question, now, settings)
    wants_model = _wants_model(request, settings)
    deps = Deps(
        catalog=container.catalog,
        embedder=lambda: container.embedder,
        vector_index=lambda: container.vectors,
        chat=container.chat if wants_model else None,
        reranker=container.reranker(request.rerank),
    )
    started = time.perf_counter()
    retrieval = retrieve(
        request, query=query, deps=deps, settings=settings, now=now, for_answer=for_answer
    )
    if for_answer:
        retrieval = _looked_closer(container, retrieval)
    # The parts run side by side: their sum is not the time that went by.
    timings = {**retrieval.timings_ms, "total": (time.perf_counter() - started) * 1000}
    return query, replace(retrieval, timings_ms=timings)


def _wants_model(request: Request, settings: Settings) -> bool:
    """Whether the search itself, not only the answer, is to ask the chat model."""
    retrieval = settings.retrieval
    by_model = (request.folder_select or retrieval.folder_select) == "llm"
    expand = retrieval.expand if request.expand is None else request.expand
    hyde = retrieval.hyde if request.hyde is None else request.hyde
    return by_model or expand or hyde


def retrieve_for_answer(container: Container, request: Request, *, now: datetime) -> Retrieval:
    """The retrieval that ``ask`` would decide on; nothing is answered or logged."""
    return _retrieve(container, request, now, for_answer=True)[1]


def _looked_closer(container: Container, retrieval: Retrieval) -> Retrieval:
    """With the closeness that the gate goes by, where the search had an embedding model that can
    read the question: otherwise the gate goes by the words, and the look would be for nothing."""
    from ragvault.retrieval.calibration import LEAST_TRUST
    from ragvault.retrieval.closeness import measure

    embed = _embed_of(container, retrieval)
    hits = [h for h in retrieval.hits if h.is_ranked]
    if embed is None or not hits or retrieval.vector_trust < LEAST_TRUST:
        return retrieval
    started = time.perf_counter()
    closeness = measure(retrieval.query.text, hits, container.embedder)
    timings = {**retrieval.timings_ms, "closeness": (time.perf_counter() - started) * 1000}
    return replace(retrieval, closeness=closeness, timings_ms=timings)


@dataclass(frozen=True, slots=True)
class AskOptions:
    """``use_model`` False: quote the notes, ask no model. ``on_evidence`` is told the hits that
    may be cited, before any text; ``on_text`` gets the answer's text as it comes."""

    use_model: bool = True
    on_evidence: Callable[[Sequence[Hit]], None] | None = None
    on_text: Callable[[str], None] | None = None
    session: str | None = None


def ask(container: Container, request: Request, options: AskOptions, *, now: datetime) -> AskResult:
    """Find, decide, answer, remember. Raises as the stages do.

    A log that can't be written costs a notice, not the answer.
    """
    from ragvault.answering import pipeline as answering

    started = time.perf_counter()
    query, retrieval = _retrieve(container, request, now, for_answer=True)
    is_small_talk = query.intent in (Intent.GREETING, Intent.THANKS)
    outcome = None if is_small_talk else _decide(container, retrieval)
    hits = outcome.hits if outcome is not None and not isinstance(outcome, Abstention) else ()
    if options.on_evidence is not None:
        options.on_evidence(hits)
    settings = container.settings
    neighbours = _beside(container, retrieval, hits)
    run = answering.answer(
        query.text,
        outcome,
        chat=container.chat if options.use_model and hits else None,
        settings=settings.answer,
        ollama=settings.ollama,
        detail=request.detail,
        intent=query.intent,
        embed=_embed_of(container, retrieval),
        neighbours=neighbours,
        on_text=options.on_text,
        today=now.date(),
    )
    retrieval = _with_beside(retrieval, neighbours)
    result = AskResult(
        question=query.text,
        outcome=run.outcome,
        retrieval=None if is_small_talk else retrieval,
        id=uuid.uuid4().hex,
        model=run.model,
        llm_ms=run.llm_ms,
        total_ms=(time.perf_counter() - started) * 1000,
        usage=run.usage,
        notices=(*retrieval.notices, *run.notices),
    )
    return _logged(container, result, now, options.session)


def _beside(
    container: Container, retrieval: Retrieval, hits: Sequence[Hit]
) -> dict[str, tuple[Hit, ...]]:
    """The chunks around those that may be answered from, as ``answer.neighbours`` says. There are
    none to speak of around the first chunks of recent notes."""
    from ragvault.retrieval.neighbours import around

    wanted = container.settings.answer
    if not hits or retrieval.strategy == "recent":
        return {}
    return around(container.catalog, hits, retrieval.hits, wanted.neighbours, wanted.neighbours_for)


def _with_beside(retrieval: Retrieval, neighbours: Mapping[str, Sequence[Hit]]) -> Retrieval:
    """The neighbours that the search didn't find itself come after the candidates, for
    ``--debug`` and for whatever looks a cited chunk up."""
    known = {hit.chunk.id for hit in retrieval.hits}
    lent = [hit for beside in neighbours.values() for hit in beside if hit.chunk.id not in known]
    ranked = (replace(hit, rank=rank) for rank, hit in enumerate(lent, len(known) + 1))
    return replace(retrieval, hits=(*retrieval.hits, *ranked))


def _decide(container: Container, retrieval: Retrieval) -> GateOutcome:
    from ragvault.retrieval.gate import decide

    return decide(retrieval, container.settings, gate_calibration(container))


def embedding_model(settings: Settings) -> str:
    """The embedding model's name, as the calibration of the confidence is kept under it."""
    is_served = settings.embedding.backend == "ollama"
    return settings.ollama.embedding_model if is_served else settings.embedding.model


def built_in_calibration(container: Container) -> Calibration:
    """The one that came with ragvault for the embedding model."""
    from ragvault.retrieval.calibration import for_model

    return for_model(embedding_model(container.settings))


def gate_calibration(container: Container) -> Calibration:
    """How the confidence is made: as ``gate.calibration`` says if that was fitted for today's
    embedding model, else as built in. Raises ConfigError for a feature that there isn't."""
    from ragvault.retrieval.calibration import Calibration, features_of

    settings = container.settings
    model, own = embedding_model(settings), settings.gate.calibration
    if own is None or own.model != model:
        return built_in_calibration(container)
    known = features_of(Retrieval(Query("", (), ()), (), 0, "none", FolderSelection("off"), 0, {}))
    unknown = [name for name in own.features if name not in known]
    if unknown:
        raise ConfigError(
            f"`gate.calibration` names the feature {unknown[0]!r}, which this ragvault hasn't got.",
            "Fit it again with `ragvault eval --calibrate --apply`, or remove the block.",
        )
    return Calibration(f"own ({model})", own.features, own.coefficients, own.intercept)


def _embed_of(container: Container, retrieval: Retrieval) -> Embed | None:
    """The embedder for choosing quotations; None where the search had to do without it."""
    if "embed" not in retrieval.timings_ms or retrieval.strategy == "keyword_recency":
        return None
    return container.embedder.embed_documents


def _logged(
    container: Container, result: AskResult, now: datetime, session: str | None
) -> AskResult:
    if not container.settings.answer.log:
        return result
    try:
        container.catalog.log_answer(log_row(result, now, session))
    except StoreError as error:
        notice = f"The answer could not be kept in the log: {error.message}"
        return replace(result, notices=(*result.notices, notice))
    return result


def log_row(result: AskResult, now: datetime, session: str | None = None) -> LoggedAnswer:
    """What the answer log keeps of an answer."""
    outcome = result.outcome
    answer = outcome if isinstance(outcome, Answer) else None
    abstention = outcome if isinstance(outcome, Abstention) else None
    timings = result.retrieval.timings_ms if result.retrieval else {}
    return LoggedAnswer(
        id=result.id,
        asked_at=now.timestamp(),
        session=session,
        question=result.question,
        answer=answer.text if answer else "",
        abstain_reason=str(abstention.reason) if abstention else None,
        mode=answer.mode if answer else "none",
        model=result.model,
        confidence=outcome.confidence,
        citations=tuple(
            (
                reference.marker,
                reference.hit.chunk.id,
                reference.hit.chunk.vault,
                reference.hit.chunk.rel_path,
                " > ".join(reference.hit.chunk.heading_path),
                reference.hit.chunk.start_line,
                reference.hit.chunk.end_line,
                reference.snippet,
                reference.hit.scores.final,
            )
            for reference in (answer.references if answer else ())
        ),
        retrieval_ms=timings.get("total"),
        llm_ms=result.llm_ms,
        total_ms=result.total_ms,
        prompt_tokens=result.usage.prompt_tokens,
        completion_tokens=result.usage.completion_tokens,
    )


# --------------------------------------------------------------------------- state of a vault


@dataclass(frozen=True, slots=True)
class Coverage:
    """Notes on disk against the index, by size and time of change; no note is opened.

    ``problem`` says why the folder could not be looked at.
    """

    current: int = 0
    changed: int = 0
    new: int = 0
    gone: int = 0
    problem: str | None = None

    @property
    def share(self) -> float:
        """0..1: how much of what is on disk is indexed as it is."""
        on_disk = self.current + self.changed + self.new
        return self.current / on_disk if on_disk else 1.0


def coverage(container: Container, vault: VaultInfo) -> Coverage:
    """Linear in the notes (a walk with one stat each)."""
    from ragvault.errors import RagvaultError
    from ragvault.ingest.walk import walk

    try:
        files = {f.rel_path: f for f in walk(vault.path, container.settings.index).files}
    except RagvaultError as error:
        return Coverage(problem=error.message)
    states: dict[str, FileState] = container.catalog.file_states(vault.name)
    known = [(f, states[path]) for path, f in files.items() if path in states]
    current = sum((f.size, f.mtime_ns) == (s.size, s.mtime_ns) for f, s in known)
    return Coverage(
        current=current,
        changed=len(known) - current,
        new=len(files) - len(known),
        gone=len(states.keys() - files.keys()),
    )


# --------------------------------------------------------------------------- small services


def period(
    since: str | None, until: str | None, now: datetime
) -> tuple[float | None, float | None]:
    """``--since`` and ``--until`` as seconds. Raises UsageError for what is no time."""
    from ragvault.retrieval.timehints import parse_when

    start = None if since is None else parse_when(since, now, False)
    end = None if until is None else parse_when(until, now, True)
    if start is not None and end is not None and start > end:
        raise UsageError(f"--since {since} is after --until {until}.", "Swap the two.")
    return start, end


def citation_of(hit: Hit) -> str:
    """The canonical citation of a hit, as ``Answer.text`` holds it."""
    from ragvault.answering.citations import canonical

    return canonical(hit)


def stem(word: str) -> str:
    """A word as the search compares it."""
    from ragvault.retrieval.overlap import stem as stem_of

    return stem_of(word)
