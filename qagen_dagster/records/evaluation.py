"""Evaluations of a published set, and the scores of systems under test.

Most scores are shares from 0 to 1. Places and ranks are 1-based. A value that could not be measured is None, never 0.
`loop/evaluation` computes the scores.
"""

from enum import StrEnum
from typing import Annotated, Any, Generic, TypeVar

from pydantic import Field

from qagen_dagster.records.answer import AnswerSource, QAError
from qagen_dagster.records.base import Record, Share
from qagen_dagster.records.document import Ranking
from qagen_dagster.records.grading import AnswerGrade
from qagen_dagster.records.ids import Combination, Mode, store_key
from qagen_dagster.records.run import CallSummary

Grade = Annotated[int, Field(ge=0, le=3)]
RELEVANT = 2  # the lowest grade of a passage that answers


class Kind(StrEnum):
    """The evaluations. The values are also the names of their files."""

    CLOSED_BOOK = "closed_book"
    RETRIEVAL = "retrieval"
    ANSWERS = "answers"
    LABELS = "labels"
    PANEL = "panel"


USUAL = (Kind.CLOSED_BOOK, Kind.RETRIEVAL, Kind.ANSWERS)  # the others are made only if named
SEARCHING = (Kind.RETRIEVAL, Kind.LABELS, Kind.PANEL)  # kinds that need the search index


class Decided(StrEnum):
    """The way in which an answer was compared with the published answer."""

    UNKNOWN = "unknown"  # there is no answer, or it says that the answer is not known
    MATCH = "match"  # code compared numbers, dates, names and words
    MODEL = "model"  # a model decided, because code could not


class EvaluatedQuestion(Record):
    """A published question with its published answer.

    `failure` is the reason why there is no result; empty if there is one. `unheard` states that a model could not be asked, so the
    next run asks again.
    """

    question_id: str
    document_id: str
    question: str
    answer: str
    failure: str = ""
    unheard: bool = False
    calls: tuple[CallSummary, ...] = ()


QuestionT = TypeVar("QuestionT", bound=EvaluatedQuestion)


class ClosedBookAnswer(EvaluatedQuestion):
    """The answer of a model that was not shown the document. `leaked` states whether the answer is right; None means undecided."""

    given: str = ""
    confidence: Share | None = None  # of the model in its answer
    leaked: bool | None = None
    decided: Decided | None = None
    explanation: str = ""


class BaselineAnswer(EvaluatedQuestion):
    """The answer of `answer_from_document` from the question's document.

    `exact`, `f1` and `grading` are None after an error. `grading` is also None if the model found no answer.
    """

    given: str = ""
    answerable: bool | None = None
    confidence: Share | None = None
    exact: bool | None = None
    f1: Share | None = None
    source: AnswerSource | None = None
    cited_lines: tuple[tuple[int, int], ...] = ()  # first and last line of each chunk that the answer cites
    error: QAError | None = None
    grading: AnswerGrade | None = None


class Placement(Record):
    """The places of a question's document and evidence in one ranking of the corpus. None: not among the places that were checked."""

    ranking: Ranking
    document: int | None  # place among documents, which are ordered by their best chunks
    chunks: tuple[int, ...]  # places of the chunks with evidence
    evidence: tuple[int | None, ...]  # for each quote, the place of the first chunk that has it


class RetrievedQuestion(EvaluatedQuestion):
    """A question as the query of a search in the corpus. If there are no `placements`, `failure` has the reason.

    `untitled` is the question without the title of its document, and `untitled_placements` are the places for this text. Both
    are empty if the question does not quote the title.
    """

    relevant: int = 0  # number of chunks with evidence
    placements: tuple[Placement, ...] = ()
    untitled: str = ""
    untitled_placements: tuple[Placement, ...] = ()


class Label(Record):
    """The grade of a passage as an answer to a question, on the scale of UMBRELA.

    0: it has nothing to do with the question. 1: it is about the subject, but does not answer. 2: it has an answer that is unclear or
    hidden among other matter. 3: it answers clearly. None: not judged. Lines are 1-based lines of `text.txt`.
    """

    passage: str  # id of the passage in exports: the id of the document, the character "#" and a number
    text_hash: str  # hash of the text of the passage; a changed passage loses its label
    start_line: int
    end_line: int
    place: int | None = None  # the best place among the results of the rankings; None: no ranking found it
    grade: Grade | None = None
    by: str = ""  # code or judge; empty: nobody

    @property
    def document_id(self) -> str:
        return self.passage.rpartition("#")[0]


class LabelledQuestion(EvaluatedQuestion):
    """A question with its pool of passages: those that search finds, the best first, then other passages with its evidence."""

    labels: tuple[Label, ...] = ()


class PanelAnswer(Record):
    """The answer of one answerer of a panel. `right` is None if it is undecided. An empty answer means that the answerer found none."""

    answerer: str
    given: str
    right: bool | None
    reads: bool = True  # whether the answerer saw passages; otherwise it answers without documents


class PanelQuestion(EvaluatedQuestion):
    """A question with the answers of a panel, and with figures from the answers to all questions, which `docs/evaluation.md` defines."""

    answers: tuple[PanelAnswer, ...] = ()
    share_right: Share | None = None
    discrimination: float | None = None  # None: the answers do not vary
    difficulty: float | None = None  # None: there are too few answerers
    slope: float | None = None
    other: str = ""  # the answer that strong answerers give instead of the published one
    suspicion: Share = 0.0
    suspected: bool = False
    leaked: bool | None = None  # None: no answerer works without documents


class DocumentEvaluation(Record, Generic[QuestionT]):
    """The evaluated questions of one document. It is stored so that nothing is asked twice."""

    document_id: str
    questions: tuple[QuestionT, ...]

    @staticmethod
    def key(combination: Combination, kind: Kind, document_id: str, fingerprint: str) -> str:
        folder = f"evaluation/{combination.key}/{kind.value}"
        return store_key(folder, document_id, fingerprint, suffix=".json")


class EvaluationReport(Record, Generic[QuestionT]):
    """One evaluation of one combination by one run. Metrics that could not be measured are not in `metrics`."""

    kind: Kind
    corpus: str
    scenario: str
    mode: Mode
    run_id: str
    launch: str  # id that the runs of one command or backfill share
    created: str  # ISO 8601, UTC
    fingerprint: str  # hash of everything that decides the results
    profile: str
    model: str  # the model that answered, or the embedder
    judge_model: str = ""  # the model that was asked if code could not decide; empty: none
    metrics: dict[str, float] = Field(default_factory=dict)
    questions: tuple[QuestionT, ...]

    @property
    def combination(self) -> Combination:
        return Combination(corpus=self.corpus, scenario=self.scenario, mode=self.mode)

    @property
    def failed(self) -> int:
        """The number of questions without a result."""
        return sum(bool(question.failure) for question in self.questions)

    @property
    def unheard(self) -> int:
        """The number of questions that the next run asks again."""
        return sum(question.unheard for question in self.questions)

    @staticmethod
    def key(combination: Combination, kind: Kind) -> str:
        return store_key(f"evaluation/{combination.key}", kind.value, suffix=".json")


ClosedBookReport = EvaluationReport[ClosedBookAnswer]
RetrievalReport = EvaluationReport[RetrievedQuestion]
AnswerReport = EvaluationReport[BaselineAnswer]
LabelReport = EvaluationReport[LabelledQuestion]
PanelReport = EvaluationReport[PanelQuestion]

REPORTS: dict[Kind, type[EvaluationReport[Any]]] = {
    Kind.CLOSED_BOOK: ClosedBookReport,
    Kind.RETRIEVAL: RetrievalReport,
    Kind.ANSWERS: AnswerReport,
    Kind.LABELS: LabelReport,
    Kind.PANEL: PanelReport,
}


class Passage(Record):
    """A passage that a system retrieved: lines of a document, or the whole document."""

    document_id: str
    start_line: int | None = Field(default=None, ge=1)
    end_line: int | None = Field(default=None, ge=1)


class SystemAnswer(Record):
    """The output of a system for one question. `passages` are in the order of the system, the best first."""

    id: str
    answer: str | None = None
    passages: tuple[Passage, ...] | None = None


class SystemOutput(Record):
    """The answers of a system by question id, and a line for each row that could not be used."""

    name: str
    answers: dict[str, SystemAnswer]
    faults: tuple[str, ...] = ()
    model: str = ""  # the model of the system; empty: unknown


class ScoredAnswer(EvaluatedQuestion):
    """A published question with the output of a system for it.

    `right` is None if it was not decided; `failure` has the reason, unless no answers were given. Ranks are 1-based; None: not retrieved.
    """

    question_type: str
    mode: Mode
    hops: int | None
    given: str | None = None  # None: the system gave no answer
    # for a question without an answer, an abstention and the published reply are right
    right: bool | None = None
    answerable: bool = True
    # whether the system declined to answer; None: it gave no answers, or this could not be decided
    abstained: bool | None = None
    decided: Decided | None = None
    explanation: str = ""
    document_rank: int | None = None  # among the retrieved documents; if several are needed, of the last one
    evidence_ranks: tuple[int | None, ...] = ()  # for each quote: the first retrieved passage that has it
    # share of the key facts that the answer states; None: the system or the question has no answers
    key_facts: Share | None = None
    writer: str = ""  # the model that wrote the question; "people" if it was imported
    graded: dict[str, float] = Field(default_factory=dict)  # measures from relevance labels, if any


class Measure(Record):
    """A mean over `questions` questions of `documents` documents with its 95 % interval.

    The interval treats documents as the independent units, because questions about one document are not independent. `design_effect` is the
    factor by which this increases the variance. It is None for one document, for equal values, and in reports of older versions.
    `lower` and `upper` are the means over all questions if the unmeasured questions were wrong, and if they were right.
    """

    value: Share
    low: Share
    high: Share
    questions: int
    documents: int = 0  # 0: a report of an older version
    design_effect: float | None = None
    lower: Share | None = None
    upper: Share | None = None
    not_measured: int = 0


class Scores(Record):
    """Counts and measures of some questions. Measures of outputs that the system did not give are left out."""

    questions: int
    counts: dict[str, int]
    measures: dict[str, Measure]


class OwnQuestions(Record):
    """The number of questions that models of the system's family wrote, and a measure on these questions (`own`) and on the `others`.

    `others` is None if there are no others. `ranks` has the rank of the system among all systems (1 is the best) on own and on other
    questions. It is empty with one system.
    """

    family: str
    questions: int
    measure: str
    own: Measure
    others: Measure | None
    ranks: tuple[int, ...] = ()

    @property
    def preference(self) -> int | None:
        """The rank on own questions minus the rank on other questions; None without ranks. Below 0, the set favours the system."""
        return self.ranks[0] - self.ranks[1] if len(self.ranks) > 1 else None


class SystemScores(Record):
    """The scores of one system: over all questions, and in `groups` by type, mode, hops and document.

    `own` is None if the system's model is unknown or wrote no question.
    """

    system: str
    overall: Scores
    groups: dict[str, dict[str, Scores]]
    answers: tuple[ScoredAnswer, ...]
    faults: tuple[str, ...] = ()
    own: OwnQuestions | None = None


class Comparison(Record):
    """Two systems on the same questions of `documents` documents. Questions that are undecided for one system or both are left out.

    `p_value` is from the exact two-sided sign test by document, which is McNemar's test if each document has one question.
    `corrected_p_value` is corrected by Holm's method for the number of comparisons in the report.
    """

    measure: str
    both: int
    neither: int
    only_first: tuple[str, ...]  # question ids
    only_second: tuple[str, ...]
    p_value: Share
    corrected_p_value: Share | None = None
    documents: int = 0
    left_out: int = 0


class Plan(Record):
    """The numbers of questions and documents that a test needs to show that two systems differ by `difference` in a measure.

    The test is two-sided at 5 % and has a power of 80 %. Documents are assumed to have as many questions as in the scored sets.
    """

    measure: str
    difference: Share
    questions: int
    documents: int
    design_effect: float


class ScoredSet(Record):
    combination: str
    content_id: str
    questions: int


class ScoreReport(Record):
    """The report on one system, or on two compared systems."""

    sets: tuple[ScoredSet, ...]
    judge_model: str  # empty: no judge was asked
    systems: tuple[SystemScores, ...]
    comparisons: tuple[Comparison, ...] = ()
    plans: tuple[Plan, ...] = ()
