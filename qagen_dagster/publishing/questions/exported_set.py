"""The content of exports of a published set: its questions with the passages of their evidence, its documents and pictures."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from qagen_dagster.english.key_facts import KeyFact, key_facts
from qagen_dagster.publishing.exporter import Exporter
from qagen_dagster.records.corpus_options import NoAnswerKind
from qagen_dagster.records.decisions import ReviewFacts
from qagen_dagster.records.document import Rights
from qagen_dagster.records.evaluation import Grade
from qagen_dagster.records.ids import content_hash
from qagen_dagster.records.questions.published import CorpusGenerationResult, PublishedQuestion

PICTURES = "pictures"  # the folder of pictures in an export
_SUFFIXES = {"image/png": "png", "image/jpeg": "jpg"}


@dataclass(frozen=True)
class Passage:
    """Adjacent sentences of a document. The passages of a document follow each other and cover its text."""

    id: str
    text: str  # with white space before and after it
    lines: tuple[int, int] = (0, 0)  # the first and the last line in `text.txt`, 1-based

    @property
    def document_id(self) -> str:
        return self.id.rpartition("#")[0]

    @property
    def shown(self) -> str:
        """The text without the white space before and after it."""
        return self.text.strip()


@dataclass(frozen=True)
class ExportedDocument:
    """A document of the corpus, whether or not it has questions."""

    id: str
    title: str
    passages: tuple[Passage, ...]


@dataclass(frozen=True)
class Place:
    """The place of a quote. The quote begins at the character `start` of `text`, the text of adjacent passages."""

    quote: str
    start: int
    passages: tuple[Passage, ...]

    @property
    def text(self) -> str:
        return "".join(passage.text for passage in self.passages)


@dataclass(frozen=True)
class Picture:
    """A picture of a table, a figure or a page that a question is about."""

    media_type: str
    data: bytes

    @property
    def path(self) -> str:
        """The path of the picture in an export. Equal pictures have the same path."""
        return f"{PICTURES}/{content_hash(self.data)[:16]}.{_SUFFIXES[self.media_type]}"


@dataclass(frozen=True)
class ExportedRow:
    """A published question, with the places of its quotes in the text, and the pictures of its visuals.

    `graded` has the passages whose relevance was judged, with grades from 0 to 3, in the order of search; empty without labels.
    """

    question: PublishedQuestion
    places: tuple[Place, ...]
    pictures: tuple[Picture, ...] = ()
    rights: Rights = field(default_factory=Rights)
    graded: tuple[tuple[Passage, Grade], ...] = ()

    @property
    def relevance(self) -> dict[Passage, int]:
        """The grade of each passage that was judged. Without labels, the passages with the evidence have the grade 1."""
        return dict(self.graded) or dict.fromkeys(self.passages, 1)

    @property
    def passages(self) -> tuple[Passage, ...]:
        """The passages with the evidence; none if the document has no text."""
        return tuple(dict.fromkeys(passage for place in self.places for passage in place.passages))

    @property
    def contexts(self) -> list[str]:
        """The texts of the passages. For a document without text, the quotes themselves."""
        quotes = dict.fromkeys(one.quote for one in self.question.evidence)
        return [passage.shown for passage in self.passages] or list(quotes)

    @property
    def proven(self) -> bool:
        """Whether the passages prove the answer. The passages of an unanswerable question only come near an answer."""
        no_answer = self.question.no_answer
        return no_answer is None or no_answer.kind is not NoAnswerKind.UNANSWERABLE

    @property
    def references(self) -> list[str]:
        """The texts of the passages from which a system can answer; none if no passage answers."""
        return self.contexts if self.proven else []

    @property
    def key_facts(self) -> tuple[KeyFact, ...]:
        """The key facts of the answer; none if the question has no answer."""
        quotes = "\n".join(one.quote for one in self.question.evidence)
        answerable = self.question.answerable
        return key_facts(self.question.question, self.question.answer, quotes) if answerable else ()

    @property
    def details(self) -> dict[str, Any]:
        """The details of the question for formats with a field for metadata."""
        shown = {
            "id",
            "document_id",
            "source_document",
            "row",
            "question_type",
            "hops",
            "evidence",
            "visuals",
            "answerable",
            "origin",
        }
        why, grade = self.question.no_answer, self.question.grade
        facts = [asdict(fact) for fact in self.key_facts]
        return {
            **self.question.model_dump(mode="json", include=shown),
            **({} if why is None else {"reason": why.reason, "documents_searched": why.documents}),
            **({"key_facts": facts} if facts else {}),
            "mode": self.question.category.value,
            "grade": None if grade is None or grade.grade is None else grade.grade.value,
            **dict(self.rights),
        }


@dataclass(frozen=True)
class ExportedSet:
    """A published set for exporters, with its card. `documents` has all documents of the corpus, or none if no chosen format needs them.

    `rights` has the rights of the documents of its questions, by document. `about` is a description of the corpus.
    """

    published: CorpusGenerationResult
    card: str
    rows: tuple[ExportedRow, ...]
    documents: tuple[ExportedDocument, ...] = ()
    rights: Mapping[str, Rights] = field(default_factory=dict[str, Rights])
    about: str = ""
    review: ReviewFacts | None = None

    def pictures(self) -> dict[str, bytes]:
        return {picture.path: picture.data for row in self.rows for picture in row.pictures}


@dataclass(frozen=True)
class ExportFormat(Exporter[ExportedSet]):
    """An Exporter for sets. `takes` says whether a question fits into the format. Questions that do not fit are left out and counted."""

    takes: Callable[[ExportedRow], bool] = lambda _: True
    whole_corpus: bool = False  # whether the files have all documents of the corpus
