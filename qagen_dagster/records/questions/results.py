"""Accepted and rejected questions, and the results of generating them.

Names and meanings of the fields of QAPair, RejectedQA, GenerationStats, GenerationResult and CorpusGenerationResult follow
"Single-Document Question Generator Architecture", section Outputs. Further fields were added.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Literal, Self, cast

from pydantic import Field, model_validator

from qagen_dagster.records.base import Record
from qagen_dagster.records.corpus_options import QuestionType
from qagen_dagster.records.grading import AnswerGrade
from qagen_dagster.records.ids import Combination, Mode, OfCombination, store_key
from qagen_dagster.records.questions.no_answer import NoAnswer
from qagen_dagster.records.run import CallSummary


class Evidence(Record):
    """A verbatim span that proves an answer, as code found it in the parsed text."""

    quote: str
    start_line: int | None  # 1-based lines of the parsed text; None for purely visual evidence
    end_line: int | None
    page: int | None = None
    visual: str | None = None  # label of the visual, if it shows the proof
    # for a question across documents: the document with this evidence; None: the question's own document
    document_id: str | None = Field(default=None, exclude_if=lambda value: value is None)

    def within(self, other: "Evidence") -> bool:
        """Whether the span `other` is in the same document and contains this span."""
        if self.start_line is None or other.start_line is None or self.document_id != other.document_id:
            return False
        lines = range(other.start_line, (other.end_line or other.start_line) + 1)
        return self.start_line in lines and " ".join(self.quote.split()) in " ".join(other.quote.split())


class RejectionReason(StrEnum):
    """The reason why a candidate was not accepted. The first six reasons are from the document named above; the others were added."""

    VALIDATION_FAILED = "validation_failed"
    DUPLICATE = "duplicate"
    UNANSWERABLE = "unanswerable"
    WRONG_ANSWER = "wrong_answer"
    AMBIGUOUS = "ambiguous"
    TRIVIAL = "trivial"
    IRRELEVANT = "irrelevant"
    EVIDENCE_NOT_FOUND = "evidence_not_found"
    ANSWER_NOT_SUPPORTED = "answer_not_supported"
    NOT_SELF_CONTAINED = "not_self_contained"  # a reader of the question alone cannot tell what it is about
    FALSE_PREMISE = "false_premise"  # the question assumes something that the document denies
    GENERATION_FAILED = "generation_failed"  # the generator ended without a candidate
    VALIDATOR_FAILED = "validator_failed"  # the validator ended without a verdict
    ANSWERABLE_FROM_TEXT = "answerable_from_text"  # a visual question that needs no picture
    ANSWERABLE = "answerable"  # the question was meant to have no answer, but the corpus answers it
    NOT_MULTI_HOP = "not_multi_hop"  # the type needs several passages, but the answer needs only one
    UNGROUNDED = "ungrounded"  # the document supports no attempt at the answer; the best attempt is kept
    NOT_WANTED = "not_wanted"  # the mix of the scenario wants no more questions of this kind
    REJECTED_BY_REVIEWER = "rejected_by_reviewer"
    # the question before the edit; the edited question is another candidate
    EDITED_BY_REVIEWER = "edited_by_reviewer"


# Reasons for which code rejects a candidate after the validator has agreed with its answer.
CONTROLLED = frozenset((RejectionReason.ANSWERABLE_FROM_TEXT, RejectionReason.NOT_MULTI_HOP))


Origin = Literal["generated", "imported"]  # imported: people asked the question, in an imported log


def origin_field() -> Any:
    """The field `origin`, which is stored only for imported questions, so that other records keep their bytes."""
    return Field(default="generated", exclude_if=lambda value: value == "generated")


class GenerationMetadata(Record):
    generator_model: str
    validator_model: str
    attempt_number: int


def spans_documents(evidence: Iterable[Evidence]) -> bool:
    """Whether a piece of the evidence of a question is from another document than the question's own."""
    return any(one.document_id for one in evidence)


class QAPair(Record):
    """An accepted question."""

    id: str
    question: str
    answer: str
    source_document: str  # path to the source document under the corpus folder
    document_id: str
    category: Mode
    content_refs: tuple[str, ...] = ()
    question_type: str = "factual"
    evidence: tuple[Evidence, ...]
    computation: str = ""  # as `Candidate.computation`
    generation_metadata: GenerationMetadata
    # only for a question that the corpus does not answer: then its evidence is the nearest passages
    no_answer: NoAnswer | None = Field(default=None, exclude_if=lambda value: value is None)
    origin: Origin = origin_field()

    def candidate(self, evidence: tuple[Evidence, ...] | None = None) -> "Candidate":
        """The question as a candidate. If `evidence` is given, it replaces the evidence of the question."""
        shown = self.evidence if evidence is None else evidence
        made = self.shared(Candidate, evidence=shown, visuals=self.content_refs)
        return Candidate(**made, writer=self.generation_metadata.generator_model)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the visuals that the question or its evidence names."""
        return tuple(
            dict.fromkeys((*self.content_refs, *(quote.visual for quote in self.evidence if quote.visual)))
        )


# The step that decides whether a question is a duplicate: equal words, similarity with an equal answer, or the model. Empty: the
# question was not compared.
DuplicateStep = Literal["", "exact", "similarity", "model"]


class RejectedQA(Record):
    """A candidate that was rejected, and the reason."""

    question: str
    answer: str
    rejection_reason: RejectionReason
    rejection_detail: str
    duplicate_of: str | None = None  # for a duplicate, the text of the accepted question
    duplicate_score: float | None = None  # cosine of the two questions; 1 if they have the same words
    duplicate_step: DuplicateStep = ""  # the step that found the duplicate
    document_id: str = ""
    attempt_number: int = 0
    evidence: tuple[Evidence, ...] = ()
    question_type: str | None = None  # None: unknown, or the generator proposed nothing
    origin: Origin = origin_field()


class RetiredQA(Record):
    """A question of an earlier version of its document that the present text no longer supports.

    `before` and `now` have one text per piece of evidence. If the present text lacks a quote, `before` has the quote, and `now` has the
    most similar passage of the present text (empty if none is similar). Otherwise both have the quote with the text around it, in the
    earlier and in the present version.
    """

    id: str
    question: str
    answer: str
    question_type: str
    source_document: str
    document_id: str
    reason: RejectionReason
    detail: str
    evidence: tuple[Evidence, ...]
    before: tuple[str, ...] = ()
    now: tuple[str, ...] = ()


class DocumentEnd(StrEnum):
    """The end of the work on one document."""

    TARGET_REACHED = "target_reached"
    EXHAUSTED_REPORTED = "exhausted_reported"  # the generator reported that it finds no further question
    CONSECUTIVE_FAILURES = "consecutive_failures"
    MAX_ATTEMPTS = "max_attempts"
    NO_VISUALS = "no_visuals"  # visual mode, but the document has no visuals; this is no error
    NOT_USABLE = "not_usable"  # the document has no text (or no page) for this mode
    BUDGET_EXHAUSTED = "budget_exhausted"  # the next run continues the work
    MODEL_ERROR = "model_error"  # a model failed for good; the next run tries the document again


class GenerationStats(Record):
    """The counts of the work on one document."""

    document_path: str
    mode: Mode
    target_count: int
    accepted_count: int
    rejected_count: int
    total_attempts: int
    validation_pass_rate: float | None  # None: nothing was validated
    dedup_rejection_rate: float | None  # None: nothing was compared
    exhausted: bool
    rejection_reasons: dict[str, int]


BY_READER, BY_CODE = "embedded:reader", "code compared the two answers"  # beginnings of explanations
_UNASKED = ("non_trivial", "relevant")
_UNCONFIRMED = (*_UNASKED, "supported", "premise_holds", "self_contained")


def without_unjudged(verdict: object) -> object:
    """The fields of a verdict, with None for criteria that were not judged. Earlier versions stored these as true.

    The embedded reader finds faults, but it never confirms the criteria of `_UNCONFIRMED`. Other validators do not judge `_UNASKED`
    without a blind answer, or if code found that it contradicts the proposed answer. `matches` needs a blind answer, too.
    """
    if not isinstance(verdict, dict):
        return verdict
    fields = cast("dict[str, object]", verdict)
    explanation = str(fields.get("explanation", ""))
    unasked = explanation.startswith(BY_CODE) or fields.get("answerable") is False
    names = _UNCONFIRMED if explanation.startswith(BY_READER) else _UNASKED if unasked else ()
    compared = {} if fields.get("answerable") else {"matches": None}
    return fields | {name: None for name in names if fields.get(name) is True} | compared


class VerdictRecord(Record):
    """The verdict of the validator on the candidate of an attempt. A criterion is None if it was not judged."""

    attempt: int
    question: str
    proposed_answer: str
    blind_answer: str
    answerable: bool
    matches: bool | None
    non_trivial: bool | None = None  # by the closed-book call; by the validator in older results
    unambiguous: bool
    relevant: bool | None
    supported: bool | None = None
    premise_holds: bool | None = None
    self_contained: bool | None = None
    explanation: str

    _without_unjudged = model_validator(mode="before")(without_unjudged)

    @property
    def passed(self) -> bool:
        judged = (self.non_trivial, self.relevant, self.supported, self.premise_holds, self.self_contained)
        return self.answerable and self.matches is True and self.unambiguous and False not in judged


class Shortfall(Record):
    """The wanted and the delivered number of questions of one type from one document, and the reason why some are missing."""

    question_type: str
    wanted: int
    accepted: int
    reason: str

    @property
    def missing(self) -> int:
        return self.wanted - self.accepted


class LineSpan(Record):
    """Lines of the parsed text, 1-based and inclusive."""

    start: int
    end: int


class GenerationResult(Record):
    """The result of generating questions from one document.

    Attributes:
        planned: the wanted numbers of questions by kind; empty if the mix of the scenario names no kinds.
        shortfalls: the kinds with fewer accepted questions than wanted.
        grades: with the batch strategy, the grades of accepted and rejected answers by `question_id`.
        shown: with the batch strategy, the lines that the generator was shown; empty if it was shown all lines.
        surroundings: the text around each piece of evidence, by question id.
        looks: the hashes of the visuals of the questions, by label.
        retired: the questions of all earlier versions of the document that were not kept.
    """

    accepted: tuple[QAPair, ...]
    rejected: tuple[RejectedQA, ...]
    stats: GenerationStats
    document_id: str = ""
    document_version: str = ""
    fingerprint: str = ""  # hash of the model configuration, the prompts and the code that made the result
    end: DocumentEnd = DocumentEnd.TARGET_REACHED
    end_detail: str = ""
    viewed_pages: tuple[int, ...] = ()
    verdicts: tuple[VerdictRecord, ...] = ()
    calls: tuple[CallSummary, ...] = ()
    run_id: str = ""  # id of the run that finished the document
    finished: str = ""  # ISO 8601, UTC
    planned: dict[str, int] = Field(default_factory=dict, exclude_if=lambda value: not value)
    shortfalls: tuple[Shortfall, ...] = ()
    grades: dict[str, AnswerGrade] = Field(default_factory=dict)
    shown: tuple[LineSpan, ...] = ()
    text_sha256: str = ""
    surroundings: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    looks: dict[str, str] = Field(default_factory=dict)
    retired: tuple[RetiredQA, ...] = ()
    no_answer_target: int = 0  # part of the target: unanswerable and cross-document questions
    # number of questions that tested the validator, and the number that it answered
    controls: tuple[int, int] = (0, 0)

    @staticmethod
    def key(combination: Combination, document_id: str, fingerprint: str) -> str:
        return store_key(f"candidates/{combination.key}", document_id, fingerprint, suffix=".json")

    @staticmethod
    def partial_key(combination: Combination, document_id: str, fingerprint: str) -> str:
        """The key of the result of a document that is not finished because the budget ended."""
        return store_key(f"candidates/{combination.key}", document_id, fingerprint, suffix=".partial.json")

    @staticmethod
    def journal_key(combination: Combination, document_id: str, fingerprint: str) -> str:
        return store_key(f"journals/{combination.key}", document_id, fingerprint, suffix=".json")


class AppliedReview(Record):
    """The changes that the decisions of reviewers made to a validated set.

    `approved` has the ids of questions that reviewers accepted, and of edited questions that passed their checks. `verdicts` has
    the verdicts on edited questions by question id.
    """

    decisions: tuple[str, ...]  # ids of all decisions that were applied
    approved: tuple[str, ...] = ()
    verdicts: dict[str, VerdictRecord] = Field(default_factory=dict)


class ValidatedSet(OfCombination):
    """Accepted questions of one combination after corpus-wide deduplication and the decisions of reviewers."""

    fingerprint: str
    run_id: str
    questions: tuple[QAPair, ...]
    removed: tuple[RejectedQA, ...]
    # removed questions that were not compared or judged because the budget ended; the next run compares or judges them
    undecided: int = 0
    calls: tuple[CallSummary, ...] = ()
    review: AppliedReview | None = None  # None: there were no decisions

    @staticmethod
    def key(combination: Combination) -> str:
        return store_key(f"validated/{combination.key}", "set.json")


class Candidate(Record):
    """A proposed question after code has looked up its evidence in the document.

    `gate` is the fault that code found, as the reason for a rejection; None if it found none.
    """

    question: str
    answer: str
    evidence: tuple[Evidence, ...]
    question_type: str
    visuals: tuple[str, ...] = ()
    gate: RejectionReason | None = None
    gate_detail: str = ""
    computation: str = ""  # "sum of 12 and 30 = 42", after code computed it
    no_answer: NoAnswer | None = Field(default=None, exclude_if=lambda value: value is None)
    origin: Origin = origin_field()
    writer: str = Field(default="", exclude_if=lambda value: not value)  # model of an existing question

    @classmethod
    def of(
        cls,
        question: str,
        answer: str,
        evidence: Iterable[Evidence],
        question_type: str,
        fault: tuple[RejectionReason, str] | None,
        **more: object,
    ) -> Self:
        """The submission of a model as a candidate. Equal pieces of evidence become one. `fault` is the fault that code found, or None."""
        gate, detail = fault or (None, "")
        made = {
            "question": " ".join(question.split()),
            "answer": answer.strip(),
            "question_type": question_type,
        }
        places = tuple(dict.fromkeys(evidence))
        return cls.model_validate({**made, **more, "evidence": places, "gate": gate, "gate_detail": detail})


class CandidateDocument(Record):
    """The entry of one document in a candidate set."""

    document_id: str
    document_version: str
    text_sha256: str = ""  # of the document's text
    result_key: str | None  # store key of its GenerationResult; None when it failed
    end: DocumentEnd
    end_detail: str = ""
    accepted: int = 0
    rejected: int = 0


class CandidateSet(OfCombination):
    """The results of one run of a combination, before corpus-wide deduplication.

    Attributes:
        max_attempts, max_consecutive_failures: the limits of the run besides the target; 0 in sets of older versions.
        mix: the wanted number of questions of each type; None if the scenario does not set it.
    """

    run_id: str
    profile: str
    models: dict[str, str]  # role -> provider:model
    prompts: dict[str, str]  # prompt name -> hash
    fingerprint: str  # of models, prompts, corpus and scenario
    configuration: str  # fingerprint of these and of the limits; the asset `model_config` observes it
    target_count: int
    max_attempts: int = 0
    max_consecutive_failures: int = 0
    mix: dict[QuestionType, int] | None = None
    started: str  # ISO 8601, UTC
    ended: str
    documents: tuple[CandidateDocument, ...] = ()
    retired: tuple[RetiredQA, ...] = ()  # questions of documents that were removed

    @staticmethod
    def key(combination: Combination) -> str:
        return store_key(f"candidates/{combination.key}", "set.json")

    @staticmethod
    def run_key(run_id: str, combination: Combination) -> str:
        """The key of the copy of the set that a run keeps."""
        return store_key("runs", run_id, *combination.key.split("/"), suffix=".json")
