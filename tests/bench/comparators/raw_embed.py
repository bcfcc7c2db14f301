"""The raw time to embed texts with ragvault's default model, or one in a folder: one call, texts
and model in memory.

    raw_embed.py TEXTS.json [FOLDER]

Prints the seconds of ``embed_documents`` alone, by the clock and of processor time, as JSON; the
model is loaded before, by a text of its own.
"""

import json
import sys
import time
from pathlib import Path

from ragvault.adapters.onnx.embedder import OnnxEmbedder
from ragvault.config.settings import Settings

texts = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
chosen = {"path": sys.argv[2], "profile": "multilingual"} if sys.argv[2:] else {}
embedder = OnnxEmbedder(Settings(embedding=chosen))
embedder.embed_documents(["warm up"])
wall, cpu = time.perf_counter(), time.process_time()
embedder.embed_documents(texts)
print(json.dumps({"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}))
