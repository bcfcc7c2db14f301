"""What the stages hand each other: frozen values, and unions for outcomes.

No I/O, no third-party imports beyond the type of a vector. Times are seconds since the epoch
(float, UTC) unless a name says ``_ms`` or ``_ns``; scores lie in 0..1 unless a docstring says
otherwise; lines are 1-based and inclusive, counted in the file as it is on disk.

    notes      a note on its way into the index: file, sections, chunks, the run's report
    stores     what the stores hold and give back: vaults, stored chunks, folders, filters
    confidence how sure, and why there is no answer
    retrieval  one search: request, query, scores, hits, the gate's outcome
    answers    one answer: prompt, citations, references, the log's row
    events     an answer in the making
"""

from typing import TYPE_CHECKING

from ragvault.model.answers import (
    Answer as Answer,
    AskResult as AskResult,
    ChatOptions as ChatOptions,
    ChatUsage as ChatUsage,
    Citation as Citation,
    CitationStatus as CitationStatus,
    HistoryEntry as HistoryEntry,
    Message as Message,
    ModelInfo as ModelInfo,
    Prompt as Prompt,
    Quotation as Quotation,
    Reference as Reference,
)
from ragvault.model.confidence import (
    AbstainReason as AbstainReason,
    Band as Band,
    Judgement as Judgement,
    shown_confidence as shown_confidence,
    sigmoid as sigmoid,
)
from ragvault.model.events import (
    AskEvent as AskEvent,
    Cited as Cited,
    Done as Done,
    Drafted as Drafted,
    Retrieved as Retrieved,
    Stated as Stated,
    Token as Token,
    Written as Written,
)
from ragvault.model.notes import (
    Block as Block,
    BlockKind as BlockKind,
    Chunk as Chunk,
    FileState as FileState,
    HeadingPath as HeadingPath,
    IndexReport as IndexReport,
    Note as Note,
    NoteFile as NoteFile,
    NoteWrite as NoteWrite,
    Section as Section,
    Skipped as Skipped,
    kept_ns as kept_ns,
)
from ragvault.model.retrieval import (
    Abstention as Abstention,
    Breadth as Breadth,
    Described as Described,
    Detail as Detail,
    DroppedBy as DroppedBy,
    Evidence as Evidence,
    FolderSelection as FolderSelection,
    Hit as Hit,
    Intent as Intent,
    Query as Query,
    Request as Request,
    Retrieval as Retrieval,
    Scope as Scope,
    Scores as Scores,
    Strategy as Strategy,
    TimeHint as TimeHint,
    Timing as Timing,
    Turn as Turn,
)
from ragvault.model.stores import (
    Background as Background,
    Filter as Filter,
    FolderInfo as FolderInfo,
    Level as Level,
    NoteInfo as NoteInfo,
    Prefixes as Prefixes,
    ScoredId as ScoredId,
    StoredChunk as StoredChunk,
    VaultInfo as VaultInfo,
    collection_of as collection_of,
)

if TYPE_CHECKING:
    from ragvault.model.stores import Matrix as Matrix, Vector as Vector
