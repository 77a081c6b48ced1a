"""Answers a question from one document, with sources. Everything that can go wrong is an error value of the answer.

The workflow follows BMLibrarian's `answer_from_document()`: find the document's texts, get the full text if wanted and
allowed, search it or use the abstract, then ask a model once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from qagen_dagster.agents.answering.answerer import AnswerRun, Excerpt, answer_from_excerpts
from qagen_dagster.answering.chunk_source import ChunkSource
from qagen_dagster.answering.fulltext.obtain import ProxyCallback, Wanted, obtain
from qagen_dagster.answering.retrieve import abstract_context, retrieve
from qagen_dagster.answering.texts import DocumentTexts, load_texts
from qagen_dagster.errors import ConfigError, ModelError, StoreError
from qagen_dagster.formats.sandbox import ParserPool
from qagen_dagster.models.base import Model
from qagen_dagster.records.answer import (
    AnswerSource,
    ChunkContext,
    QAError,
    SemanticSearchAnswer,
)
from qagen_dagster.records.corpus import AnsweringOptions
from qagen_dagster.store import Store

ModelOf = Callable[[str | None, float | None], Model]  # name of a model or None, temperature or None


@dataclass(frozen=True)
class Place:
    """Where the documents are stored, and what answering needs.

    Args:
        model: returns the answering model; raises ConfigError.
        chunks: searches the corpus' index if there is one, and texts that it does not have.
    """

    store: Store
    corpus: str
    options: AnsweringOptions
    pool: ParserPool
    model: ModelOf
    chunks: ChunkSource


@dataclass(frozen=True)
class _Asked:
    """The options of this call; they take precedence over the configured ones."""

    document_id: str
    question: str
    use_fulltext: bool
    download: bool
    always_allow_proxy: bool
    callback: ProxyCallback | None
    max_chunks: int
    threshold: float


class _StopError(Exception):
    """Ends the workflow with an error value."""

    def __init__(self, error: QAError, message: str) -> None:
        self.error, self.message = error, message
        super().__init__(message)


@dataclass
class _Findings:
    """What is known about the full text so far."""

    fulltext_error: QAError | None = None
    notes: list[str] = field(default_factory=list[str])


def answer_from_document(
    document_id: str,
    question: str,
    *,
    place: Place,
    model: str | None = None,
    use_fulltext: bool | None = None,
    download_missing: bool | None = None,
    always_allow_proxy: bool | None = None,
    proxy_callback: ProxyCallback | None = None,
    max_chunks: int | None = None,
    similarity_threshold: float | None = None,
    temperature: float | None = None,
) -> SemanticSearchAnswer:
    """Answer `question` from one document of `place`. Failures are values of the answer, not exceptions.

    An argument that is None is taken from the configuration.

    Args:
        model: the name of another model of the answerer's provider.
        download_missing: look on the network for a missing full text.
        always_allow_proxy: use the institution's proxy without asking.
        proxy_callback: asked for consent, with document id and title, when open sources have nothing.
        similarity_threshold: least cosine of a chunk; when no chunk reaches it, the best ones are used and a note says so.
    """
    usual = place.options
    asked = _Asked(
        document_id=document_id,
        question=question.strip(),
        use_fulltext=usual.use_fulltext if use_fulltext is None else use_fulltext,
        download=usual.fulltext.download if download_missing is None else download_missing,
        always_allow_proxy=usual.fulltext.always_allow_proxy
        if always_allow_proxy is None
        else always_allow_proxy,
        callback=proxy_callback,
        max_chunks=usual.max_chunks if max_chunks is None else max_chunks,
        threshold=usual.similarity_threshold if similarity_threshold is None else similarity_threshold,
    )
    blank = SemanticSearchAnswer(answer="", document_id=document_id, question=asked.question)
    findings = _Findings()
    try:
        _validate(asked)
        answering = place.model(model, usual.temperature if temperature is None else temperature)
        blank = blank.model_copy(update={"model_used": answering.spec.name})
        found = _answer(asked, place, answering, blank, findings)
    except _StopError as stop:
        found = _failed(blank, stop.error, stop.message)
    except ConfigError as error:
        found = _failed(blank, QAError.CONFIGURATION_ERROR, str(error))
    except ModelError as error:
        found = _failed(blank, QAError.LLM_ERROR, str(error))
    except (StoreError, OSError) as error:
        found = _failed(blank, QAError.DATABASE_ERROR, str(error))
    return found.model_copy(
        update={"fulltext_error": findings.fulltext_error, "notes": tuple(findings.notes)}
    )


def _failed(blank: SemanticSearchAnswer, error: QAError, message: str) -> SemanticSearchAnswer:
    return blank.model_copy(update={"error": error, "error_message": message})


def _validate(asked: _Asked) -> None:
    if not asked.question:
        raise _StopError(QAError.CONFIGURATION_ERROR, "the question is empty")
    if asked.max_chunks < 1:
        raise _StopError(QAError.CONFIGURATION_ERROR, "max_chunks must be 1 or more")
    if not -1 <= asked.threshold <= 1:
        raise _StopError(QAError.CONFIGURATION_ERROR, "similarity_threshold must be between -1 and 1")


def _answer(
    asked: _Asked, place: Place, model: Model, blank: SemanticSearchAnswer, findings: _Findings
) -> SemanticSearchAnswer:
    texts = _texts(asked, place, findings)
    source, context = _context(asked, place, texts, findings)
    run = answer_from_excerpts(
        model,
        asked.question,
        texts.document.metadata.title,
        [Excerpt(one.chunk_no, one.start_line, one.text) for one in context],
        document_id=asked.document_id,
    )
    return _told(blank.model_copy(update={"source": source}), run, context)


def _texts(asked: _Asked, place: Place, findings: _Findings) -> DocumentTexts:
    """The document's texts, after an attempt to get the full text if that is wanted."""
    texts = load_texts(place.store, place.corpus, asked.document_id)
    if texts is None:
        raise _StopError(QAError.DOCUMENT_NOT_FOUND, f"there is no document {asked.document_id!r}")
    if asked.use_fulltext and texts.fulltext is None:
        texts = _with_fulltext(asked, place, texts, findings)
    if not texts.status().has_any_text:
        outcome = texts.document.outcome.value
        tried = findings.fulltext_error not in (None, QAError.NO_FULLTEXT)
        error = findings.fulltext_error if tried else None
        told = "; ".join((f"the document ended as {outcome} and has no text", *findings.notes))
        raise _StopError(error or QAError.NO_TEXT_AVAILABLE, told)
    return texts


def _with_fulltext(asked: _Asked, place: Place, texts: DocumentTexts, findings: _Findings) -> DocumentTexts:
    if not asked.download:
        findings.fulltext_error = QAError.NO_FULLTEXT
        return texts
    wanted = Wanted(
        place.corpus, asked.document_id, texts.document.metadata.title, texts.paper,
        asked.always_allow_proxy, asked.callback,
    )  # fmt: skip
    got = obtain(wanted, place.options.fulltext, place.store, place.pool)
    findings.fulltext_error = got.error
    if got.error is not None:
        findings.notes.append(f"no full text: {got.detail}")
        return texts
    return load_texts(place.store, place.corpus, asked.document_id) or texts


def _context(
    asked: _Asked, place: Place, texts: DocumentTexts, findings: _Findings
) -> tuple[AnswerSource, tuple[ChunkContext, ...]]:
    """Chunks of the full text; the abstract if there is no full text or the search in it failed."""
    if asked.use_fulltext and texts.fulltext is not None:
        got = retrieve(
            place.chunks, asked.document_id, texts.fulltext, asked.question, asked.max_chunks, asked.threshold
        )
        if got.note:
            findings.notes.append(got.note)
        if got.chunks:
            return AnswerSource.FULLTEXT_SEMANTIC, got.chunks
        findings.fulltext_error = got.error
        if texts.abstract is None:
            raise _StopError(got.error or QAError.SEMANTIC_SEARCH_FAILED, got.note)
    if texts.abstract is None:
        raise _StopError(
            QAError.NO_TEXT_AVAILABLE, "the document has no abstract, and its full text was not wanted"
        )
    return AnswerSource.ABSTRACT, abstract_context(texts)


def _told(
    blank: SemanticSearchAnswer, run: AnswerRun, context: tuple[ChunkContext, ...]
) -> SemanticSearchAnswer:
    given = blank.model_copy(update={"reasoning": run.reasoning})
    if run.submitted is None:
        return _failed(given, QAError.LLM_ERROR, run.failure)
    cited = tuple(one for one in context if one.chunk_no in run.submitted.chunks)
    return given.model_copy(
        update={
            "answer": run.submitted.answer.strip(),
            "answerable": run.submitted.answerable,
            "confidence": run.submitted.confidence,
            "chunks_used": cited or context,
        }
    )
