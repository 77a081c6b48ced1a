"""The questions that people asked, as a log gave them, and how well a set covers them."""

from __future__ import annotations

from pydantic import Field

from qagen_dagster.records.base import Record
from qagen_dagster.records.ids import Combination, fingerprint, store_key
from qagen_dagster.records.questions.results import Evidence, RejectionReason

# What the generator is told of a question that the set does not cover.
NOT_COVERED = "people ask this and no question covers it: ask about it in clear words of your own, if the document answers it"


class LoggedQuestion(Record):
    """A question of a log; `answer` is empty if the log has none."""

    question: str
    answer: str = ""


class QuestionLog(Record):
    """The imported questions of a combination.

    `missing` has, by document id, questions that the set did not cover; the generator is shown them. Entries are only added, so that a
    finished document does not lose the questions that were made for them.
    """

    questions: tuple[LoggedQuestion, ...]
    missing: dict[str, tuple[str, ...]] = Field(default_factory=dict)

    @property
    def digest(self) -> str:
        return fingerprint([f"{one.question}\n{one.answer}" for one in self.questions])

    @staticmethod
    def key(combination: Combination) -> str:
        return store_key(f"imports/{combination.key}", "log.json")


class ImportedQuestion(Record):
    """What became of a question of the log. `reason` is None if it is published or was not worked on, as `detail` says."""

    question: str
    document_id: str = ""
    reason: RejectionReason | None = None
    detail: str = ""
    passages: tuple[Evidence, ...] = ()  # of one that no document answers, the nearest


class Gap(Record):
    """Questions of the log about one thing, of which the set has none. The corpus answers at least one."""

    questions: tuple[str, ...]
    document_id: str


class Coverage(Record):
    """How a set covers the log."""

    published: tuple[ImportedQuestion, ...]
    refused: tuple[ImportedQuestion, ...]
    unanswerable: tuple[ImportedQuestion, ...]
    clusters: int  # groups of questions about one thing
    gaps: tuple[Gap, ...]

    @staticmethod
    def key(combination: Combination) -> str:
        return store_key(f"imports/{combination.key}", "coverage.json")
