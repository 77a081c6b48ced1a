"""The support of answers by a document: per sentence, answer, document and combination.

Fields and grades follow "QAGRedo Algorithm Report", sections 4 and 5 (is_grounded, confidence, method, issues,
grounded_sentences, ungrounded_sentences, llm_verdict, overall_grade, overall_confidence, ungrounded_highlights).
Statuses, spans and counts were added. A value that could not be measured is None or has a status that states this; it is never NaN.
"""

from enum import StrEnum

from qagen_dagster.records.base import Record, Share
from qagen_dagster.records.ids import Combination, Mode, store_key
from qagen_dagster.records.run import CallSummary


class Method(StrEnum):
    """The methods that grade answers."""

    SEMANTIC = "semantic"
    KEYWORD = "keyword"
    LLM = "llm"
    HYBRID = "hybrid"


class Grade(StrEnum):
    """The grade of a confidence: A from 0.90, B from 0.80, C from 0.70, D from 0.60, and F below 0.60."""

    A = "A"
    B = "B"
    C = "C"
    D = "D"
    F = "F"


class SentenceStatus(StrEnum):
    """Whether the document supports a sentence."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    NOT_FOUND = "not_found"
    GENERIC = "generic"  # the sentence makes no claim about the subject, so it counts as grounded
    NOT_MEASURED = "not_measured"  # the sentence counts neither as grounded nor as ungrounded


class Decider(StrEnum):
    """Who decided whether an answer is grounded."""

    CODE = "code"
    JUDGE = "judge"


class SpanEvidence(Record):
    """The part of the document that is most similar to a sentence. Lines are 1-based and inclusive."""

    quote: str
    start_line: int
    end_line: int


class SentenceGrade(Record):
    """One sentence of an answer.

    `score` is the score of the grading method, 0 to 1; None if the method gives no score. `reason` is one line for a person; it may
    be empty if the sentence is supported or generic.
    """

    sentence: str
    status: SentenceStatus
    score: Share | None = None
    evidence: SpanEvidence | None = None
    reason: str = ""


class Verdict(StrEnum):
    SUPPORTED = "SUPPORTED"
    NOT_SUPPORTED = "NOT_SUPPORTED"


class JudgeVerdict(Record):
    """The answer of the judge."""

    verdict: Verdict
    confidence: Share
    reason: str


class AnswerGrade(Record):
    """The grade of one answer. `confidence` and `is_grounded` are None if neither code nor the judge could decide."""

    is_grounded: bool | None
    confidence: Share | None
    method: str  # a description such as "hybrid (semantic + LLM override)"
    issues: tuple[str, ...] = ()
    sentences: tuple[SentenceGrade, ...] = ()
    llm_verdict: JudgeVerdict | None = None
    judge_failure: str = ""  # the reason why the judge, when asked, gave no verdict
    calls: tuple[CallSummary, ...] = ()

    @property
    def decided_by(self) -> Decider | None:
        """Who decided whether the answer is grounded; None if nobody could."""
        if self.is_grounded is None:
            return None
        return Decider.CODE if self.llm_verdict is None else Decider.JUDGE

    @property
    def grounded_sentences(self) -> tuple[str, ...]:
        return tuple(graded.sentence for graded in self.sentences if graded.status in _GROUNDED)

    @property
    def ungrounded_sentences(self) -> tuple[str, ...]:
        return tuple(graded.sentence for graded in self.sentences if graded.status in UNGROUNDED)


_GROUNDED = (SentenceStatus.SUPPORTED, SentenceStatus.GENERIC)
UNGROUNDED = (SentenceStatus.CONTRADICTED, SentenceStatus.NOT_FOUND)


class Decided(Record):
    """The numbers of answers that were decided by code, by the judge and by nobody."""

    code: int = 0
    judge: int = 0
    nobody: int = 0

    @property
    def share(self) -> float | None:
        """The share of answers that code or the judge decided; None if there are no answers."""
        answers = self.code + self.judge + self.nobody
        return (self.code + self.judge) / answers if answers else None


class ErrorRate(Record):
    """The precision of one verdict that code gives, on answers of public sets with known labels."""

    documents: str  # "short" (documents of one or two sentences) or "long"
    verdict: str  # "supported" or "unsupported"
    answers: int  # number of answers in the sets
    decided: int  # number of answers with this verdict
    right: int  # number of answers for which this verdict was right
    low: Share  # 95 % interval of `precision`
    high: Share

    @property
    def precision(self) -> float:
        return self.right / self.decided if self.decided else 0.0


class GradedAnswer(Record):
    """A question and its answer with the grade."""

    id: str  # of the question; empty for answers of other systems without an id
    question: str
    answer: str
    grading: AnswerGrade
    marked: str = ""  # the reason why this answer is not in the published set; empty if it is there
    supporting_evidence: tuple[str, ...] = ()  # quotes with the file's line breaks


class DocumentGrades(Record):
    """The grades of one document's answers. `overall_confidence` is None if no answer was measured, `overall_grade` if too few were."""

    document_id: str
    title: str
    overall_grade: Grade | None
    overall_confidence: Share | None
    grounded: int
    ungrounded: int
    not_measured: int
    answers: tuple[GradedAnswer, ...]
    decided: Decided | None = None  # None: graded by an earlier version
    generated: str = ""  # when the answers were made, ISO 8601, UTC; empty for answers of other systems

    @staticmethod
    def key(combination: Combination, document_id: str, fingerprint: str) -> str:
        return store_key(f"grades/{combination.key}", document_id, fingerprint, suffix=".json")


class Highlight(Record):
    """An ungrounded answer, with the reasons, as a report lists it."""

    document_id: str
    question: str
    answer: str
    confidence: Share | None
    reasons: tuple[str, ...]


class GroundingReport(Record):
    """The grades of one combination, or of a file of answers, which has no scenario and no mode. None grades: see `DocumentGrades`."""

    corpus: str
    scenario: str | None = None
    mode: Mode | None = None
    run_id: str = ""
    launch: str = ""  # id that the runs of one command or backfill share
    created: str = ""  # ISO 8601, UTC
    # of everything that decides the grades: documents, answers, method, claim rules, judge
    fingerprint: str = ""
    profile: str = ""
    generator_model: str = ""
    answerer_model: str = ""
    judge_model: str = ""  # empty: no judge
    decided: Decided | None = None  # None: graded by an earlier version
    error_rates: tuple[ErrorRate, ...] = ()  # of the verdicts that code gives
    undecided: int = 0  # number of answers that wait for a verdict of the judge; the next run asks
    method: Method
    overall_grade: Grade | None
    overall_confidence: Share | None
    grounded: int
    ungrounded: int
    not_measured: int
    documents: tuple[DocumentGrades, ...]
    ungrounded_highlights: tuple[Highlight, ...] = ()

    @staticmethod
    def key(combination: Combination) -> str:
        """The key of the latest report."""
        return store_key(f"grounding/{combination.key}", "report.json")


def combination_of(found: GroundingReport) -> Combination:
    """The combination of a report. Raises ValueError for the report of a file of answers."""
    return Combination.from_key(f"{found.corpus}/{found.scenario}/{found.mode}")
