"""What a model wants before a question and before a passage, as it was trained.

A model that was trained with `query: ` before each question finds much less without it. What the
configuration says counts, then what the model's own folder says, then ``FAMILIES``; a model that
is in none of them is given bare text.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from ragvault.model import Prefixes

if TYPE_CHECKING:
    from ragvault.config.settings import EmbeddingSettings

OWN_FILE = "config_sentence_transformers.json"

_SEARCH = "Represent this sentence for searching relevant passages: "
_INSTRUCT = (
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
)

# (a pattern in the model's name, in small letters; before a question; before a passage). The first
# that is found counts. Card: the model's card on the Hugging Face hub; prompts: its OWN_FILE.
FAMILIES: tuple[tuple[str, str, str], ...] = (
    # google/embeddinggemma-300m, card and prompts ("query", "document").
    (r"embeddinggemma(?![-:]?2\b)", "task: search result | query: ", "title: none | text: "),
    # nomic-ai/nomic-embed-text-v1, -v1.5, -v2-moe, cards; without a version it is Ollama's v1.5.
    (r"nomic-embed-text(?!-v[3-9])", "search_query: ", "search_document: "),
    # mixedbread-ai/mxbai-embed-large-v1, card and prompts.
    (r"mxbai-embed-large", _SEARCH, ""),
    # Snowflake/snowflake-arctic-embed-m-v2.0, -l-v2.0, prompts; Ollama's name ends with 2.
    (r"snowflake-arctic-embed(2|-[ml]-v2)", "query: ", ""),
    # Snowflake/snowflake-arctic-embed-xs to -l, -m-long, -m-v1.5, cards and prompts.
    (r"snowflake-arctic-embed", _SEARCH, ""),
    # BAAI/bge-m3, card: "no longer requires adding instructions to the queries".
    (r"\bbge-m3", "", ""),
    # BAAI/bge-large-zh-v1.5 and its smaller ones, FlagEmbedding's README.
    (r"\bbge-(small|base|large)-zh(?!-noinstruct)", "为这个句子生成表示以用于检索相关文章：", ""),
    # BAAI/bge-large-en-v1.5 and its smaller ones, card ("Model List"); Ollama leaves out the -en.
    (r"\bbge-(small|base|large)(-en|$|:)", _SEARCH, ""),
    # intfloat/multilingual-e5-large-instruct, e5-mistral-7b-instruct, cards.
    (r"\be5-(large|mistral-7b)-instruct", _INSTRUCT + " ", ""),
    # intfloat/e5-base-v2, multilingual-e5-base and their kin, cards: "query: " or "passage: ".
    (r"\be5-(small|base|large)", "query: ", "passage: "),
    # Alibaba-NLP/gte-Qwen2-7B-instruct, gte-Qwen1.5-7B-instruct, prompts.
    (r"\bgte-qwen(2|1\.5)-", _INSTRUCT + " ", ""),
    # thenlper/gte-large, Alibaba-NLP/gte-base-en-v1.5, gte-multilingual-base, as MTEB runs them.
    (r"\bgte-(small|base|large|multilingual|modernbert)", "", ""),
    # ibm-granite/granite-embedding-30m-english to -english-r2, as MTEB runs them.
    (r"granite-embedding", "", ""),
    # Qwen/Qwen3-Embedding-0.6B to -8B, card and prompts: no blank after "Query:".
    (r"qwen3-embedding", _INSTRUCT, ""),
    # jinaai/jina-embeddings-v3, prompts ("retrieval.query", "retrieval.passage").
    (
        r"jina-embeddings-v3",
        "Represent the query for retrieving evidence documents: ",
        "Represent the document for retrieval: ",
    ),
    # jinaai/jina-embeddings-v2-base-en and its kin, as MTEB runs them.
    (r"jina-embeddings-v2", "", ""),
    # sentence-transformers/all-MiniLM-L6-v2, -L12-v2, as MTEB runs them.
    (r"\ball-minilm", "", ""),
    # sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2, -mpnet-base-v2, as MTEB does.
    (r"paraphrase-multilingual", "", ""),
)


def prefixes_for(wanted: EmbeddingSettings, name: str, own: Path | None = None) -> Prefixes:
    """The prefixes of the model ``name`` (a hub id, a path, Ollama's name), whose folder holds
    the file ``own``. A prefix that is set, also an empty one, counts."""
    trained = _of_folder(own) or _of_family(name) or Prefixes("", "", None)
    query, document = wanted.query_prefix, wanted.document_prefix
    if query is None and document is None:
        return trained
    return Prefixes(
        trained.query if query is None else query,
        trained.document if document is None else document,
        "configuration",
    )


def _of_folder(own: Path | None) -> Prefixes | None:
    """As sentence-transformers reads the file; None where it says nothing. Texts that are all
    empty are nothing: sentence-transformers writes those for every model that it saves."""
    try:
        said = json.loads(own.read_text(encoding="utf-8")) if own is not None else {}
    except (OSError, ValueError):  # not ours to complain about: bare, or by the family
        return None
    prompts = said.get("prompts") if isinstance(said, dict) else None
    if not isinstance(prompts, dict):
        return None
    usual = str(said.get("default_prompt_name"))

    texts = {name: text for name, text in prompts.items() if isinstance(text, str)}

    def first(*names: str) -> str:
        return next((texts[name] for name in names if name in texts), "")

    query = first("query", "retrieval.query", usual)
    document = first("document", "passage", "corpus", "retrieval.passage", usual)
    return Prefixes(query, document, "model") if query or document else None


def _of_family(name: str) -> Prefixes | None:
    """By the last three parts of the name: a file may lie in ``onnx`` in the model's folder."""
    for part in reversed(re.split(r"[/\\]", name.lower())[-3:]):
        for pattern, query, document in FAMILIES:
            if re.search(pattern, part):
                return Prefixes(query, document, "family")
    return None
