"""The data of a set on the review page: one row per question, and the details of a single question."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import Field

from qagen_dagster.catalog import queries
from qagen_dagster.errors import ConfigError, StoreError
from qagen_dagster.formats.base import PageImage
from qagen_dagster.loop.review_decisions import random_order
from qagen_dagster.publishing.markup import with_figures
from qagen_dagster.records.base import Record
from qagen_dagster.records.decisions import Agreement
from qagen_dagster.records.questions.published import PublishedGrade, PublishedVerdict
from qagen_dagster.records.run import CallSummary

ACCEPTED, REJECTED = "accepted", "rejected"  # outcomes


class Row(Record):
    """One question in the list. Unknown values are empty. `place` is its place (from 1) in the random order of the set, if any."""

    id: str
    set_key: str
    document: str
    outcome: str
    question: str
    answer: str
    type: str = ""
    origin: str = ""  # "imported" if people asked it
    reason: str = ""
    grade: str = ""
    model: str = ""
    attempt: int = 0
    usd: float | None = None
    place: int | None = None
    suspicion: float = 0.0  # the share of a panel's strong answerers that agree on another answer
    markup: tuple[str, ...] = ()  # question and answer as XHTML, if they have formulas in TeX


class Line(Record):
    """A line of a document. `pieces` alternate between text outside and text inside quotes. The first piece, perhaps empty, is outside."""

    number: int
    pieces: tuple[str, ...]


class Picture(Record):
    """A picture: a page, with a frame around the visual `label` if it has one, or what `label` names."""

    label: str
    page: int
    title: str
    is_open: bool = True


COMPILED = Picture(label="compiled", page=1, title="Compiled page", is_open=False)


class Entry(Record):
    """A paragraph with a label. `markup` is XHTML, `text` is plain text."""

    label: str = ""
    text: str = ""
    markup: str = ""
    mark: str = ""  # "yes" for a right entry, "no" for a wrong one


class Section(Record):
    """Paragraphs under a title."""

    title: str
    entries: tuple[Entry, ...]
    is_open: bool = True

    @classmethod
    def of(cls, title: str, *entries: Entry, is_open: bool = True) -> "Section":
        return cls(title=title, entries=entries, is_open=is_open)


class Detail(Record):
    """Everything about one question except its lineage. `notes` say, for example, why the question was rejected."""

    id: str
    source: str = ""
    line_count: int = 0
    notes: tuple[str, ...] = ()
    passages: tuple[tuple[Line, ...], ...] = ()
    quotes: tuple[str, ...] = ()  # quotes that are in no passage
    pictures: tuple[Picture, ...] = ()
    verdict: PublishedVerdict | None = None
    grade: PublishedGrade | None = None
    sections: tuple[Section, ...] = ()


_SHOWN_OF_CALL = ("role", "model", "input_tokens", "output_tokens", "usd", "replayed")


class Lineage(Record):
    """The models and calls behind a question. `note` says what is unknown."""

    facts: Mapping[str, str] = Field(default_factory=dict)
    calls: tuple[dict[str, Any], ...] = ()
    note: str = ""


class Edited(Record):
    """An edited item of a bank, as a decision stores it."""

    new_question: str
    new_answer: str
    new_item: str


class ReviewSet(ABC):
    """The questions of one set, and everything about them.

    `versioned`: whether versions of the set can be compared.
    """

    versioned = False

    def __init__(self, key: str, title: str) -> None:
        self.key, self.title = key, title

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """One row for each question, in the order of the set. Ids are unique."""
        return tuple(self.make_rows())

    @abstractmethod
    def make_rows(self) -> Iterable[Row]: ...

    @cached_property
    def _by_id(self) -> dict[str, Row]:
        return {row.id: row for row in self.rows}

    def find(self, question_id: str) -> Row:
        """The row of a question. Raises StoreError when the set has no such question."""
        found = self._by_id.get(question_id)
        if found is None:
            raise StoreError(f"{self.key} has no question {question_id}: load the page again")
        return found

    @abstractmethod
    def detail(self, question_id: str) -> Detail:
        """Everything about a question except its lineage. Raises StoreError when the set has no such question."""

    @abstractmethod
    def lineage(self, question_id: str) -> Lineage:
        """The models and calls behind a question. Raises StoreError when the set has no such question."""

    def fields(self, question_id: str) -> dict[str, str]:
        """The editable texts of an item, by name; empty if only the question and the answer can be edited.

        Raises StoreError when the set has no such question, and ConfigError when it cannot be edited.
        """
        self.find(question_id)
        return {}

    def edited(self, question_id: str, fields: Mapping[str, str]) -> Edited:
        """The item with edited `fields`, after new checks. Raises ConfigError, with the reason, if the edit is refused; and StoreError."""
        raise ConfigError(f"{self.key} has no fields to edit")

    def judges(self, accepted: Mapping[str, bool]) -> Iterable[Agreement]:
        """The agreement of models with reviewers. `accepted` says for each question id whether the reviewers accepted the question."""
        return ()

    def lines(self, question_id: str, first: int, last: int) -> tuple[Line, ...]:
        """Lines of the document of a question. Raises StoreError when the set has no such question."""
        self.find(question_id)
        return ()

    def picture(self, question_id: str, page: int, label: str) -> PageImage | None:
        """One picture of a question; None if there is none.

        Raises StoreError when the set has no such question, and DocumentError when the picture cannot be drawn.
        """
        self.find(question_id)
        return None


@dataclass(frozen=True)
class SetSource:
    """Reads one set from the store. The value of `state` changes when the set must be read again. It is None when there is no set yet."""

    key: str
    state: Callable[[], object]
    read: Callable[[], ReviewSet]


def calls_of(summaries: Iterable[tuple[str, CallSummary | queries.Row]]) -> tuple[dict[str, Any], ...]:
    """The calls of a lineage, made from pairs of a stage and a call."""
    return tuple(
        {"stage": stage, **{name: getattr(one, name) for name in _SHOWN_OF_CALL}} for stage, one in summaries
    )


def places_of(keys: Collection[str]) -> dict[str, int]:
    """The place of each question in the random order of its set, from 1."""
    return {key: place for place, key in enumerate(random_order(keys), 1)}


def with_pictures(sections: Iterable[Section], figures: Mapping[str, bytes]) -> tuple[Section, ...]:
    """The sections with pictures in place of the references to figures in their markup."""

    def shown(entry: Entry) -> Entry:
        return entry.model_copy(update={"markup": with_figures(entry.markup.encode(), figures).decode()})

    return tuple(one.model_copy(update={"entries": tuple(map(shown, one.entries))}) for one in sections)
