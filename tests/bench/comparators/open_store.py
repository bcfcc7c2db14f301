"""The least that a search has to do before it can search: import, open the store, load the model.

open_store.py CHROMA_FOLDER MODEL.onnx
"""

import os
import sys

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read when onnxruntime is imported

import chromadb
import onnxruntime
from chromadb.config import Settings

client = chromadb.PersistentClient(sys.argv[1], Settings(anonymized_telemetry=False))
collections = client.list_collections()
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(sys.argv[2], options, providers=["CPUExecutionProvider"])
print(len(collections), len(session.get_inputs()))
