"""Chooses the questions that one request asks together, so that the document is shown once for all of them."""

from __future__ import annotations

from qagen_dagster.agents.questions.batch import questioner
from qagen_dagster.english.facts import (
    facts,
    missing_amounts,
    missing_dates,
    missing_names,
)
from qagen_dagster.english.words import content_stems
from qagen_dagster.loop.questions.batch.events import Draft
from qagen_dagster.loop.questions.batch.state import BatchState
from qagen_dagster.records.corpus import QuestionType
from qagen_dagster.records.questions.results import Candidate, RejectionReason

MOST = 12  # questions of one request


def waiting(state: BatchState) -> list[Draft]:
    """The questions whose work has not begun."""
    return [one for one in state.drafts if one.number not in state.taken]


def for_answerer(state: BatchState, missing: dict[QuestionType, int]) -> tuple[Draft, ...]:
    """The next waiting questions without an answer that saw the same parts of the document.

    Of each type they are as many as are missing, and a few in reserve.
    """
    left = _with_reserve(missing)
    found: list[Draft] = []
    for one in waiting(state):
        if one.number in state.prepared or not left.get(one.question_type, 0) or len(found) == MOST:
            continue
        if not found or one.parts == found[0].parts:
            left[one.question_type] -= 1
            found.append(one)
    return tuple(found)


def for_validator(
    state: BatchState, candidate: Candidate, missing: dict[QuestionType, int]
) -> tuple[str, ...]:
    """The question of the candidate, and waiting questions with an answer, as many as `for_answerer` would take.

    Beside a question that is checked again stand the others of this kind. No question of them names the answer of another one.
    """
    found = [candidate]
    if state.qa.recheck:
        for again in state.qa.recheck[1:]:
            _join(found, again.candidate, state)
        return tuple(one.question for one in found)
    left = {kind.value: count for kind, count in _with_reserve(missing).items()}
    left[candidate.question_type] = left.get(candidate.question_type, 0) - 1
    for draft in waiting(state):
        one = state.prepared.get(draft.number)
        if one is None or one.gate is RejectionReason.UNANSWERABLE or left.get(one.question_type, 0) <= 0:
            continue
        left[one.question_type] -= _join(found, one, state)
    return tuple(one.question for one in found)


def _join(found: list[Candidate], one: Candidate, state: BatchState) -> bool:
    """Add a candidate whose question can be asked with the others."""
    known = one.question in state.blind or any(_share_chain(one, other) for other in found)
    if not known and len(found) < MOST:
        found.append(one)
        return True
    return False


def _with_reserve(missing: dict[QuestionType, int]) -> dict[QuestionType, int]:
    return {kind: count + questioner.reserve(count) for kind, count in missing.items()}


def _share_chain(one: Candidate, other: Candidate) -> bool:
    """Whether the question of either names the answer of the other."""
    return _names_answer(one.question, other) or _names_answer(other.question, one)


def _names_answer(question: str, asked: Candidate) -> bool:
    """Whether `question` has half of the names, numbers and dates, or more than half of the words, that the answer adds to the
    question asked. One name of a long list tells little.
    """
    added = set(content_stems(asked.answer)) - set(content_stems(asked.question))
    told = added & set(content_stems(question))
    new = _new_facts(asked.answer, asked.question)
    left = new & _new_facts(asked.answer, question)
    return 2 * len(told) > len(added) or (bool(new) and 2 * len(left) <= len(new))


def _new_facts(answer: str, question: str) -> set[str]:
    """The names, numbers and dates of an answer, as written, that the question lacks."""
    said, asked = facts(answer), facts(question)
    return {
        *missing_names(said, asked),
        *(one.text for one in (*missing_amounts(said, asked), *missing_dates(said, asked))),
    }
