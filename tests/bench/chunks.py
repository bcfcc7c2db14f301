"""What ``index`` has to embed of a vault, found without the stores."""

from __future__ import annotations

from pathlib import Path

from ragvault.adapters.onnx.embedder import OnnxEmbedder
from ragvault.config.settings import Settings
from ragvault.formats.decoding import NotTextError
from ragvault.formats.markdown import read_markdown
from ragvault.ingest.chunk import chunk_note
from ragvault.ingest.walk import walk


def model_files(folder: str = "") -> tuple[Path, Path]:
    """The ONNX file and the tokenizer of the default model, or of a folder's."""
    files = OnnxEmbedder(Settings(embedding={"path": folder} if folder else {})).files
    return files.model, files.tokenizer


def embedded_texts(vault: Path) -> list[str]:
    """Each distinct text that a first index of the vault embeds, in the order of the notes."""
    settings, embedder = Settings(), OnnxEmbedder(Settings())
    texts: dict[str, str] = {}
    for file in walk(vault, settings.index).files:
        try:
            note = read_markdown(file.rel_path, Path(file.path).read_bytes(), file.mtime_ns / 1e9)
        except NotTextError:
            continue
        window = embedder.max_tokens
        for chunk in chunk_note(note, "bench", embedder, settings.chunking, window):
            texts[chunk.text_hash] = chunk.embed_text
    embedder.close()
    return list(texts.values())
