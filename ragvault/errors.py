"""Every failure that ragvault reports, and the exit code that each one owns.

    RagvaultError                     1  anything else
    ├── UsageError                    2  the words of the command are off
    │   ├── ConfigError               2  a key or value in the config (with its line)
    │   ├── QuestionError             2  an empty or over-long question
    │   └── VaultPathError            2  a vault path that can't be indexed
    ├── NoIndexError                  4  nothing is indexed yet, or not that vault
    ├── ModelError                    5  a model is needed and can't be had
    │   ├── EmbedderUnavailableError  5  the embedding model
    │   ├── ModelServerError          5  Ollama failed
    │   │   ├── NoModelServerError    5  … it isn't there
    │   │   └── ModelStreamError      5  … in the middle of an answer
    │   └── ModelMissingError         5  Ollama is there, the model isn't
    ├── IndexBusyError                6  another process is writing the index
    ├── StoreError                    1  the catalog or the vector store failed
    │   ├── StoreDamagedError         1  … and has to be rebuilt
    │   └── DiskFullError             1  … for want of space
    └── Interrupted                 130  Ctrl-C

An error carries one sentence (``message``) and one next step (``hint``). Adapters translate the
exceptions of the libraries behind them into these; nothing above an adapter sees the others.
The command line prints message and hint and exits with ``exit_code``, in one place.
"""

from __future__ import annotations

from typing import ClassVar


class RagvaultError(Exception):
    """Base of all reported failures.

    ``type`` is the stable name used in JSON; ``exit_code`` what the process ends with.
    """

    exit_code: ClassVar[int] = 1
    type: ClassVar[str] = "error"
    default_hint: ClassVar[str] = "Run `ragvault doctor` to see which part fails."

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = self.default_hint if hint is None else hint


class UsageError(RagvaultError):
    exit_code = 2
    type = "usage"
    default_hint = "Run `ragvault --help`."


class ConfigError(UsageError):
    type = "config"
    default_hint = "Mend it, then run `ragvault config show`; config.example.yaml names every key."


class QuestionError(UsageError):
    type = "question"
    default_hint = "Ask in one sentence of at most 2,000 characters."


class VaultPathError(UsageError):
    type = "vault_path"
    default_hint = "Give the path of the folder that holds the notes."


class NoIndexError(RagvaultError):
    exit_code = 4
    type = "no_index"
    default_hint = "Index a folder of notes first: `ragvault index ~/notes`."


class ModelError(RagvaultError):
    exit_code = 5
    type = "model"


class EmbedderUnavailableError(ModelError):
    type = "embedder_unavailable"


class ModelServerError(ModelError):
    type = "model_server"
    default_hint = "Start Ollama with `ollama serve`, or answer without it: `--no-llm`."


class NoModelServerError(ModelServerError):
    """Nothing listens at the address."""


class ModelStreamError(ModelServerError):
    """The server failed after the first token."""

    type = "model_stream"


class ModelMissingError(ModelError):
    type = "model_missing"
    default_hint = "Pull it with `ollama pull MODEL`, or name another with `--model`."


class IndexBusyError(RagvaultError):
    exit_code = 6
    type = "index_busy"
    default_hint = "Wait for it to end, then run the command again."


class StoreError(RagvaultError):
    type = "store"


class StoreDamagedError(StoreError):
    type = "store_damaged"
    default_hint = "Mend it with `ragvault repair`; your notes are untouched."


class DiskFullError(StoreError):
    type = "disk_full"
    default_hint = "Free some space and run the command again; what was indexed is kept."


class Interrupted(RagvaultError):
    exit_code = 130
    type = "interrupted"
    default_hint = "Run the command again; it goes on where it stopped."
