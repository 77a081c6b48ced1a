"""The published set of a combination: its questions with their proofs, its rejected candidates, and its versions.

The fields of "Single-Document Question Generator Architecture" come first; the others were added.
"""

import json
from collections.abc import Iterable

from pydantic import Field, model_validator

from qagen_dagster.records.base import Record, Share
from qagen_dagster.records.corpus_options import Span, mix_kinds
from qagen_dagster.records.document import Box, VisualType
from qagen_dagster.records.grading import Decider, Grade
from qagen_dagster.records.ids import Combination, Mode, fingerprint, store_key
from qagen_dagster.records.questions import results
from qagen_dagster.records.questions.no_answer import NoAnswer

PEOPLE = "people"  # the writer of imported questions


class PublishedVisual(Record):
    """A visual that a question is about, and the place of the visual."""

    label: str
    type: VisualType
    page: int | None  # 1-based
    box: Box | None


class PublishedVerdict(Record):
    """The findings of the validator: its own answer, which it gave before it saw the proposed answer, and the criteria."""

    blind_answer: str
    answerable: bool
    matches: bool | None  # None, here and below: not judged
    non_trivial: bool | None
    unambiguous: bool
    relevant: bool | None
    supported: bool | None = None
    premise_holds: bool | None = None
    self_contained: bool | None = None
    explanation: str

    _without_unjudged = model_validator(mode="before")(results.without_unjudged)

    @classmethod
    def of(cls, verdict: results.VerdictRecord) -> "PublishedVerdict":
        return cls(**verdict.shared(cls))


class PublishedGrade(Record):
    """The grounding of the answer. All fields are None if the grounding was not measured."""

    grade: Grade | None
    confidence: Share | None
    is_grounded: bool | None
    decided_by: Decider | None


class PublishedQuestion(Record):
    """One published question."""

    id: str
    question: str
    answer: str
    source_document: str
    category: Mode
    content_refs: tuple[str, ...]
    generation_metadata: results.GenerationMetadata
    evidence: tuple[results.Evidence, ...]
    document_id: str = ""
    text_path: str = ""  # path of the parsed text, relative to the folder of the set
    row: str | None = None  # the row from which the document was read, if its file is JSONL
    mode: Mode | None = None
    question_type: str = ""
    hops: int | None = None  # number of separate passages in the evidence
    visuals: tuple[PublishedVisual, ...] = ()
    verdict: PublishedVerdict | None = None  # None: the strategy has no validator
    grade: PublishedGrade | None = None  # None: never graded
    # if False, `evidence` has the nearest passages, and `answer` is the reply of a good system
    answerable: bool = True
    no_answer: NoAnswer | None = None  # why the question has no answer, and the searches that prove this
    origin: results.Origin = results.origin_field()

    @property
    def kinds(self) -> list[str]:
        """The names under which the mix of a scenario may count the question."""
        own = mix_kinds(self.question_type, self.hops or 0, (one.type for one in self.visuals))
        across = self.no_answer is None and results.spans_documents(self.evidence)
        return [*own, *([Span.ACROSS.value] if across else [])]

    @property
    def writer(self) -> str:
        """The model that wrote the question; `people` if the question was imported."""
        return self.generation_metadata.generator_model if self.origin == "generated" else PEOPLE


class RejectedQuestion(results.RejectedQA):
    """One candidate that was not published, with the validator's verdict (None if there is no verdict)."""

    source_document: str
    row: str | None
    verdict: PublishedVerdict | None


class RetiredQuestion(results.RetiredQA):
    """One line of `retired.jsonl`."""

    corpus_name: str
    scenario: str
    mode: Mode


class RejectedLine(RejectedQuestion):
    """One line of `rejected.jsonl`."""

    corpus_name: str
    scenario: str
    mode: Mode


class CorpusGenerationResult(Record):
    """The published JSON of one combination."""

    corpus_name: str
    corpus_path: str
    scenario: str
    mode: Mode
    questions: tuple[PublishedQuestion, ...] = Field(default=())
    timestamp: str

    @staticmethod
    def key(combination: Combination) -> str:
        return store_key(f"published/{combination.key}", "corpus.json")

    @staticmethod
    def file_key(combination: Combination, path: str) -> str:
        """The key of another file of the published set."""
        return store_key(f"published/{combination.key}", *path.split("/"))

    @staticmethod
    def version_key(combination: Combination, content_id: str, path: str) -> str:
        """The key of a file of one version of the published set."""
        return store_key(f"published/{combination.key}/versions", content_id, *path.split("/"))


class LatestVersion(Record):
    """The version that the files of the published set have now."""

    content_id: str
    timestamp: str  # when the set got this version, ISO 8601
    made_from: str  # fingerprint of everything from which the files were made
    files: dict[str, str]  # path -> SHA-256

    @staticmethod
    def key(combination: Combination) -> str:
        return store_key(f"published/{combination.key}", "latest.json")


class LatestExports(Record):
    """The exports that are stored beside the published set, and the fingerprint of the set from which they were made."""

    formats: tuple[str, ...]
    made_from: str  # `made_from` of the LatestVersion

    @staticmethod
    def key(combination: Combination) -> str:
        return store_key(f"published/{combination.key}", "exports", "latest.json")


_CONTENT = (
    "id",
    "question",
    "answer",
    "document_id",
    "source_document",
    "content_refs",
    "question_type",
    "evidence",
)


def content_id(questions: Iterable[PublishedQuestion]) -> str:
    """An id of a version of a set. It depends only on `_CONTENT` of its questions, not on models, verdicts, grades, times or order."""
    rows = (question.model_dump(mode="json", include=set(_CONTENT)) for question in questions)
    return fingerprint(sorted(json.dumps(row, sort_keys=True, ensure_ascii=False) for row in rows))[:16]
