"""What is known of embedding models by family: how each was trained to be used.

A model that was trained with `query: ` before each question finds much less without it. What the
configuration says counts, then what the model's own folder says, then ``FAMILIES``; a model that
is in none of them is given bare text.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from ragvault.adapters.files import read_object
from ragvault.config.profiles import PROFILES
from ragvault.config.settings import EmbeddingSettings
from ragvault.model import Prefixes

OWN_FILE = "config_sentence_transformers.json"

_SEARCH = "Represent this sentence for searching relevant passages: "
_INSTRUCT = (
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
)


class Family(NamedTuple):
    """``pattern`` is looked for in a model's name, in small letters. ``query`` and ``document``
    stand before a question and a passage; ``pooling`` is "mean", "cls" or "last" (token);
    ``window`` the longest input in tokens, specials included."""

    pattern: str
    query: str
    document: str
    pooling: str
    window: int


# Best first: of a server's models the first that is here is taken. EmbeddingGemma leads by what
# was measured on notes, the rest go by retrieval on MTEB; of two patterns that fit a name, the
# narrower comes first. Card: the model's card on the Hugging Face hub; prompts: its OWN_FILE.
# Pooling is from 1_Pooling/config.json and the window from sentence_bert_config.json, or from
# the card where there are none.
FAMILIES = (
    # google/embeddinggemma-300m, card and prompts ("query", "document").
    Family(
        r"embeddinggemma(?![-:]?2\b)",
        "task: search result | query: ",
        "title: none | text: ",
        "mean",
        2048,
    ),
    # Qwen/Qwen3-Embedding-0.6B to -8B, card and prompts: no blank after "Query:".
    Family(r"qwen3-embedding", _INSTRUCT, "", "last", 32768),
    # Alibaba-NLP/gte-Qwen2-7B-instruct, gte-Qwen1.5-7B-instruct, cards and prompts.
    Family(r"\bgte-qwen(2|1\.5)-", f"{_INSTRUCT} ", "", "last", 32768),
    # intfloat/e5-mistral-7b-instruct, card.
    Family(r"\be5-mistral-7b-instruct", f"{_INSTRUCT} ", "", "last", 4096),
    # intfloat/multilingual-e5-large-instruct, card.
    Family(r"\be5-large-instruct", f"{_INSTRUCT} ", "", "mean", 512),
    # Snowflake/snowflake-arctic-embed-m-v2.0, -l-v2.0, prompts; Ollama's name ends with 2.
    Family(r"snowflake-arctic-embed(2|-[ml]-v2)", "query: ", "", "cls", 8192),
    # BAAI/bge-m3, card: "no longer requires adding instructions to the queries".
    Family(r"\bbge-m3", "", "", "cls", 8192),
    # jinaai/jina-embeddings-v3, prompts ("retrieval.query", "retrieval.passage").
    Family(
        r"jina-embeddings-v3",
        "Represent the query for retrieving evidence documents: ",
        "Represent the document for retrieval: ",
        "mean",
        8192,
    ),
    # nomic-ai/nomic-embed-text-v2-moe, card: "maximum input length of 512 tokens".
    Family(r"nomic-embed-text-v2", "search_query: ", "search_document: ", "mean", 512),
    # nomic-ai/nomic-embed-text-v1, -v1.5, cards; without a version it is Ollama's v1.5.
    Family(r"nomic-embed-text(?!-v[2-9])", "search_query: ", "search_document: ", "mean", 8192),
    # mixedbread-ai/mxbai-embed-large-v1, card and prompts.
    Family(r"mxbai-embed-large", _SEARCH, "", "cls", 512),
    # ibm-granite/granite-embedding-english-r2 and -small-english-r2, cards: 8,192 tokens.
    Family(r"granite-embedding.*-r2", "", "", "cls", 8192),
    # Snowflake/snowflake-arctic-embed-m-long, card: 2,048 tokens without RPE.
    Family(r"snowflake-arctic-embed-m-long", _SEARCH, "", "cls", 2048),
    # Snowflake/snowflake-arctic-embed-xs to -l, -m-v1.5, cards and prompts.
    Family(r"snowflake-arctic-embed", _SEARCH, "", "cls", 512),
    # BAAI/bge-large-en-v1.5 and its smaller ones, card ("Model List"); Ollama leaves out the -en.
    Family(r"\bbge-(small|base|large)(-en|$|:)", _SEARCH, "", "cls", 512),
    # BAAI/bge-large-zh-v1.5 and its smaller ones, FlagEmbedding's README.
    Family(
        r"\bbge-(small|base|large)-zh(?!-noinstruct)",
        "为这个句子生成表示以用于检索相关文章：",
        "",
        "cls",
        512,
    ),
    # Alibaba-NLP/gte-base-en-v1.5, gte-multilingual-base, gte-modernbert-base, cards.
    Family(r"\bgte-((base|large)-en-v1\.5|multilingual|modernbert)", "", "", "cls", 8192),
    # thenlper/gte-large and its smaller ones, as MTEB runs them; the -zh ones pool otherwise.
    Family(r"\bgte-(small|base|large)(?!-zh)", "", "", "mean", 512),
    # intfloat/e5-base-v2, multilingual-e5-base and their kin, cards: "query: " or "passage: ".
    Family(r"\be5-(small|base|large)", "query: ", "passage: ", "mean", 512),
    # jinaai/jina-embeddings-v2-base-en and its kin, as MTEB runs them.
    Family(r"jina-embeddings-v2", "", "", "mean", 8192),
    # ibm-granite/granite-embedding-30m-english to -278m-multilingual, cards.
    Family(r"granite-embedding", "", "", "cls", 512),
    # sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2, -mpnet-base-v2, as MTEB does.
    Family(r"paraphrase-multilingual", "", "", "mean", 128),
    # sentence-transformers/all-MiniLM-L12-v2, card; Ollama names it by its size.
    Family(r"\ball-minilm(-l12|:l12|:33m)", "", "", "mean", 128),
    # sentence-transformers/all-MiniLM-L6-v2, card: "longer than 256 word pieces is truncated".
    Family(r"\ball-minilm", "", "", "mean", 256),
)


def family_of(name: str) -> Family | None:
    """Of a model by its hub id, Ollama's name or path; None: nobody knows it. By the last three
    parts of the name: a file may lie in ``onnx`` in the model's folder."""
    parts = reversed(re.split(r"[/\\]", name.lower())[-3:])
    found = (row for part in parts for row in FAMILIES if re.search(row.pattern, part))
    return next(found, None)


def known_as(wanted: EmbeddingSettings, name: str) -> str:
    """The name by which something is known of the model ``name``: of a path that tells nothing,
    that of the profile that was chosen beside it."""
    is_chosen = wanted.path is not None and wanted.profile != "bundled"
    return PROFILES[wanted.profile].original if is_chosen and family_of(name) is None else name


def best_known(names: list[str]) -> str | None:
    """Of models that there are, the one of the best family; None: nobody knows any of them."""
    known = {name: row for name in sorted(names) if (row := family_of(name)) is not None}
    return min(known, key=lambda name: FAMILIES.index(known[name]), default=None)


def prefixes_for(wanted: EmbeddingSettings, name: str, own: Path | None = None) -> Prefixes:
    """The prefixes of the model ``name`` (a hub id, a path, Ollama's name), whose folder holds
    the file ``own``. A prefix that is set, also an empty one, counts."""
    row = family_of(known_as(wanted, name))
    known = Prefixes(row.query, row.document, "family") if row else Prefixes("", "", None)
    trained = _of_folder(own) or known
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
    said = read_object(own) if own is not None else {}
    prompts = said.get("prompts")
    if not isinstance(prompts, dict):
        return None
    usual = str(said.get("default_prompt_name"))

    texts = {name: text for name, text in prompts.items() if isinstance(text, str)}

    def first(*names: str) -> str:
        return next((texts[name] for name in names if name in texts), "")

    query = first("query", "retrieval.query", usual)
    document = first("document", "passage", "corpus", "retrieval.passage", usual)
    return Prefixes(query, document, "model") if query or document else None
