"""The raw time to embed texts with ragvault's default model: one call, texts and model in memory.

    raw_embed.py TEXTS.json

Prints the seconds of ``embed_documents`` alone; the model is loaded before by a text of its own.
"""

import json
import sys
import time
from pathlib import Path

from ragvault.adapters.onnx import OnnxEmbedder

texts = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
embedder = OnnxEmbedder()
embedder.embed_documents(["warm up"])
began = time.perf_counter()
embedder.embed_documents(texts)
print(time.perf_counter() - began)
