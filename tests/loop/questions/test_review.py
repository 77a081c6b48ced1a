"""Decisions of reviewers on accepted questions: what they remove, and edits that are checked anew."""

from __future__ import annotations

from typing import Any

import pytest

from qagen_dagster.errors import BudgetExhaustedError
from qagen_dagster.loop.questions.plan import RunOptions
from qagen_dagster.loop.questions.publication.publish import publish, why_outdated
from qagen_dagster.loop.questions.validated_set import validate_set
from qagen_dagster.loop.review_decisions import append, rejected_by_reviewers
from qagen_dagster.records.decisions import Decision
from qagen_dagster.records.ids import question_id
from qagen_dagster.records.questions.published import CorpusGenerationResult
from qagen_dagster.records.questions.results import QAPair, ValidatedSet
from tests.loop.conftest import COMBINATION, CORPUS, PlayedWorkspace, put_documents, texts
from tests.loop.questions.publication.test_publish import apart, finish, make, published
from tests.support.play import Outcome, Play

NEW = "Which words are in the third line of the manual?"


@pytest.fixture
def made(workspace: PlayedWorkspace) -> PlayedWorkspace:
    """A workspace with one document, two questions and a published set."""
    put_documents(workspace, texts(1))
    make(workspace)
    finish(workspace)
    return workspace


def validated(space: PlayedWorkspace) -> ValidatedSet:
    return space.store.read(ValidatedSet.key(COMBINATION), ValidatedSet)


def decide(space: PlayedWorkspace, pair: QAPair, action: str, reviewer: str = "ida", **more: Any) -> Decision:
    given = {"set_key": COMBINATION.key, "question_id": pair.id, "document_id": pair.document_id}
    given |= {"question": pair.question, "answer": pair.answer, "reviewer": reviewer, "action": action}
    decision = Decision.model_validate(given | more)
    append(space, decision)
    return decision


def edit(space: PlayedWorkspace, pair: QAPair, question: str = NEW, answer: str | None = None) -> Decision:
    return decide(space, pair, "edit", new_question=question, new_answer=answer or pair.answer)


def again(space: PlayedWorkspace, *piece: Outcome) -> ValidatedSet:
    """Validate and publish once more, with a validator that plays `piece`."""
    space.plays.append(Play(list(piece)))
    found = validate_set(space, COMBINATION, apart)
    publish(space, COMBINATION, "run-2")
    return found


def rows(found: ValidatedSet) -> list[tuple[str, str, str]]:
    return [(one.question, one.rejection_reason.value, one.rejection_detail) for one in found.removed]


def test_a_rejected_question_leaves_the_next_version(made: PlayedWorkspace) -> None:
    first, second = validated(made).questions
    decide(made, first, "reject", reason="trivial")
    found = again(made)
    assert found.questions == (second,)
    assert rows(found) == [(first.question, "rejected_by_reviewer", "ida: trivial")]
    assert [one["id"] for one in published(made)["questions"]] == [second.id]
    key = CorpusGenerationResult.file_key(COMBINATION, "rejected.jsonl")
    assert b"rejected_by_reviewer" in made.store.read_bytes(key)
    assert made.plays[-1].log == []


def test_a_rejection_that_is_taken_back_brings_the_question_back(made: PlayedWorkspace) -> None:
    before = validated(made)
    taken = decide(made, before.questions[0], "reject", reason="trivial")
    again(made)
    decide(made, before.questions[0], "undo", undoes=taken.id)
    assert again(made).questions == before.questions


def test_an_edited_question_replaces_the_original_after_its_checks(made: PlayedWorkspace) -> None:
    first, second = validated(made).questions
    edit(made, first)
    found = again(made, Outcome.ACCEPTED)
    new = found.questions[0]
    assert (new.question, new.answer, new.evidence) == (NEW, first.answer, first.evidence)
    assert new.id == question_id(COMBINATION, first.document_id, NEW, first.answer)
    assert found.questions[1] == second
    assert rows(found) == [(first.question, "edited_by_reviewer", f"ida: replaced by: {NEW}")]
    assert {role for role, _ in made.plays[-1].log} == {"validator"}
    row = next(one for one in published(made)["questions"] if one["id"] == new.id)
    assert row["verdict"]["blind_answer"] == "my answer"


def test_an_edit_that_fails_says_why_and_is_not_published(made: PlayedWorkspace) -> None:
    first, second = validated(made).questions
    edit(made, first)
    found = again(made, Outcome.WRONG)
    assert found.questions == (second,)
    assert [reason for _, reason, _ in rows(found)] == ["edited_by_reviewer", "wrong_answer"]


def test_an_edited_answer_that_the_quotes_do_not_support_asks_no_model(made: PlayedWorkspace) -> None:
    first = validated(made).questions[0]
    edit(made, first, answer="seventy elephants")
    found = again(made)
    assert [reason for _, reason, _ in rows(found)] == ["edited_by_reviewer", "answer_not_supported"]
    assert made.plays[-1].log == []


def test_an_edit_that_asks_the_same_as_another_question_is_a_duplicate(made: PlayedWorkspace) -> None:
    first, second = validated(made).questions
    edit(made, second, first.question)
    found = again(made, Outcome.ACCEPTED, Outcome.ACCEPTED, Outcome.ACCEPTED)
    assert found.questions == (first,)
    assert [reason for _, reason, _ in rows(found)] == ["edited_by_reviewer", "duplicate"]


def test_the_validator_is_asked_once_about_an_edit(made: PlayedWorkspace) -> None:
    edit(made, validated(made).questions[0])
    found = again(made, Outcome.ACCEPTED)
    assert again(made).questions == found.questions
    assert made.plays[-1].log == []


def test_an_edited_question_stays_when_its_document_is_renamed_or_changes_elsewhere(
    made: PlayedWorkspace,
) -> None:
    edit(made, validated(made).questions[0])
    before = {one.id for one in again(made, Outcome.ACCEPTED).questions}
    (text,) = texts(1).values()
    for run, text_now in (("run-2", text), ("run-3", f"{text}\nThe cable was painted green.")):
        put_documents(made, {"renamed.txt": text_now})
        make(made, run)
        assert {one.id for one in validated(made).questions} == before
        assert made.plays[-1].log == []


def test_an_edit_that_the_budget_does_not_reach_waits_for_the_next_run(made: PlayedWorkspace) -> None:
    def stop(_role: str, _request: object) -> None:
        raise BudgetExhaustedError("1 call")

    first = validated(made).questions[0]
    edit(made, first)
    made.plays.append(Play([Outcome.ACCEPTED], stop))
    found = validate_set(made, COMBINATION, apart)
    assert (found.undecided, rows(found)[-1][1]) == (1, "validation_failed")
    assert again(made, Outcome.ACCEPTED).questions[0].question == NEW


def test_the_last_of_several_edits_counts_and_an_edited_question_can_be_rejected(
    made: PlayedWorkspace,
) -> None:
    first, second = validated(made).questions
    edit(made, first)
    new = again(made, Outcome.ACCEPTED).questions[0]
    edit(made, new, "Which words does line three begin with?")
    found = again(made, Outcome.ACCEPTED)
    assert [one.question for one in found.questions] == [
        "Which words does line three begin with?",
        second.question,
    ]
    decide(made, found.questions[0], "reject", reason="odd")
    assert again(made).questions == (second,)


def test_reviewers_who_disagree_change_nothing(made: PlayedWorkspace) -> None:
    before = validated(made)
    decide(made, before.questions[0], "reject", reason="trivial")
    decide(made, before.questions[0], "accept", "bo")
    assert again(made).questions == before.questions


def test_only_reviewed_questions_are_published_if_the_scenario_says_so(made: PlayedWorkspace) -> None:
    first, second = validated(made).questions
    file = made.settings.corpora / "probes" / "corpus.yaml"
    file.write_text(CORPUS.replace("target_count: 2", "target_count: 2\n    publish: reviewed"))
    assert why_outdated(made, COMBINATION, RunOptions()) == ("the published set is not that of its last run",)
    decide(made, second, "accept")
    again(made)
    assert [one["id"] for one in published(made)["questions"]] == [second.id]
    edit(made, first)
    again(made, Outcome.ACCEPTED)
    assert {one["question"] for one in published(made)["questions"]} == {NEW, second.question}


def test_decisions_make_the_set_out_of_date_until_they_are_applied(made: PlayedWorkspace) -> None:
    first, second = validated(made).questions
    assert why_outdated(made, COMBINATION, RunOptions()) == ()
    decide(made, first, "reject", reason="trivial")
    assert why_outdated(made, COMBINATION, RunOptions()) == ("1 new decision of reviewers",)
    decide(made, second, "accept")
    assert why_outdated(made, COMBINATION, RunOptions()) == ("2 new decisions of reviewers",)
    again(made)
    assert why_outdated(made, COMBINATION, RunOptions()) == ()


def test_the_generator_is_told_what_reviewers_rejected(made: PlayedWorkspace) -> None:
    first = validated(made).questions[0]
    decide(made, first, "reject", reason="asks for a place in the text")
    assert [one.question for one in rejected_by_reviewers(made, COMBINATION)] == [first.question]
    put_documents(made, texts(2))
    make(made, "run-2")
    generated = [key for role, key in made.plays[-1].log if role == "generator"]
    assert generated
    assert all("rejected_by_reviewer: asks for a place in the text" in key for key in generated)


def test_decisions_apply_to_the_set_of_another_model(made: PlayedWorkspace) -> None:
    (first, second), before = validated(made).questions, validated(made).fingerprint
    decide(made, first, "reject", reason="trivial")
    edit(made, second)
    make(made, "run-2", RunOptions(profile="other"))
    found = validated(made)
    assert [one.question for one in found.questions] == [NEW]
    assert found.fingerprint != before


def test_the_card_says_how_the_set_was_reviewed(made: PlayedWorkspace) -> None:
    key = CorpusGenerationResult.file_key(COMBINATION, "README.md")
    assert b"## Review" not in made.store.read_bytes(key)
    first, second = validated(made).questions
    decide(made, first, "reject", reason="trivial")
    decide(made, second, "accept")
    decide(made, second, "accept", "bo")
    again(made)
    card = made.store.read_bytes(key).decode()
    assert "| questions: rejected | 1 |" in card
    assert "Of a random sample of 2 generated questions, reviewers accepted 1 as they were." in card
    assert "Cohen's kappa of bo and ida | not defined (1 judged by both)" in card
