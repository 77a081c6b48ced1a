"""Questions, accepted and rejected, and the results of generating them.

Field names and meaning of QAPair, RejectedQA, GenerationStats, GenerationResult and
CorpusGenerationResult follow "Single-Document Question Generator Architecture", section Outputs;
our records may carry more, the published JSON carries exactly those plus `id` and `evidence`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, cast

from pydantic import Field, model_validator

from qagen_dagster.records.base import Record
from qagen_dagster.records.corpus import QuestionType
from qagen_dagster.records.grading import AnswerGrade
from qagen_dagster.records.ids import Combination, Mode, store_key
from qagen_dagster.records.run import CallSummary


class Evidence(Record):
    """A verbatim span that proves an answer, as re-matched in the parsed text by code."""

    quote: str
    start_line: int | None  # 1-based lines of the parsed text; None for purely visual evidence
    end_line: int | None
    page: int | None = None
    visual: str | None = None  # label of the visual, if it shows the proof


class RejectionReason(StrEnum):
    """Why a candidate was not accepted. The first six are the reference's, the rest ours."""

    VALIDATION_FAILED = "validation_failed"
    DUPLICATE = "duplicate"
    UNANSWERABLE = "unanswerable"
    WRONG_ANSWER = "wrong_answer"
    AMBIGUOUS = "ambiguous"
    TRIVIAL = "trivial"
    IRRELEVANT = "irrelevant"
    EVIDENCE_NOT_FOUND = "evidence_not_found"
    ANSWER_NOT_SUPPORTED = "answer_not_supported"
    NOT_SELF_CONTAINED = "not_self_contained"  # its reader cannot tell what it is about
    FALSE_PREMISE = "false_premise"  # the question takes for granted what the document denies
    GENERATION_FAILED = "generation_failed"  # the generator ended without a candidate
    VALIDATOR_FAILED = "validator_failed"  # the validator ended without a verdict
    ANSWERABLE_FROM_TEXT = "answerable_from_text"  # a visual question that needs no picture
    NOT_MULTI_HOP = "not_multi_hop"  # its type needs several passages, its answer does not
    UNGROUNDED = "ungrounded"  # no attempt at the answer rests on the document; the best one is kept
    REJECTED_BY_REVIEWER = "rejected_by_reviewer"
    EDITED_BY_REVIEWER = (
        "edited_by_reviewer"  # the texts before the edit; the edited question is a candidate of its own
    )


# After the validator agreed with the answer.
CONTROLLED = frozenset((RejectionReason.ANSWERABLE_FROM_TEXT, RejectionReason.NOT_MULTI_HOP))


class GenerationMetadata(Record):
    generator_model: str
    validator_model: str
    attempt_number: int


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
    computation: str = ""  # as that of its candidate
    generation_metadata: GenerationMetadata

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the visuals that the question or its evidence names."""
        return tuple(
            dict.fromkeys((*self.content_refs, *(one.visual for one in self.evidence if one.visual)))
        )


# What decided on a repeat: equal words, similarity with an equal answer, or the model. Empty: none of them had to.
DuplicateStep = Literal["", "exact", "similarity", "model"]


class RejectedQA(Record):
    """A candidate that did not pass, and why."""

    question: str
    answer: str
    rejection_reason: RejectionReason
    rejection_detail: str
    duplicate_of: str | None = None  # question text of the accepted one
    duplicate_score: float | None = None  # cosine of the two questions, 1 for the same words
    duplicate_step: DuplicateStep = ""  # what found the repeat
    document_id: str = ""
    attempt_number: int = 0
    evidence: tuple[Evidence, ...] = ()
    question_type: str | None = None  # None: not known, or nothing was proposed


class RetiredQA(Record):
    """A question of an earlier version of its document that the present text no longer supports.

    `before` and `now` have one text per piece of evidence. If a quote is lost: the quote, and the most similar passage of the
    present text, empty if none is similar. Else the quote with the text around it in the earlier version, and now.
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
    """How work on one document ended."""

    TARGET_REACHED = "target_reached"
    EXHAUSTED_REPORTED = "exhausted_reported"  # the generator said so
    CONSECUTIVE_FAILURES = "consecutive_failures"
    MAX_ATTEMPTS = "max_attempts"
    NO_VISUALS = "no_visuals"  # visual mode, nothing to look at: not an error
    NOT_USABLE = "not_usable"  # the document has no text (or no page) for this mode
    BUDGET_EXHAUSTED = "budget_exhausted"  # spending reached its limit; the next run goes on from there
    MODEL_ERROR = "model_error"  # a permanent model failure; the document is retried on the next run


class GenerationStats(Record):
    """Counts of one document's run."""

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
    """The fields of a verdict, with None for what nobody judged. Earlier versions stored it as true.

    The embedded reader finds some faults of these criteria and confirms none. After a blind answer that is none or another one,
    nobody is asked for two of them. Without a blind answer nothing is compared.
    """
    if not isinstance(verdict, dict):
        return verdict
    fields = cast("dict[str, object]", verdict)
    said = str(fields.get("explanation", ""))
    unasked = said.startswith(BY_CODE) or fields.get("answerable") is False
    names = _UNCONFIRMED if said.startswith(BY_READER) else _UNASKED if unasked else ()
    compared = {} if fields.get("answerable") else {"matches": None}
    return fields | {name: None for name in names if fields.get(name) is True} | compared


class VerdictRecord(Record):
    """What the validator found on one candidate, by attempt. None: not judged."""

    attempt: int
    question: str
    proposed_answer: str
    blind_answer: str
    answerable: bool
    matches: bool | None
    non_trivial: bool | None
    unambiguous: bool
    relevant: bool | None
    supported: bool | None = None
    premise_holds: bool | None = None
    self_contained: bool | None = None
    explanation: str

    _without_unjudged = model_validator(mode="before")(without_unjudged)

    @property
    def passed(self) -> bool:
        judged = (
            self.non_trivial,
            self.relevant,
            self.supported,
            self.premise_holds,
            self.self_contained,
        )
        return self.answerable and self.matches is True and self.unambiguous and False not in judged


class Shortfall(Record):
    """Questions of one type that a document was asked for and did not give."""

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
    """Everything one document gave.

    `shortfalls`, `grades` and `shown` are the batch strategy's: what is missing of the mix; grades of answers,
    accepted or not, by `question_id` of question and answer; the lines that the generator was shown, empty where that was all.
    `surroundings` has the text around each piece of evidence, by question id; `looks` hashes of the visuals that the questions are
    about, by label; `retired` the questions of all earlier versions of the document that were not kept.
    """

    accepted: tuple[QAPair, ...]
    rejected: tuple[RejectedQA, ...]
    stats: GenerationStats
    document_id: str = ""
    document_version: str = ""
    fingerprint: str = ""  # of model configuration, prompts and code that made it
    end: DocumentEnd = DocumentEnd.TARGET_REACHED
    end_detail: str = ""
    viewed_pages: tuple[int, ...] = ()
    verdicts: tuple[VerdictRecord, ...] = ()
    calls: tuple[CallSummary, ...] = ()
    run_id: str = ""  # of the run that finished it
    finished: str = ""  # ISO 8601, UTC
    shortfalls: tuple[Shortfall, ...] = ()
    grades: dict[str, AnswerGrade] = Field(default_factory=dict)
    shown: tuple[LineSpan, ...] = ()
    text_sha256: str = ""
    surroundings: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    looks: dict[str, str] = Field(default_factory=dict)
    retired: tuple[RetiredQA, ...] = ()

    @staticmethod
    def key(combination: Combination, document_id: str, fingerprint: str) -> str:
        return store_key(f"candidates/{combination.key}", document_id, fingerprint, suffix=".json")

    @staticmethod
    def partial_key(combination: Combination, document_id: str, fingerprint: str) -> str:
        """What a document gave before its budget ended."""
        return store_key(f"candidates/{combination.key}", document_id, fingerprint, suffix=".partial.json")

    @staticmethod
    def journal_key(combination: Combination, document_id: str, fingerprint: str) -> str:
        return store_key(f"journals/{combination.key}", document_id, fingerprint, suffix=".json")


class AppliedReview(Record):
    """What the decisions of reviewers made of a validated set.

    `approved` has the ids of questions that reviewers accepted, and of edited ones that passed their checks. `verdicts` are those on
    edited questions, by id.
    """

    decisions: tuple[str, ...]  # ids of all decisions that were known
    approved: tuple[str, ...] = ()
    verdicts: dict[str, VerdictRecord] = Field(default_factory=dict)


class ValidatedSet(Record):
    """Accepted questions of one combination after corpus-wide deduplication and the decisions of reviewers."""

    corpus: str
    scenario: str
    mode: Mode
    fingerprint: str
    run_id: str
    questions: tuple[QAPair, ...]
    removed: tuple[RejectedQA, ...]
    undecided: int = 0  # of the removed: not compared because the budget ended; the next run decides
    calls: tuple[CallSummary, ...] = ()
    review: AppliedReview | None = None  # None: there were no decisions

    @staticmethod
    def key(combination: Combination) -> str:
        return store_key(f"validated/{combination.key}", "set.json")


class Candidate(Record):
    """A proposed question after its evidence was looked up in the document by code.

    `gate` is None when every quote was found and carries the answer; else it says why not.
    """

    question: str
    answer: str
    evidence: tuple[Evidence, ...]
    question_type: str
    visuals: tuple[str, ...] = ()
    gate: RejectionReason | None = None
    gate_detail: str = ""
    computation: str = ""  # "sum of 12 and 30 = 42", after code computed it


class CandidateDocument(Record):
    """One document's line in a candidate set."""

    document_id: str
    document_version: str
    text_sha256: str = ""  # of the document's text
    result_key: str | None  # store key of its GenerationResult; None when it failed
    end: DocumentEnd
    end_detail: str = ""
    accepted: int = 0
    rejected: int = 0


class CandidateSet(Record):
    """What one run made of a combination, before corpus-wide deduplication.

    Attributes:
        max_attempts, max_consecutive_failures: its limits besides the target; 0 in sets of older versions.
        mix: the number of questions of each type, if the scenario declared them.
    """

    corpus: str
    scenario: str
    mode: Mode
    run_id: str
    profile: str
    models: dict[str, str]  # role -> provider:model
    prompts: dict[str, str]  # prompt name -> hash
    fingerprint: str  # of models, prompts, corpus and scenario
    configuration: str  # the same with the limits: what `model_config` observes
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
        """The set as a run made it."""
        return store_key("runs", run_id, *combination.key.split("/"), suffix=".json")
