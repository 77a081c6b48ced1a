"""Decisions of reviewers on questions, exam items and problems. Each decision has its own file, which is never changed."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated
from urllib.parse import urlencode
from uuid import uuid4

from pydantic import AfterValidator, AwareDatetime, Field, StringConstraints, model_validator

from qagen_dagster.records.base import Record
from qagen_dagster.records.ids import Combination, Name, check_name, store_key

PAGE_PORT = 3100  # the port of the review page, unless the command names another one
BY_REVIEWER = "rejected_by_reviewer"  # the reason of items that a reviewer rejected
_BANKS = ("exams", "problems")
MOST_TEXT = 10_000  # characters
_Text = Annotated[str, StringConstraints(strip_whitespace=True, max_length=MOST_TEXT)]
_Reviewer = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]


def exam_key(exam: str) -> str:
    """The set key of the bank of an exam. A combination needs no such function: its set key is its partition key."""
    return f"exams/{exam}"


def problem_set_key(problem_set: str) -> str:
    """The set key of the bank of a problem set."""
    return f"problems/{problem_set}"


def check_set_key(value: str) -> str:
    """Return `value` if it is a set key, else raise ValueError."""
    kind, _, name = value.partition("/")
    if kind in _BANKS and "/" not in name:
        check_name(name)
        return value
    return Combination.from_key(value).key


SetKey = Annotated[str, AfterValidator(check_set_key)]


def review_folder(set_key: SetKey) -> str:
    """The folder of the decisions on a set. Raises ValueError if `set_key` is not a set key."""
    checked = check_set_key(set_key)
    return f"{checked}/reviews" if checked.count("/") == 1 else f"reviews/{checked}"


def page_address(set_key: str) -> str:
    """The address of a set on the review page, if `qagen review` runs with its default port."""
    return f"http://127.0.0.1:{PAGE_PORT}/#{urlencode({'set': set_key})}"


class Action(StrEnum):
    """The kind of a decision."""

    ACCEPT = "accept"
    EDIT = "edit"
    REJECT = "reject"
    FLAG = "flag"  # another person should look at the question
    COMMENT = "comment"  # a remark without a decision
    UNDO = "undo"  # revokes an earlier decision of the same reviewer


class Decision(Record):
    """The decision of one reviewer about one question, exam item or item of a problem.

    `set_key` is the partition key of a combination, or the set key of a bank. `question_id` is a hash of the texts, so the decision
    still applies when the same question is generated again. `question` and `answer` are the judged texts. `reason` is the reason for
    a decision, or the text of a comment. For an edit of an exam item or of a problem, `new_item` is the whole edited item: an
    ExamItem as JSON, or the LaTeX of the problem.
    """

    id: Name = Field(default_factory=lambda: uuid4().hex)
    set_key: SetKey
    question_id: Name
    document_id: Name
    question: str
    answer: str
    reviewer: _Reviewer
    time: AwareDatetime = Field(default_factory=lambda: datetime.now(UTC))
    action: Action
    reason: _Text = ""
    new_question: _Text = ""  # only for an edit, like `new_answer`
    new_answer: _Text = ""
    new_item: Annotated[str, Field(max_length=200_000)] = ""
    undoes: Name | None = None  # only for an undo: the id of the decision that it revokes

    @model_validator(mode="after")
    def _is_complete(self) -> "Decision":
        if self.action is Action.EDIT:
            if not self.new_question or not (self.new_answer or self.new_item):
                raise ValueError("an edit needs new_question and new_answer")
            same_texts = (self.new_question, self.new_answer) == (self.question, self.answer)
            if same_texts and not self.new_item:
                raise ValueError("the edit changes nothing")
        elif self.new_question or self.new_answer or self.new_item:
            raise ValueError("only an edit has new_question, new_answer and new_item")
        if (self.action is Action.UNDO) != (self.undoes is not None):
            raise ValueError("an undo, and nothing else, names the decision that it undoes")
        if self.action is Action.COMMENT and not self.reason:
            raise ValueError("a comment needs a text")
        return self

    @staticmethod
    def key(set_key: SetKey, question_id: str, decision_id: str) -> str:
        return store_key(review_folder(set_key), question_id, decision_id, suffix=".json")


class Agreement(Record):
    """The agreement of two reviewers: the number of questions that `both` judged, and the number on which they decided the `same`.

    With a `criterion`, `first` is a model, and `second` stands for all reviewers; questions on which reviewers disagree do not count.
    `good` counts the questions that both sides find good, `only_first` the questions that only the model finds good.
    """

    first: str
    second: str
    both: int
    same: int
    kappa: float | None  # Cohen's kappa; None: undefined
    interval: tuple[float, float] | None = None  # the 95 % interval of kappa
    criterion: str = ""  # a criterion of the validator (`all`: all of them), or `grounded`
    good: int = 0
    only_first: int = 0


class ReviewFacts(Record):
    """The facts about a set of questions that follow from the decisions.

    Reviewers judged the first `sampled` questions of a random order, and accepted `sample_accepted` of them. `interval` is the 95 %
    interval of the share of the whole set that reviewers would accept.
    """

    states: dict[str, int]
    reviewers: dict[str, int]  # number of questions that each reviewer judged
    agreements: tuple[Agreement, ...] = ()
    alpha: float | None = None  # Krippendorff's alpha, if there are at least three reviewers
    disagreed: tuple[str, ...] = ()  # ids of the questions on which reviewers disagree
    sampled: int = 0
    sample_accepted: int = 0
    interval: tuple[float, float] | None = None

    @property
    def questions(self) -> int:
        return sum(self.states.values())

    @property
    def unreviewed(self) -> int:
        return self.states.get("unreviewed", 0)
