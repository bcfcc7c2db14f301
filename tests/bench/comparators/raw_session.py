"""The raw time of a model's file: one text a run, a thread a core, nothing but ONNX Runtime.

    raw_session.py TEXTS.json MODEL.onnx TOKENIZER.json

Prints the seconds as JSON, by the clock and of processor time; the model is loaded before.
"""

import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnxruntime
import tokenizers

texts = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
tokenizer = tokenizers.Tokenizer.from_file(sys.argv[3])
tokenizer.no_padding()
tokenizer.enable_truncation(512)  # no text is longer; the file may say less
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(sys.argv[2], options)
names = {each.name for each in session.get_inputs()}


def run(text: str) -> None:
    ids = np.array([tokenizer.encode(text).ids], np.int64)
    ones = np.ones_like(ids)
    feed = {"input_ids": ids, "attention_mask": ones, "token_type_ids": ones - 1}
    session.run(None, {name: feed[name] for name in names})


run("warm up")
wall, cpu = time.perf_counter(), time.process_time()
with ThreadPoolExecutor(os.cpu_count()) as pool:
    list(pool.map(run, texts))
print(json.dumps({"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}))
