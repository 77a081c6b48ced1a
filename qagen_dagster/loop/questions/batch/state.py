"""The events of the work on a document by the batch strategy, its steps, and its state.

All of them are values, and this module does no work. The agents make the events `Answered` and `Rewritten` of the current question.
"""

from typing import Annotated, Literal

from pydantic import Field

from qagen_dagster.agents.questions.batch.answerer import Answered
from qagen_dagster.agents.questions.batch.questioner import Rewritten
from qagen_dagster.grounding.claim_rules import NOT_TOGETHER, TOO_FEW, lacks_one_word
from qagen_dagster.loop.questions import state
from qagen_dagster.loop.questions.stopping import Fit, Wanted
from qagen_dagster.records.base import Record
from qagen_dagster.records.corpus_options import QuestionType
from qagen_dagster.records.grading import AnswerGrade
from qagen_dagster.records.questions.batch import NotPossible
from qagen_dagster.records.questions.results import Candidate, DuplicateStep
from qagen_dagster.records.questions.submissions import Comparison, JudgingAnswer
from qagen_dagster.records.run import CallSummary

DOUBTFUL = 0.5  # an undecided sentence with a lower score is doubtful, because the document lacks most of its content


def fault_of(grade: AnswerGrade, least: float, *, whole: bool = True, computed: bool = False) -> str | None:
    """The reason why a text is not grounded enough; None if it is grounded.

    With `whole`, as for an answer, every sentence must be grounded. Without it, as for a question, only the confidence counts. A text
    without a confidence is undecided. An undecided text counts as grounded unless a sentence is doubtful. A sentence is doubtful if the
    document lacks a name or several words of it, and most of its content. Text that code has `computed` from quotes is never doubtful.
    """
    if grade.confidence is None and computed:
        return None
    if grade.confidence is None:
        scores = [
            one.score
            for one in grade.sentences
            if one.reason not in (NOT_TOGETHER, TOO_FEW) and not lacks_one_word(one)
        ]
        doubtful = any(score is not None and score < DOUBTFUL for score in scores)
        return "; ".join(grade.issues) if doubtful else None
    if grade.confidence >= least and (grade.is_grounded is not False or not whole):
        return None
    issues = "; ".join(grade.issues) or "the document does not say this"
    if not whole:
        return issues
    if grade.is_grounded is False:
        return f"{issues} (every sentence must be grounded)"
    return f"{issues} (confidence {grade.confidence:.2f} is below {least:.2f})"


def rank_of(grade: AnswerGrade | None) -> tuple[bool, bool, float]:
    """A sort key for grades of attempts: ungraded first, then ungrounded, then the others; within a group, the lowest confidence first."""
    if grade is None:
        return False, False, 0.0
    return True, grade.is_grounded is not False, grade.confidence or 0.0


class Draft(Record):
    """A question that was written and is not a duplicate. `number` counts from 1 over all rounds."""

    number: int
    question: str
    question_type: QuestionType
    parts: tuple[int, ...] = ()  # the parts that the generator saw; empty for all parts
    lines: tuple[int, ...] = ()  # unused; older journals have it


class DuplicateDraft(Record):
    """A question that was written but is a duplicate of an earlier question."""

    draft: Draft
    of: str
    detail: str
    score: float  # similarity; 1 for equal words
    step: DuplicateStep


class Asked(Record):
    """The generator was asked for a round of questions. If it wrote no question, `failure` states the reason."""

    kind: Literal["asked"] = "asked"
    drafts: tuple[Draft, ...] = ()
    repeats: tuple[DuplicateDraft, ...] = ()
    not_possible: tuple[NotPossible, ...] = ()
    parts: tuple[int, ...] = ()
    failure: str = ""
    fit: Fit = Fit()  # the limits, lowered if the reply was cut off
    calls: tuple[CallSummary, ...] = ()


class QuestionGraded(Record):
    """The newest wording of a question was graded. The work on a question begins with the grade of its first wording."""

    kind: Literal["question_graded"] = "question_graded"
    number: int
    grade: AnswerGrade

    @property
    def calls(self) -> tuple[CallSummary, ...]:
        return self.grade.calls


class PreparedAnswer(Record):
    """The answer to the waiting question with this number; None if there was no answer."""

    number: int
    candidate: Candidate | None


class Prepared(Record):
    """Several waiting questions were answered in one request."""

    kind: Literal["prepared"] = "prepared"
    answers: tuple[PreparedAnswer, ...]
    fit: Fit = Fit()
    calls: tuple[CallSummary, ...] = ()


class BlindAnswered(Record):
    """The validator answered several questions in one request without seeing the proposed answers, or compared its answers with them.

    `guesses` has the validator's answers without the document, by question. `comparisons` has the comparisons, by the key of the pair.
    None in `answers` means that a question got no answer, and None in `comparisons` that a pair got no comparison.
    """

    kind: Literal["blind_answered"] = "blind_answered"
    answers: dict[str, JudgingAnswer | None]  # by question
    comparisons: dict[str, Comparison | None] = Field(default_factory=dict[str, Comparison | None])
    guesses: dict[str, str] = Field(default_factory=dict[str, str])
    fit: Fit = Fit()
    calls: tuple[CallSummary, ...] = ()


class Reanswered(Record):
    """The answerer was asked to correct a candidate that the validator refused.

    There is no grade if the answerer gave no new answer, or if the evidence check refused it.
    """

    kind: Literal["reanswered"] = "reanswered"
    mended: state.Mended
    grade: AnswerGrade | None = None

    @property
    def calls(self) -> tuple[CallSummary, ...]:
        return self.mended.calls


class AnswerGraded(Record):
    """The newest answer was graded."""

    kind: Literal["answer_graded"] = "answer_graded"
    grade: AnswerGrade

    @property
    def calls(self) -> tuple[CallSummary, ...]:
        return self.grade.calls


BatchEvent = Annotated[
    state.Carried
    | Asked
    | QuestionGraded
    | Rewritten
    | Answered
    | Prepared
    | AnswerGraded
    | BlindAnswered
    | Reanswered
    | state.Proposed
    | state.Compared
    | state.Judged
    | state.Controlled,
    Field(discriminator="kind"),
]


class Version(Record):
    """A wording of a question, with its grade if it has one."""

    question: str
    grade: AnswerGrade | None = None


class Try(Record):
    """An attempt at the answer. `candidate` is missing if there was no answer, and `grade` if the evidence check rejected the answer."""

    candidate: Candidate | None
    failure: str = ""
    grade: AnswerGrade | None = None


class Current(Record):
    """The question that is being worked on."""

    draft: Draft
    versions: tuple[Version, ...]
    rewrites: int = 0
    refused: tuple[tuple[str, str], ...] = ()  # refused wordings with their reasons
    tries: tuple[Try, ...] = ()
    # the answer to the first wording, from a request with several questions
    prepared: Candidate | None = None


class Graded(Record):
    """The grade of a finished answer, accepted or not."""

    question: str
    answer: str
    grade: AnswerGrade


class BatchState(Record):
    """The state of the loop for a document. `qa` has the outcomes of questions."""

    qa: state.QAState = state.QAState()
    drafts: tuple[Draft, ...] = ()  # all drafts that were not duplicates, in order
    taken: tuple[int, ...] = ()  # numbers of the drafts whose work began
    # Answers from requests with several questions, by the number of the draft.
    prepared: dict[int, Candidate | None] = Field(default_factory=dict[int, Candidate | None])
    # Blind answers of the validator, by question.
    blind: dict[str, JudgingAnswer | None] = Field(default_factory=dict[str, JudgingAnswer | None])
    # Comparisons of the validator, by the keys of the pairs.
    compared: dict[str, Comparison | None] = Field(default_factory=dict[str, Comparison | None])
    # Answers of the validator without the document, by question.
    guesses: dict[str, str] = Field(default_factory=dict[str, str])
    current: Current | None = None
    rounds: int = 0
    forgiven_rounds: int = 0  # rounds that do not count, because no reply of their run could be used
    not_possible: dict[QuestionType, str] = Field(default_factory=dict[QuestionType, str])
    graded: tuple[Graded, ...] = ()
    parts: tuple[int, ...] = ()  # shown to the generator; empty: all
    fit: Fit = Fit()  # the limits that replies showed when they were cut off


class Ask(Record):
    """Ask for questions, within the limit of one reply."""

    round: int
    wanted: Wanted
    most: int


class GradeQuestion(Record):
    draft: Draft
    question: str


class Rewrite(Record):
    """Replace a question. With `drop`, its wording was refused together with an answer and is not reused."""

    current: Current
    question: str
    reason: str
    drop: bool = False


class Answer(Record):
    current: Current
    question: str
    rejected: tuple[tuple[str, str], ...]


class Prepare(Record):
    """Answer several waiting questions in one request."""

    drafts: tuple[Draft, ...]


class AnswerBlind(Record):
    """Let the validator answer several questions in one request: the question of the candidate to judge next, and waiting questions."""

    questions: tuple[str, ...]
    attempt: int


class CompareAnswers(Record):
    """Let the validator compare the answers of several candidates in one request: of the one to judge next, and of waiting candidates."""

    candidates: tuple[Candidate, ...]
    attempt: int


class GradeAnswer(Record):
    current: Current
    candidate: Candidate


class Settle(Record):
    """End the work on an answer: hand the candidate and its fault, if any, to the final checks."""

    candidate: Candidate


Step = (
    Ask
    | GradeQuestion
    | Rewrite
    | Answer
    | Prepare
    | GradeAnswer
    | Settle
    | state.Dedupe
    | AnswerBlind
    | CompareAnswers
    | state.Validate
    | state.Mend
    | state.Done
)
