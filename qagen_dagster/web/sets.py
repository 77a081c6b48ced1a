"""Reads published sets for the review page: a row per question, and the record behind each row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import TypeVar

from pydantic import ValidationError

from qagen_dagster.configuration.profiles import Role
from qagen_dagster.errors import StoreError
from qagen_dagster.loop.questions.publication.rows import PublishedRows
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.publishing.questions.jsonl import REJECTED_FILE, RETIRED_FILE
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

LineT = TypeVar("LineT", bound=Record)
Question = PublishedQuestion | RejectedQuestion | RetiredQuestion


class RejectedLine(RejectedQuestion):
    """One line of `rejected.jsonl`."""

    corpus_name: str
    scenario: str
    mode: Mode


class Row(Record):
    """One question in the list. What is not known is empty."""

    id: str
    combination: str
    document: str
    outcome: str  # accepted, rejected or retired
    question: str
    answer: str
    type: str
    reason: str
    grade: str
    model: str
    attempt: int
    line: int | None


@dataclass(frozen=True)
class ReviewSet:
    """The questions of one published set by id: accepted, then rejected, then retired ones.

    A question that was proposed again with the same answer has the same id, and is listed once.
    """

    space: Workspace
    combination: Combination
    content_id: str
    questions: dict[str, Question]
    generator: str  # model of rejected and retired questions, which do not name it

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        return tuple(self._row(key, one) for key, one in self.questions.items())

    @cached_property
    def documents(self) -> dict[str, IndexEntry]:
        return {entry.id: entry for entry in self.space.index(self.combination.corpus).documents}

    def find(self, key: str) -> Question:
        """Raises StoreError when the set has no such question."""
        found = self.questions.get(key)
        if found is None:
            raise StoreError(f"{self.combination.key} has no question {key}: load the page again")
        return found

    def _row(self, key: str, one: Question) -> Row:
        accepted = isinstance(one, PublishedQuestion)
        made = one.generation_metadata if accepted else None
        grade = one.grade.grade if accepted and one.grade is not None else None
        return Row(
            id=key,
            combination=self.combination.key,
            document=one.document_id,
            outcome=outcome_of(one),
            question=one.question,
            answer=one.answer,
            type=one.question_type or "",
            reason="" if accepted else reason_of(one),
            grade="" if grade is None else grade.value,
            model=self.generator if made is None else made.generator_model,
            attempt=attempt_of(one),
            line=next((place.start_line for place in one.evidence if place.start_line), None),
        )


def outcome_of(one: Question) -> str:
    if isinstance(one, PublishedQuestion):
        return "accepted"
    return "rejected" if isinstance(one, RejectedQuestion) else "retired"


def reason_of(one: RejectedQuestion | RetiredQuestion) -> str:
    return (one.rejection_reason if isinstance(one, RejectedQuestion) else one.reason).value


def attempt_of(one: Question) -> int:
    """The number of the attempt at its document; 0 if it is not known."""
    if isinstance(one, PublishedQuestion):
        return one.generation_metadata.attempt_number
    return one.attempt_number if isinstance(one, RejectedQuestion) else 0


class Sets:
    """The published sets of some combinations. A set that was published again is read again."""

    def __init__(self, space: Workspace, combinations: Sequence[Combination]) -> None:
        self.space = space
        self.combinations = {one.key: one for one in combinations}
        self._read: dict[str, tuple[bytes, ReviewSet]] = {}
        self._lock = Lock()

    def all(self) -> Iterator[ReviewSet]:
        """The sets that are published, in the order of the corpora."""
        for combination in self.combinations.values():
            found = self._find(combination)
            if found is not None:
                yield found

    def get(self, key: str) -> ReviewSet:
        """Raises StoreError when the combination is not one of these, or has no published set."""
        combination = self.combinations.get(key)
        found = None if combination is None else self._find(combination)
        if found is None:
            raise StoreError(f"there is no published set of {key} here")
        return found

    def _find(self, combination: Combination) -> ReviewSet | None:
        with self._lock:  # two requests at once read a large set once
            latest = self.space.store.get(LatestVersion.key(combination))
            if latest is None:
                return None
            known = self._read.get(combination.key)
            if known is None or known[0] != latest:
                known = latest, _read(self.space, combination)
                self._read[combination.key] = known
            return known[1]


def _read(space: Workspace, combination: Combination) -> ReviewSet:
    latest = space.store.read(LatestVersion.key(combination), LatestVersion)
    published = space.store.read(CorpusGenerationResult.key(combination), CorpusGenerationResult)
    made = space.store.find_valid(CandidateSet.key(combination), CandidateSet)
    found: dict[str, Question] = {
        one.id: one for one in (*published.questions, *_waiting(space, combination))
    }
    for one in _lines(space, combination, REJECTED_FILE, RejectedLine):
        found.setdefault(question_id(combination, one.document_id, one.question, one.answer), one)
    for one in _lines(space, combination, RETIRED_FILE, RetiredQuestion):
        found.setdefault(one.id, one)
    model = "" if made is None else made.models.get(Role.GENERATOR.value, "")
    return ReviewSet(space, combination, latest.content_id, found, model)


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
