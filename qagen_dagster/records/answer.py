"""An answer from one document: its source, the passages that support it, and the reason if there is no answer.

Fields and names follow BMLibrarian's `answer_from_document()`. The line spans, `answerable` and the fields about a missing
full text were added.
"""

from enum import StrEnum
from typing import Any, Literal

from qagen_dagster.records.base import Record, Share


class AnswerSource(StrEnum):
    """The source of the answer."""

    FULLTEXT_SEMANTIC = "fulltext_semantic"  # chunks of the full text, found by meaning
    ABSTRACT = "abstract"


class QAError(StrEnum):
    """The reason why there is no answer, or no full text."""

    DOCUMENT_NOT_FOUND = "document_not_found"
    NO_TEXT_AVAILABLE = "no_text_available"
    NO_FULLTEXT = "no_fulltext"
    DOWNLOAD_FAILED = "download_failed"
    EMBEDDING_FAILED = "embedding_failed"
    SEMANTIC_SEARCH_FAILED = "semantic_search_failed"
    LLM_ERROR = "llm_error"
    DATABASE_ERROR = "database_error"
    CONFIGURATION_ERROR = "configuration_error"
    PROXY_REQUIRED = "proxy_required"
    USER_CANCELLED = "user_cancelled"

    @property
    def description(self) -> str:
        """A description for a person."""
        return _DESCRIPTIONS[self]


_DESCRIPTIONS = {
    QAError.DOCUMENT_NOT_FOUND: "there is no such document",
    QAError.NO_TEXT_AVAILABLE: "the document has neither full text nor abstract",
    QAError.NO_FULLTEXT: "the document has no full text",
    QAError.DOWNLOAD_FAILED: "the full text could not be downloaded",
    QAError.EMBEDDING_FAILED: "the text could not be embedded",
    QAError.SEMANTIC_SEARCH_FAILED: "the search in the document failed",
    QAError.LLM_ERROR: "the model gave no usable answer",
    QAError.DATABASE_ERROR: "stored data could not be read or written",
    QAError.CONFIGURATION_ERROR: "the question or the configuration cannot be used",
    QAError.PROXY_REQUIRED: "the full text is open to institutions only, and needs their proxy",
    QAError.USER_CANCELLED: "the proxy was declined and no full text was supplied",
}


class ProxyCallbackResult(Record):
    """The reply of a person who was asked about the proxy. If both fields are False, the abstract is used."""

    pdf_made_available: bool = False  # the PDF is now in the store, which is searched again
    allow_proxy: bool = False


class ChunkContext(Record):
    """A piece of the document that the model was shown. Lines are 1-based and inclusive."""

    chunk_no: int
    text: str
    score: float  # cosine of the embeddings of the piece and the question
    chunk_id: int | None = None
    start_line: int | None = None
    end_line: int | None = None


class DocumentTextStatus(Record):
    """The texts that a document has, and whether the search index has them. Lengths are in characters."""

    document_id: str
    has_abstract: bool = False
    has_fulltext: bool = False
    has_abstract_embeddings: bool = False
    has_fulltext_chunks: bool = False
    abstract_length: int = 0
    fulltext_length: int = 0
    title: str | None = None

    @property
    def can_use_fulltext_semantic(self) -> bool:
        return self.has_fulltext and self.has_fulltext_chunks

    @property
    def can_use_abstract_semantic(self) -> bool:
        return self.has_abstract and self.has_abstract_embeddings

    @property
    def has_any_text(self) -> bool:
        return self.has_abstract or self.has_fulltext


class SemanticSearchAnswer(Record):
    """The result of asking a document a question. An error is a value of `error`, not an exception.

    Attributes:
        answer: empty if `error` is set or the text does not answer the question. In both cases `success` is False.
        candidate: text that the model gave although it found no answer (`answerable` is False). It is not an answer.
        reasoning: the reasoning that the model gave beside the answer.
        chunks_used: the pieces that the answer cites, with their lines. The abstract is chunk 0.
        confidence: the model's confidence in its answer, 0 to 1; None if the model gave none.
        answerable: whether the model found the answer in the text; None if the model was not asked.
        fulltext_error: the reason why the full text was not used although it was wanted; None if it was used or not wanted.
        notes: further remarks for the reader of the answer, one line each.
    """

    answer: str
    reasoning: str | None = None
    source: AnswerSource = AnswerSource.ABSTRACT
    error: QAError | None = None
    error_message: str | None = None
    chunks_used: tuple[ChunkContext, ...] | None = None
    model_used: str = ""
    document_id: str = ""
    question: str = ""
    confidence: Share | None = None
    answerable: bool | None = None
    candidate: str = ""
    fulltext_error: QAError | None = None
    notes: tuple[str, ...] = ()

    @property
    def success(self) -> bool:
        return self.error is None and bool(self.answer)

    @property
    def used_fulltext(self) -> bool:
        return self.source is AnswerSource.FULLTEXT_SEMANTIC

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, including `success` and `used_fulltext`."""
        return self.model_dump(mode="json") | {"success": self.success, "used_fulltext": self.used_fulltext}


class FulltextRecord(Record):
    """The origin of a stored full text. Its PDF and its parsed text are stored beside this record."""

    document_id: str
    origin: Literal["download", "proxy", "given"]
    resolver: str = ""  # the resolver that gave the address
    url: str = ""  # the address of the PDF, after redirects
    sha256: str
    bytes: int
    parser: str
    page_count: int | None = None
    text_sha256: str
