"""What the answers of candidates say about the items of an exam: a sitting, with its statistics for each item."""

from datetime import date
from enum import StrEnum

from pydantic import Field

from qagen_dagster.records.base import Record
from qagen_dagster.records.blind import Letter
from qagen_dagster.records.ids import Name, store_key


class Estimate(Record):
    """A value with its interval of 95 %."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


class ItemFlag(StrEnum):
    """What rules find about an item. A rule finds something only if the whole interval says so."""

    WRONG_KEY = "wrong_key_suspected"  # strong candidates agree on another option than the key
    NEGATIVE = "negative_discrimination"  # strong candidates fail more often than weak ones
    WEAK = "weak_discrimination"  # the discrimination is below 0.2
    TOO_EASY = "too_easy"  # more than 95 % of the candidates are right
    TOO_HARD = "too_hard"  # candidates do worse than by guessing
    DEAD = "dead_distractor"  # under 5 % of those who are wrong take a wrong option


class ItemStatistics(Record):
    """The statistics of one item. Letters are those of the bank.

    Attributes:
        version: that of the item in the bank when the answers were read.
        candidates: the number of candidates whose form has the item.
        facility: the share of candidates who are right.
        discrimination: the point-biserial correlation between being right and the score on the other items; None if
            one of them does not vary.
        upper, lower: the facility among the third of the candidates with the highest and with the lowest score on the other items.
        thirds: the difference between these two.
        chosen: by option the number of candidates who took it.
        dead: the wrong options that nobody takes.
        suspected: the option that is probably right, if not the key.
    """

    item: Name
    version: str
    key: Letter
    candidates: int
    facility: Estimate
    discrimination: Estimate | None
    upper: float
    lower: float
    thirds: Estimate
    chosen: dict[Letter, int]
    dead: tuple[Letter, ...] = ()
    suspected: Letter | None = None
    flags: tuple[ItemFlag, ...] = ()

    @property
    def findings(self) -> list[str]:
        """The flags in words, with the options that they mean."""
        said = {ItemFlag.WRONG_KEY: f": {self.suspected}", ItemFlag.DEAD: f": {', '.join(self.dead)}"}
        return [f"{flag.value.replace('_', ' ')}{said.get(flag, '')}" for flag in self.flags]


class FormStatistics(Record):
    """Forms with the same items. `reliability` is KR-20; None if the scores do not vary or there is one item."""

    forms: tuple[str, ...]
    candidates: int
    items: int
    mean: float  # of the scores
    deviation: float
    reliability: Estimate | None


class Sitting(Record):
    """The answers of one file. `paper` is empty if the file names items of the bank and no paper."""

    id: Name
    exam: Name
    paper: str = ""
    file: str
    read: date
    candidates: int
    forms: tuple[FormStatistics, ...]
    items: tuple[ItemStatistics, ...] = Field(default=())

    @staticmethod
    def folder(exam: str) -> str:
        return f"exams/{exam}/responses"

    @staticmethod
    def key(exam: str, sitting: str) -> str:
        return store_key("exams", exam, "responses", sitting, suffix=".json")
