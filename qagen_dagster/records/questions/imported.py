"""Imported questions: the log of questions that people asked, and how well a set covers it."""

from pydantic import Field

from qagen_dagster.records.base import Record
from qagen_dagster.records.ids import Combination, fingerprint, store_key
from qagen_dagster.records.questions.results import Evidence

# The text that tells the generator about a question that the set does not cover.
NOT_COVERED = "people ask this and no question covers it: ask about it in clear words of your own, if the document answers it"
NO_DOCUMENT = "none of the likeliest documents answers it"
PUBLISHED, NOT_TRIED = "published", "not_tried"


class LoggedQuestion(Record):
    """A question of a log; `answer` is empty if the log has none."""

    question: str
    answer: str = ""


class QuestionLog(Record):
    """The imported questions of a combination.

    `missing` has the questions that the set did not cover, by document id. The generator is shown them. Entries are never removed, so that
    a finished document keeps the questions that were generated for its entries.
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
    """A question of the log, and its `outcome`: PUBLISHED, NOT_TRIED or the reason why it was refused.

    For a question that no document answers, `passages` holds the nearest passages.
    """

    question: str
    outcome: str
    document_id: str = ""
    detail: str = ""
    passages: tuple[Evidence, ...] = ()


class Coverage(Record):
    """The coverage of a log by a set. Each entry of `gaps` is for one subject that the set lacks: the id of the document that seems to have
    the subject, and the questions about it."""

    questions: tuple[ImportedQuestion, ...]
    subjects: int  # number of groups of questions in the log that ask for the same thing
    gaps: tuple[tuple[str, tuple[str, ...]], ...]

    @staticmethod
    def key(combination: Combination) -> str:
        return store_key(f"imports/{combination.key}", "coverage.json")
