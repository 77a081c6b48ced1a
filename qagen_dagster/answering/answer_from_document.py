"""Answers a question from one document, with sources. Everything that can go wrong is an error value of the answer.

The workflow follows BMLibrarian's `answer_from_document()`: find the document's texts, get the full text if wanted and
allowed, search it or use the abstract, then ask a model once.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from qagen_dagster.agents.answering import AnswerRun, Excerpt, answer_from_excerpts
from qagen_dagster.answering.full_text import ProxyCallback, Wanted, obtain, stored_text
from qagen_dagster.answering.pdf_sources import Paper
from qagen_dagster.errors import ConfigError, ModelError, StoreError
from qagen_dagster.formats.parser_pool import ParserPool
from qagen_dagster.index.search import ChunkSource, best_chunks
from qagen_dagster.models.base import Model
from qagen_dagster.records import answer
from qagen_dagster.records.base import Record
from qagen_dagster.records.corpus_options import AnsweringOptions
from qagen_dagster.records.document import ChunkHit, Document, Ranking
from qagen_dagster.records.ids import content_hash
from qagen_dagster.store import Store

# A text is a full text if it has more words beyond abstract, title and authors than both of these minima.
MORE_THAN_ABSTRACT = 0.5  # as a share of the abstract's words
FEWEST_WORDS = 60
_DOI_PREFIX = re.compile(r"^(?:https?://)?(?:(?:www\.|dx\.)?doi\.org/)?(?:doi:\s*)?", re.IGNORECASE)
_MAX_DOI = 300  # characters
_OptionsT = TypeVar("_OptionsT", bound=Record)
ModelOf = Callable[[str | None, float | None], Model]  # name of a model or None, temperature or None


@dataclass(frozen=True)
class DocumentTexts:
    """A document, the text of its file (`own`), and its full text: a text that was fetched, or `own` if that is a full text, or None."""

    document: Document
    own: str
    fulltext: str | None

    @property
    def abstract(self) -> str | None:
        """The abstract as the document states it; None if it states none."""
        return (self.document.metadata.abstract or "").strip() or None

    @property
    def paper(self) -> Paper:
        meta = self.document.metadata
        return Paper(doi=bare_doi(meta.doi), url=meta.url)

    def status(self, chunks: ChunkSource | None = None) -> answer.DocumentTextStatus:
        """The status of the texts; without `chunks`, no text counts as embedded."""
        full = self.fulltext
        embedded = chunks is not None and chunks.has(self.document.id, self.own)
        inside = self.abstract is not None and lines_of(self.own, self.abstract) is not None
        return answer.DocumentTextStatus(
            document_id=self.document.id,
            has_abstract=self.abstract is not None,
            has_fulltext=full is not None,
            has_abstract_embeddings=embedded and inside,
            has_fulltext_chunks=chunks is not None
            and full is not None
            and chunks.has(self.document.id, full),
            abstract_length=len(self.abstract or ""),
            fulltext_length=len(full or ""),
            title=self.document.metadata.title,
        )


def load_texts(store: Store, corpus: str, document_id: str) -> DocumentTexts | None:
    """The texts of a stored document; None when there is no such document. Raises StoreError."""
    try:
        document = store.find(Document.key(corpus, document_id), Document)
    except ValueError:  # no document has such a name
        return None
    if document is None:
        return None
    key = Document.text_key(corpus, document_id)
    data = store.get(key) or b""
    if document.text_sha256 and content_hash(data) != document.text_sha256:
        raise StoreError(f"{store.path(key)} is damaged: materialize parsed_documents to parse it again")
    own = data.decode("utf-8", "replace")
    fetched = stored_text(store, corpus, document_id)
    fulltext = own if fetched is None and is_fulltext(document, own) else fetched
    return DocumentTexts(document, own, fulltext)


def is_fulltext(document: Document, text: str) -> bool:
    """Whether a document's text has more than an abstract with title, authors and keywords; True if no abstract is known."""
    if not text.strip():
        return False
    abstract = len((document.metadata.abstract or "").split())
    if not abstract:
        return True
    meta = document.metadata
    around = len((meta.title or "").split()) + sum(len(name.split()) for name in meta.authors)
    added = len(text.split()) - abstract - around
    return added > max(FEWEST_WORDS, MORE_THAN_ABSTRACT * abstract)


def bare_doi(doi: str | None) -> str | None:
    """The DOI without prefixes such as `doi:` or `https://doi.org/`; None if it is no DOI."""
    bare = _DOI_PREFIX.sub("", (doi or "").strip())
    good = bare.startswith("10.") and "/" in bare and not any(map(str.isspace, bare))
    return bare if good and len(bare) <= _MAX_DOI else None


@dataclass(frozen=True)
class Retrieved:
    """Chunks, best first; `error` is the reason why there are none. `note` is one line for a person, or empty."""

    chunks: tuple[answer.ChunkContext, ...]
    error: answer.QAError | None = None
    note: str = ""


def retrieve(
    chunks: ChunkSource, document_id: str, text: str, question: str, limit: int, threshold: float
) -> Retrieved:
    """The chunks of `text` that fit the question best. If none reaches `threshold`, the best chunks are still
    used, because the model can report that they have no answer."""
    try:
        searcher = chunks.searcher(document_id, text)
    except (ModelError, StoreError) as error:
        return Retrieved((), answer.QAError.EMBEDDING_FAILED, str(error))
    try:
        hits, close = best_chunks(searcher, document_id, question, limit, threshold)
    except (ModelError, StoreError) as error:
        return Retrieved((), answer.QAError.SEMANTIC_SEARCH_FAILED, str(error))
    if not hits:
        return Retrieved((), answer.QAError.SEMANTIC_SEARCH_FAILED, "the text has no chunk")
    note = f"no chunk reaches the similarity threshold {threshold:g}: the best {len(hits)} were used"
    return Retrieved(tuple(_chunk_context(text, hit) for hit in hits), None, "" if close else note)


def _chunk_context(text: str, hit: ChunkHit) -> answer.ChunkContext:
    return answer.ChunkContext(
        chunk_no=hit.chunk.number,
        text=text[hit.chunk.start : hit.chunk.end].strip(),
        score=hit.meaning,
        chunk_id=hit.chunk.number,
        start_line=hit.chunk.start_line,
        end_line=hit.chunk.end_line,
    )


def abstract_context(texts: DocumentTexts) -> tuple[answer.ChunkContext, ...]:
    """The abstract as one piece, with its lines if the document's text contains it verbatim."""
    abstract = texts.abstract or ""
    lines = lines_of(texts.own, abstract)
    if lines is None:
        return (answer.ChunkContext(chunk_no=0, text=abstract, score=1.0),)
    start, end = lines
    shown = "\n".join(texts.own.split("\n")[start - 1 : end])
    return (answer.ChunkContext(chunk_no=0, text=shown, score=1.0, start_line=start, end_line=end),)


def search_texts(
    texts: DocumentTexts, chunks: ChunkSource, query: str, threshold: float, limit: int
) -> tuple[answer.ChunkContext, ...]:
    """The chunks of the full text that are closest in meaning to the query, the best first; sentences of the abstract if there is no full
    text. Each result has a cosine of at least `threshold`. Raises ConfigError, ModelError and StoreError."""
    check_search("limit", limit, "threshold", threshold)
    document_id = texts.document.id
    if texts.fulltext is not None:
        searcher = chunks.searcher(document_id, texts.fulltext)
        hits = searcher.search(document_id, query, limit, threshold, Ranking.MEANING)
        return tuple(_chunk_context(texts.fulltext, hit) for hit in hits)
    found: list[answer.ChunkContext] = []
    for cosine, number, sentence in chunks.sentences(texts.abstract or "", query)[:limit]:
        start, end = lines_of(texts.own, sentence.text) or (None, None)
        if cosine >= threshold:
            found.append(
                answer.ChunkContext(
                    chunk_no=number,
                    text=sentence.text,
                    score=cosine,
                    chunk_id=number,
                    start_line=start,
                    end_line=end,
                )
            )
    return tuple(found)


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


@dataclass(frozen=True)
class Place:
    """The store of the documents, and everything that answering needs.

    Args:
        model: returns the answering model; raises ConfigError.
        chunks: searches the corpus' index if there is one, and texts that the index does not have.
    """

    store: Store
    corpus: str
    options: AnsweringOptions
    pool: ParserPool
    model: ModelOf
    chunks: ChunkSource


class _StopError(Exception):
    """Ends the workflow with an error value."""

    def __init__(self, error: answer.QAError, message: str) -> None:
        self.error, self.message = error, message
        super().__init__(message)


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
) -> answer.SemanticSearchAnswer:
    """Answer `question` from one document of `place`. Failures are values of the answer, not exceptions.

    For an argument that is None, the configured value is used.

    Args:
        model: the name of another model of the answerer's provider.
        download_missing: look on the network for a missing full text.
        always_allow_proxy: use the institution's proxy without asking.
        proxy_callback: asked for consent, with document id and title, when open sources have nothing.
        similarity_threshold: minimum cosine of a chunk. When no chunk reaches it, the best chunks are used and a note reports this.
    """
    usual = place.options
    downloads = _changed(usual.fulltext, download=download_missing, always_allow_proxy=always_allow_proxy)
    options = _changed(
        usual,
        use_fulltext=use_fulltext,
        max_chunks=max_chunks,
        similarity_threshold=similarity_threshold,
        temperature=temperature,
        fulltext=downloads,
    )
    work = _Answering(document_id, question.strip(), replace(place, options=options), proxy_callback)
    blank = answer.SemanticSearchAnswer(answer="", document_id=document_id, question=work.question)
    try:
        work.validate()
        answering = place.model(model, options.temperature)
        blank = blank.model_copy(update={"model_used": answering.spec.name})
        found = work.answered(answering, blank)
    except _StopError as stop:
        found = _failed(blank, stop.error, stop.message)
    except ConfigError as error:
        found = _failed(blank, answer.QAError.CONFIGURATION_ERROR, str(error))
    except ModelError as error:
        found = _failed(blank, answer.QAError.LLM_ERROR, str(error))
    except (StoreError, OSError) as error:
        found = _failed(blank, answer.QAError.DATABASE_ERROR, str(error))
    return found.model_copy(update={"fulltext_error": work.fulltext_error, "notes": tuple(work.notes)})


def _changed(options: _OptionsT, **given: object) -> _OptionsT:
    """The options, in which given values that are not None replace the old values. The values are not validated."""
    return options.model_copy(update={name: value for name, value in given.items() if value is not None})


def _failed(
    blank: answer.SemanticSearchAnswer, error: answer.QAError, message: str
) -> answer.SemanticSearchAnswer:
    return blank.model_copy(update={"error": error, "error_message": message})


def check_search(limit_name: str, limit: int, threshold_name: str, threshold: float) -> None:
    """Raise ConfigError, with the name of the setting, if `limit` is below 1, or if `threshold` is not a cosine."""
    if limit < 1:
        raise ConfigError(f"{limit_name} must be 1 or more")
    if not -1 <= threshold <= 1:
        raise ConfigError(f"{threshold_name} must be between -1 and 1")


@dataclass
class _Answering:
    """One question, and what is known about the full text so far. The options of `place` are the options of this call."""

    document_id: str
    question: str
    place: Place
    callback: ProxyCallback | None
    fulltext_error: answer.QAError | None = None
    notes: list[str] = field(default_factory=list[str])

    def validate(self) -> None:
        """Raise ConfigError for an impossible argument."""
        options = self.place.options
        if not self.question:
            raise ConfigError("the question is empty")
        check_search("max_chunks", options.max_chunks, "similarity_threshold", options.similarity_threshold)
        if options.temperature is not None and not options.temperature >= 0:
            raise ConfigError("temperature must be 0 or more")

    def answered(self, model: Model, blank: answer.SemanticSearchAnswer) -> answer.SemanticSearchAnswer:
        """The answer of the model. Raises _StopError, ModelError, StoreError and OSError."""
        texts = self._texts()
        source, context = self._context(texts)
        run = answer_from_excerpts(
            model,
            self.question,
            texts.document.metadata.title,
            [Excerpt(one.chunk_no, one.start_line, one.text) for one in context],
            document_id=self.document_id,
        )
        return _answered(blank.model_copy(update={"source": source}), run, context)

    def _texts(self) -> DocumentTexts:
        """The document's texts, after an attempt to get the full text, if it is wanted and missing."""
        texts = load_texts(self.place.store, self.place.corpus, self.document_id)
        if texts is None:
            raise _StopError(answer.QAError.DOCUMENT_NOT_FOUND, f"there is no document {self.document_id!r}")
        if self.place.options.use_fulltext and texts.fulltext is None:
            texts = self._with_fulltext(texts)
        if not texts.status().has_any_text:
            outcome = texts.document.outcome.value
            tried = self.fulltext_error not in (None, answer.QAError.NO_FULLTEXT)
            error = self.fulltext_error if tried else None
            message = "; ".join((f"the document ended as {outcome} and has no text", *self.notes))
            raise _StopError(error or answer.QAError.NO_TEXT_AVAILABLE, message)
        return texts

    def _with_fulltext(self, texts: DocumentTexts) -> DocumentTexts:
        place = self.place
        if not place.options.fulltext.download:
            self.fulltext_error = answer.QAError.NO_FULLTEXT
            return texts
        wanted = Wanted(
            place.corpus, self.document_id, texts.document.metadata.title, texts.paper, self.callback
        )
        got = obtain(wanted, place.options.fulltext, place.store, place.pool)
        self.fulltext_error = got.error
        if got.error is not None:
            self.notes.append(f"no full text: {got.detail}")
            return texts
        return load_texts(place.store, place.corpus, self.document_id) or texts

    def _context(self, texts: DocumentTexts) -> tuple[answer.AnswerSource, tuple[answer.ChunkContext, ...]]:
        """The source and its pieces: chunks of the full text, or the abstract if the full text is missing, not wanted or not searchable."""
        options = self.place.options
        if options.use_fulltext and texts.fulltext is not None:
            got = retrieve(
                self.place.chunks, self.document_id, texts.fulltext, self.question,
                options.max_chunks, options.similarity_threshold,
            )  # fmt: skip
            if got.note:
                self.notes.append(got.note)
            if got.chunks:
                return answer.AnswerSource.FULLTEXT_SEMANTIC, got.chunks
            self.fulltext_error = got.error
            if texts.abstract is None:
                raise _StopError(got.error or answer.QAError.SEMANTIC_SEARCH_FAILED, got.note)
        if texts.abstract is None:
            raise _StopError(
                answer.QAError.NO_TEXT_AVAILABLE,
                "the document has no abstract, and its full text was not wanted",
            )
        return answer.AnswerSource.ABSTRACT, abstract_context(texts)


def _answered(
    blank: answer.SemanticSearchAnswer, run: AnswerRun, context: tuple[answer.ChunkContext, ...]
) -> answer.SemanticSearchAnswer:
    given = blank.model_copy(update={"reasoning": run.reasoning})
    if run.submitted is None:
        return _failed(given, answer.QAError.LLM_ERROR, run.failure)
    cited = tuple(one for one in context if one.chunk_no in run.submitted.chunks)
    name = "answer" if run.submitted.answerable else "candidate"
    return given.model_copy(
        update={
            name: run.submitted.answer.strip(),
            "answerable": run.submitted.answerable,
            "confidence": run.submitted.confidence,
            "chunks_used": cited or context,
        }
    )
