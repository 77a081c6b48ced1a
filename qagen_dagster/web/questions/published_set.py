"""Published question sets on the review page: a row for each question, and the record behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TypeVar

from pydantic import ValidationError

from qagen_dagster.catalog.stats import attempt_costs
from qagen_dagster.configuration.profiles import Role
from qagen_dagster.errors import StoreError
from qagen_dagster.formats.base import PageImage
from qagen_dagster.loop.catalog import CATALOG, catalog_file
from qagen_dagster.loop.questions.publication.rows import PublishedRows
from qagen_dagster.loop.review import BY_REVIEWERS, decisions_of, made_by_edits, random_order
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.publishing.questions.set_files import REJECTED_FILE, RETIRED_FILE
from qagen_dagster.records.base import Record
from qagen_dagster.records.corpus import Publish
from qagen_dagster.records.document import IndexEntry
from qagen_dagster.records.ids import Combination, Mode, question_id
from qagen_dagster.records.questions.published import (
    CorpusGenerationResult,
    LatestVersion,
    PublishedQuestion,
    RejectedQuestion,
    RetiredQuestion,
)
from qagen_dagster.records.questions.results import CandidateSet, ValidatedSet
from qagen_dagster.web.questions import details
from qagen_dagster.web.questions.details import Asked, Question
from qagen_dagster.web.review_set import ACCEPTED, REJECTED, Detail, Line, Lineage, ReviewSet, Row, SetSource

LineT = TypeVar("LineT", bound=Record)
Costs = Mapping[tuple[str, int], float | None]


class RejectedLine(RejectedQuestion):
    """One line of `rejected.jsonl`."""

    corpus_name: str
    scenario: str
    mode: Mode


def question_source(space: Workspace, combination: Combination) -> SetSource:
    """Reads the published set of a combination."""

    def state() -> object:
        """The version, and the time of the catalog, which has the costs."""
        latest = space.store.get(LatestVersion.key(combination))
        catalog = space.store.local_path(CATALOG)
        made = catalog.stat().st_mtime_ns if catalog is not None and catalog.is_file() else 0
        return None if latest is None else (latest, made)

    return SetSource(combination.key, state, lambda: QuestionSet(space, combination))


class QuestionSet(ReviewSet):
    """The questions of one published set by id: accepted, then rejected, then retired ones.

    A question that was proposed again with the same answer has the same id, and is listed once.
    """

    editable = True
    versioned = True

    def __init__(self, space: Workspace, combination: Combination) -> None:
        """Raises StoreError when the set cannot be read."""
        super().__init__(combination.key, combination.key)
        self._space, self._combination = space, combination
        made = space.store.find_valid(CandidateSet.key(combination), CandidateSet)
        # The records of rejected and retired questions do not name the model.
        self._generator = "" if made is None else made.models.get(Role.GENERATOR.value, "")
        self._costs = _costs(space, combination)
        self._questions = _questions(space, combination)

    def make_rows(self) -> Iterator[Row]:
        places = {key: number for number, key in enumerate(random_order(self._generated()), 1)}
        return (self._row(key, one, places.get(key)) for key, one in self._questions.items())

    @cached_property
    def _documents(self) -> dict[str, IndexEntry]:
        return {entry.id: entry for entry in self._space.index(self._combination.corpus).documents}

    def detail(self, key: str) -> Detail:
        return details.detail(self._asked(key))

    def lineage(self, key: str) -> Lineage:
        return details.lineage(self._asked(key))

    def lines(self, key: str, first: int, last: int) -> tuple[Line, ...]:
        return details.lines_of(self._asked(key), first, last)

    def picture(self, key: str, page: int, label: str) -> PageImage | None:
        return details.picture(self._asked(key), page, label)

    def _asked(self, key: str) -> Asked:
        self.find(key)
        one = self._questions[key]
        return Asked(self._space, self._combination, key, one, self._documents.get(one.document_id))

    def _generated(self) -> set[str]:
        """The questions before reviewers changed the set."""
        found = {key for key, one in self._questions.items() if _is_generated(one)}
        decisions = decisions_of(self._space, self.key).values()
        return found - made_by_edits(self._combination, (one for some in decisions for one in some))

    def _row(self, key: str, one: Question, place: int | None) -> Row:
        accepted = isinstance(one, PublishedQuestion)
        made = one.generation_metadata if accepted else None
        grade = one.grade.grade if accepted and one.grade is not None else None
        attempt = details.attempt_of(one)
        return Row(
            id=key,
            set_key=self.key,
            document=one.document_id,
            outcome=_outcome_of(one),
            question=one.question,
            answer=one.answer,
            type=one.question_type or "",
            reason="" if accepted else _reason_of(one),
            grade="" if grade is None else grade.value,
            model=self._generator if made is None else made.generator_model,
            attempt=attempt,
            usd=self._costs.get((one.document_id, attempt)),
            place=place,
        )


def _outcome_of(one: Question) -> str:
    if isinstance(one, PublishedQuestion):
        return ACCEPTED
    return REJECTED if isinstance(one, RejectedQuestion) else "retired"


def _reason_of(one: RejectedQuestion | RetiredQuestion) -> str:
    return (one.rejection_reason if isinstance(one, RejectedQuestion) else one.reason).value


def _is_generated(one: Question) -> bool:
    if isinstance(one, RejectedQuestion):
        return one.rejection_reason in BY_REVIEWERS
    return isinstance(one, PublishedQuestion)


def _costs(space: Workspace, combination: Combination) -> Costs:
    try:
        with catalog_file(space.store) as file:
            return attempt_costs(file, combination.key)
    except StoreError:  # there is no catalog yet
        return {}


def _questions(space: Workspace, combination: Combination) -> dict[str, Question]:
    published = space.store.read(CorpusGenerationResult.key(combination), CorpusGenerationResult)
    found: dict[str, Question] = {
        one.id: one for one in (*published.questions, *_waiting(space, combination))
    }
    for one in _lines(space, combination, REJECTED_FILE, RejectedLine):
        found.setdefault(question_id(combination, one.document_id, one.question, one.answer), one)
    for one in _lines(space, combination, RETIRED_FILE, RetiredQuestion):
        found.setdefault(one.id, one)
    return found


def _waiting(space: Workspace, combination: Combination) -> tuple[PublishedQuestion, ...]:
    """The validated questions, if the scenario publishes only reviewed ones: some of them wait for a decision."""
    if space.corpus(combination.corpus).scenario(combination.scenario).publish is Publish.ALL:
        return ()
    validated = space.store.find_valid(ValidatedSet.key(combination), ValidatedSet)
    return () if validated is None else PublishedRows(space, combination, validated).questions()


def _lines(space: Workspace, combination: Combination, file: str, kind: type[LineT]) -> Iterator[LineT]:
    key = CorpusGenerationResult.file_key(combination, file)
    for number, line in enumerate((space.store.get(key) or b"").splitlines(), 1):
        try:
            yield kind.model_validate_json(line)
        except ValidationError as error:
            raise StoreError(f"line {number} of {space.store.path(key)} is not valid") from error
