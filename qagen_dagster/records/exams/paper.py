"""Records of exam papers that are drawn from an item bank, and of their sittings: the blueprint, the forms, the paper, and the statistics
of the answers of candidates.
"""

from collections.abc import Sequence
from datetime import date
from enum import StrEnum
from typing import Annotated, get_args

from pydantic import Field, field_validator

from qagen_dagster.records.base import Difficulty, Record
from qagen_dagster.records.blind import Letter
from qagen_dagster.records.exams.bank import ExamItem
from qagen_dagster.records.exams.config import MOST_SEED, Prose, Weight
from qagen_dagster.records.ids import Name, fingerprint, store_key

MOST_DRAWN, MOST_FORMS = 200, 20
PRINTED: tuple[Letter, ...] = get_args(Letter)  # the letters of printed options, in order
Minutes = Annotated[float, Field(gt=0, le=600, allow_inf_nan=False)]


class Blueprint(Record):
    """The requirements for a paper.

    Attributes:
        title: the title on the paper; None: the name of the exam.
        items: the number of items of a form; None: as many as fit into `minutes`.
        minutes: the time that candidates have.
        schemas: relative weights by prefix of schema ids; other schemas are not used. Empty: all schemas, as evenly as possible.
        difficulties: relative weights. Empty: the weights of the exam, which the paper meets only as nearly as possible.
        minutes_each: the minutes that an item of each difficulty takes.
        forms: the number of parallel forms.
        shuffle: whether the forms have the same items, with options in other orders. If False, the forms have no item in common.
        seed: the random seed; another seed draws another paper.
        unused_since: the items of papers that were drawn on this day or later are left out.
    """

    title: Prose | None = None
    items: Annotated[int, Field(ge=1, le=MOST_DRAWN)] | None = None
    minutes: Minutes | None = None
    schemas: dict[Name, Weight] = Field(default_factory=dict)
    difficulties: dict[Difficulty, Weight] = Field(default_factory=dict)
    minutes_each: dict[Difficulty, Minutes] = Field(
        default_factory=lambda: {Difficulty.EASY: 1, Difficulty.MEDIUM: 2, Difficulty.HARD: 4}
    )
    forms: Annotated[int, Field(ge=1, le=MOST_FORMS)] = 1
    shuffle: bool = False
    seed: Annotated[int, Field(ge=0, le=MOST_SEED)] = 0
    unused_since: date | None = None

    @field_validator("schemas", mode="before")
    @classmethod
    def _equal_weights(cls, value: object) -> object:
        """Reads a list of prefixes as prefixes of equal weight."""
        return {str(one): 1 for one in value} if isinstance(value, list | tuple) else value  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


class PaperItem(Record):
    """An item as a form prints it.

    Attributes:
        version: the fingerprint of everything that the item says, the solution included.
        order: by printed letter, the letter of the option in the bank: with B, A, C, D, option B of the bank is printed as A.
        key: the printed letter of the right option.
    """

    item: Name
    version: str
    order: tuple[Letter, ...]
    key: Letter

    @classmethod
    def of(cls, item: ExamItem, order: Sequence[Letter]) -> "PaperItem":
        key = PRINTED[list(order).index(item.question.correct_option)]
        return cls(item=item.id, version=version_of(item), order=tuple(order), key=key)

    def printed(self, item: ExamItem) -> ExamItem:
        """`item` with its options in the printed order."""
        package = item.question_package
        new = dict(zip(self.order, PRINTED, strict=False))
        options = {new[old]: package.question.options[old] for old in self.order}
        question = package.question.model_copy(update={"options": options, "correct_option": self.key})
        paths = {new[old]: why for old, why in package.distractor_map.items() if old in new}
        changed = package.model_copy(update={"question": question, "distractor_map": paths})
        return item.model_copy(update={"question_package": changed})


class PaperForm(Record):
    """One form, with its items in the printed order. Forms are numbered from 1."""

    number: int
    items: tuple[PaperItem, ...]


class Paper(Record):
    """A paper as it was drawn. `drawn` is the day (UTC) on which this paper was drawn for the first time."""

    id: Name
    exam: Name
    blueprint: Blueprint
    forms: tuple[PaperForm, ...]
    drawn: date

    @staticmethod
    def folder(exam: str) -> str:
        return f"exams/{exam}/papers"

    @staticmethod
    def key(exam: str, paper: str) -> str:
        return store_key("exams", exam, "papers", paper, suffix=".json")

    @property
    def item_ids(self) -> set[str]:
        return {one.item for form in self.forms for one in form.items}


def version_of(item: ExamItem) -> str:
    """The fingerprint of everything that an item says."""
    return fingerprint([item.question_package.model_dump_json()])


def paper_id(exam: str, blueprint: Blueprint, forms: tuple[PaperForm, ...]) -> str:
    """The id of a paper. It depends only on the exam, the blueprint and the forms."""
    parts = (exam, blueprint.model_dump_json(), *(form.model_dump_json() for form in forms))
    return f"paper-{fingerprint(parts)}"


class Estimate(Record):
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


class ItemFlag(StrEnum):
    """The findings of rules about an item. A rule applies only if the whole interval of the statistic fulfils the condition."""

    WRONG_KEY = "wrong_key_suspected"  # strong candidates agree on an option that is not the key
    NEGATIVE = "negative_discrimination"  # strong candidates fail more often than weak ones
    WEAK = "weak_discrimination"  # the discrimination is below 0.2, and not surely below 0
    TOO_EASY = "too_easy"  # more than 95 % of the candidates are right
    TOO_HARD = "too_hard"  # candidates do worse than by guessing
    DEAD = "dead_distractor"  # a wrong option is taken by under 5 % of the candidates who are wrong


class ItemStatistics(Record):
    """The statistics of one item. Letters are the letters of its options in the bank.

    Attributes:
        version: the version of the item in the bank when the answers were read.
        candidates: the number of candidates whose form has the item.
        facility: the share of candidates who are right.
        discrimination: the point-biserial correlation between being right and the score on the other items; None if
            one of the two does not vary.
        upper, lower: the facility among the third of the candidates with the highest and with the lowest score on the other items.
        thirds: `upper` minus `lower`.
        chosen: the number of candidates who took an option, by option.
        dead: the wrong options that less than 5 % of the candidates who are wrong take, even at the upper end of the interval.
        suspected: the option that is probably right in place of the key; None if the key is not suspected.
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
        """The flags in words, with the options to which they apply."""
        said = {ItemFlag.WRONG_KEY: f": {self.suspected}", ItemFlag.DEAD: f": {', '.join(self.dead)}"}
        return [f"{flag.value.replace('_', ' ')}{said.get(flag, '')}" for flag in self.flags]


class FormStatistics(Record):
    """The statistics of forms with the same items. `reliability` is KR-20; None if the scores do not vary or there is only one item."""

    forms: tuple[str, ...]
    candidates: int
    items: int
    mean: float  # of the scores
    deviation: float
    reliability: Estimate | None


class Sitting(Record):
    """The statistics of the answers in one file. `paper` is empty if the file names items of the bank and no paper."""

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
