"""Compares the findings of models about questions with the decisions of reviewers, and proposes thresholds that fit these decisions."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

from pydantic import ValidationError

from qagen_dagster.configuration.profiles import Role
from qagen_dagster.english.words import shared_words
from qagen_dagster.errors import StoreError
from qagen_dagster.loop.statistics import kappa_and_interval
from qagen_dagster.publishing.questions.set_files import REJECTED_FILE
from qagen_dagster.records.base import Record
from qagen_dagster.records.corpus_options import ScenarioConfig
from qagen_dagster.records.decisions import Agreement
from qagen_dagster.records.grading import Decider, DocumentGrades, GroundingReport
from qagen_dagster.records.ids import Combination, question_id
from qagen_dagster.records.questions.published import (
    CorpusGenerationResult,
    PublishedQuestion,
    RejectedLine,
    RejectedQuestion,
)
from qagen_dagster.records.questions.results import CandidateDocument, CandidateSet
from qagen_dagster.store import Store

LEAST = 5  # minimum number of accepted questions, and of other questions, for proposing a threshold
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
    """The agreement of each model and criterion with people. `accepted` states by question id whether the reviewers accepted a question."""
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


def _findings(judged: Judged, validator: str, grader: str) -> Iterator[tuple[str, str, bool]]:
    """The model, the criterion and the finding for each finding on a question."""
    if isinstance(judged, PublishedQuestion):
        validator, grade = judged.generation_metadata.validator_model, judged.grade
        if grade is not None and grade.is_grounded is not None:
            yield grader if grade.decided_by is Decider.JUDGE else "code", "grounded", grade.is_grounded
    if judged.verdict is not None:
        criteria = {name: value for name, value in judged.verdict if isinstance(value, bool)}
        yield validator, "all", all(criteria.values())
        yield from ((validator, name, value) for name, value in criteria.items())


class Proposal(Record):
    """A threshold for a key of a scenario. `judged` is the number of decisions. The present threshold agrees with `now` of them, and the
    proposed one with `right`. `changed` has the measured values, by question id, of questions that only one of the thresholds accepts.
    """

    key: str
    present: float | None
    proposed: float | None
    judged: int
    now: int
    right: int
    changed: dict[str, float]


def proposals(
    scenario: ScenarioConfig, questions: Mapping[str, Judged], accepted: Mapping[str, bool]
) -> Iterator[Proposal]:
    """A threshold for each key that has a value for at least `LEAST` accepted questions and `LEAST` other questions.

    The threshold maximises the mean of two shares: the share of accepted and the share of other questions that it treats as people did.
    """
    batch = scenario.batch
    limits = {"max_overlap": scenario.max_overlap}
    if batch is not None:
        limits |= {f"batch.{name}": getattr(batch, name) for name in ("min_answer_confidence", "similarity")}
    for key, present in limits.items():
        values = {name: value for name, one in questions.items() if (value := _measure(key, one)) is not None}
        people = [(value, accepted[name]) for name, value in values.items() if name in accepted]
        good = sum(accept for _, accept in people)
        if min(good, len(people) - good) < LEAST:
            continue
        seen = sorted({value for value, _ in people})
        right: dict[float | None, tuple[int, int]] = {}
        for each in (present, *(round((low + high) / 2, 3) for low, high in pairwise(seen))):
            same = [accept for value, accept in people if _passes(key, value, each) is accept]
            right[each] = sum(same), len(same) - sum(same)
        best = max(right, key=lambda one: right[one][0] / good + right[one][1] / (len(people) - good))
        changed = {n: v for n, v in values.items() if _passes(key, v, present) != _passes(key, v, best)}
        counts = {"judged": len(people), "now": sum(right[present]), "right": sum(right[best])}
        yield Proposal(key=key, present=present, proposed=best, changed=changed, **counts)


def _measure(key: str, judged: Judged) -> float | None:
    if key == "max_overlap":
        quotes = "\n".join(each.quote for each in judged.evidence)
        return shared_words(judged.question, quotes) if quotes else None
    if isinstance(judged, RejectedQuestion):
        return judged.duplicate_score if key == "batch.similarity" else None
    return None if judged.grade is None or key == "batch.similarity" else judged.grade.confidence


def _passes(key: str, value: float, threshold: float | None) -> bool:
    if threshold is None:
        return True
    return value >= threshold if key == "batch.min_answer_confidence" else value <= threshold
