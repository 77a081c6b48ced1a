"""Chooses what a model is shown of one document: chunks of its full text, or its abstract."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qagen_dagster.answering.chunk_source import ChunkSource, best_chunks
from qagen_dagster.answering.texts import DocumentTexts
from qagen_dagster.errors import ModelError, StoreError
from qagen_dagster.records.answer import ChunkContext, QAError
from qagen_dagster.records.document import ChunkHit


@dataclass(frozen=True)
class Retrieved:
    """Chunks, best first; `error` says why there are none. `note` is one line for a person, or empty."""

    chunks: tuple[ChunkContext, ...]
    error: QAError | None = None
    note: str = ""


def retrieve(
    chunks: ChunkSource, document_id: str, text: str, question: str, limit: int, threshold: float
) -> Retrieved:
    """The chunks of `text` that fit the question best.

    If none reaches `threshold`, the best ones are used all the same: the model can still say that they have no answer.
    """
    try:
        searcher = chunks.searcher(document_id, text)
    except (ModelError, StoreError) as error:
        return Retrieved((), QAError.EMBEDDING_FAILED, str(error))
    try:
        hits, close = best_chunks(searcher, document_id, question, limit, threshold)
    except (ModelError, StoreError) as error:
        return Retrieved((), QAError.SEMANTIC_SEARCH_FAILED, str(error))
    if not hits:
        return Retrieved((), QAError.SEMANTIC_SEARCH_FAILED, "the text has no chunk")
    note = f"no chunk reaches the similarity threshold {threshold:g}: the best {len(hits)} were used"
    return Retrieved(tuple(_context(text, hit) for hit in hits), None, "" if close else note)


def _context(text: str, hit: ChunkHit) -> ChunkContext:
    return ChunkContext(
        chunk_no=hit.chunk.number,
        text=text[hit.chunk.start : hit.chunk.end].strip(),
        score=hit.meaning,
        chunk_id=hit.chunk.number,
        start_line=hit.chunk.start_line,
        end_line=hit.chunk.end_line,
    )


def abstract_context(texts: DocumentTexts) -> tuple[ChunkContext, ...]:
    """The abstract as one piece, with its lines if the document's text contains it verbatim."""
    abstract = texts.abstract or ""
    lines = lines_of(texts.own, abstract)
    if lines is None:
        return (ChunkContext(chunk_no=0, text=abstract, score=1.0),)
    start, end = lines
    shown = "\n".join(texts.own.split("\n")[start - 1 : end])
    return (ChunkContext(chunk_no=0, text=shown, score=1.0, start_line=start, end_line=end),)


def lines_of(text: str, passage: str) -> tuple[int, int] | None:
    """The first and last line of a passage, ignoring white space; None if the text does not contain it."""
    lines: Sequence[str] = text.split("\n")
    wanted = "".join(passage.split())
    joined, owners = list[str](), list[int]()
    for number, line in enumerate(lines, 1):
        bare = "".join(line.split())
        joined.append(bare)
        owners.extend([number] * len(bare))
    at = "".join(joined).find(wanted) if wanted else -1
    return None if at < 0 else (owners[at], owners[at + len(wanted) - 1])
