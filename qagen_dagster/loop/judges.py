"""Compares the findings of models about questions with the decisions of reviewers."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from pydantic import ValidationError

from qagen_dagster.configuration.profiles import Role
from qagen_dagster.errors import StoreError
from qagen_dagster.loop.statistics import kappa_and_interval
from qagen_dagster.publishing.questions.set_files import REJECTED_FILE
from qagen_dagster.records.base import Record
from qagen_dagster.records.grading import Decider, DocumentGrades, GroundingReport
from qagen_dagster.records.ids import Combination, question_id
from qagen_dagster.records.questions.published import (
    CorpusGenerationResult,
    PublishedQuestion,
    RejectedLine,
    RejectedQuestion,
)
from qagen_dagster.records.questions.results import CandidateDocument, CandidateSet
from qagen_dagster.records.review import Agreement
from qagen_dagster.store import Store

Judged = PublishedQuestion | RejectedQuestion
LineT = TypeVar("LineT", bound=Record)


def stored_lines(store: Store, combination: Combination, file: str, kind: type[LineT]) -> Iterator[LineT]:
    """The records in a file of JSON lines of the published set. Raises StoreError for a line that is not valid."""
    key = CorpusGenerationResult.file_key(combination, file)
    for number, line in enumerate((store.get(key) or b"").splitlines(), 1):
        try:
            yield kind.model_validate_json(line)
        except ValidationError as error:
            raise StoreError(f"line {number} of {store.path(key)} is not valid") from error


def judged_questions(
    store: Store, combination: Combination, given: Iterable[Judged] | None = None
) -> dict[str, Judged]:
    """Questions by id: those in `given`, or else the published and the rejected questions of a set. Raises StoreError."""
    if given is None:
        given = (
            *stored_lines(store, combination, REJECTED_FILE, RejectedLine),
            *store.rows(CorpusGenerationResult.key(combination), CorpusGenerationResult, PublishedQuestion),
        )
    made = ((question_id(combination, one.document_id, one.question, one.answer), one) for one in given)
    return {one.id if isinstance(one, PublishedQuestion) else key: one for key, one in made}


def agreement(first: str, second: str, pairs: Sequence[tuple[str, str]]) -> Agreement:
    """The agreement of two people in their decisions on the same questions."""
    same, (value, *ends) = sum(one == other for one, other in pairs), kappa_and_interval(pairs) or (None,)
    interval = (ends[0], ends[1]) if ends else None
    return Agreement(first=first, second=second, both=len(pairs), same=same, kappa=value, interval=interval)


def judge_agreements(
    store: Store, combination: Combination, accepted: Mapping[str, bool], judged: Iterable[Judged] | None
) -> Iterator[Agreement]:
    """The agreement of each model and criterion with people. `accepted` states for each question id whether the reviewers accepted the question."""
    questions = judged_questions(store, combination, judged)
    made = store.find_head(CandidateSet.key(combination), CandidateSet, CandidateDocument)
    report = store.find_head(GroundingReport.key(combination), GroundingReport, DocumentGrades)
    validator = "" if made is None else made.models.get(Role.VALIDATOR.value, "")
    grader = "" if report is None else report.judge_model
    pairs: defaultdict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for key in accepted.keys() & questions.keys():
        for model, criterion, found in _findings(questions[key], validator, grader):
            pairs[criterion, model].append((str(found), str(accepted[key])))
    for (criterion, model), both in sorted(pairs.items()):
        good, alone = both.count(("True", "True")), both.count(("True", "False"))
        found = {"criterion": criterion, "good": good, "only_first": alone}
        yield agreement(model, "reviewers", both).model_copy(update=found)


def _findings(one: Judged, validator: str, grader: str) -> Iterator[tuple[str, str, bool]]:
    """The model, the criterion and the finding for each finding on a question."""
    if isinstance(one, PublishedQuestion):
        validator, grade = one.generation_metadata.validator_model, one.grade
        if grade is not None and grade.is_grounded is not None:
            yield grader if grade.decided_by is Decider.JUDGE else "code", "grounded", grade.is_grounded
    if one.verdict is not None:
        criteria = {name: value for name, value in one.verdict if isinstance(value, bool)}
        yield validator, "all", all(criteria.values())
        yield from ((validator, name, value) for name, value in criteria.items())
