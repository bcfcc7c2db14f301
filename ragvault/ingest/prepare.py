"""One file → what is written of it: read, parse, chunk. Imported once there is a note to read,
as a run that finds nothing to do needs no Markdown parser."""

from __future__ import annotations

from ragvault.config.settings import Settings
from ragvault.formats import reader_for
from ragvault.formats.decoding import NotTextError
from ragvault.ingest.chunk import chunk_note
from ragvault.ingest.read import Content, Gone, Unreadable, read_note
from ragvault.ingest.walk import max_bytes, shown
from ragvault.model import NoteFile, NoteWrite, Skipped
from ragvault.ports import Embedder


class Preparer:
    """Prepares the notes of one vault. ``warnings`` are of the notes prepared so far."""

    def __init__(
        self, vault: str, settings: Settings, embedder: Embedder, fingerprint: str
    ) -> None:
        self._vault = vault
        self._chunking = settings.chunking
        self._max_bytes = max_bytes(settings.index)
        self._embedder = embedder
        self._fingerprint = fingerprint
        self.warnings: list[Skipped] = []

    def prepare(self, file: NoteFile) -> NoteWrite | Gone | Unreadable:
        """The note as it is now. What isn't text is Unreadable, and no note."""
        content = read_note(file, self._max_bytes)
        if not isinstance(content, Content):
            return content
        try:
            read = reader_for(file.rel_path)
            note = read(file.rel_path, content.data, content.file.mtime_ns / 1e9)
        except NotTextError as error:
            return Unreadable(error.reason, is_note=False)
        self.warnings.extend(Skipped(shown(file.rel_path), w) for w in note.warnings)
        window = self._embedder.max_tokens
        chunks = chunk_note(note, self._vault, self._embedder, self._chunking, window)
        return NoteWrite(
            content.file, content.content_hash, note, chunks, self._fingerprint, content.seen_ns
        )

    def is_dated_by_mtime(self, file: NoteFile) -> bool:
        """Whether the note names no date itself. True also for what can't be read or parsed now:
        it is read again, and reported, where notes are written."""
        content = read_note(file, self._max_bytes)
        if not isinstance(content, Content):
            return True
        mtime = content.file.mtime_ns / 1e9
        try:
            return reader_for(file.rel_path)(file.rel_path, content.data, mtime).date == mtime
        except NotTextError:
            return True
