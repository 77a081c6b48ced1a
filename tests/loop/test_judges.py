from __future__ import annotations

from typing import Any

import duckdb
import pytest

from qagen_dagster.loop.catalog import catalog_file, rebuild_catalog
from qagen_dagster.loop.judges import Judged, judge_agreements, judged_questions, proposals
from qagen_dagster.loop.review_decisions import accepted_by_all, append, decisions_of, facts_of, state_of
from qagen_dagster.records.corpus_options import BatchOptions, ScenarioConfig, Strategy
from qagen_dagster.records.ids import question_id
from qagen_dagster.records.questions.published import (
    PublishedGrade,
    PublishedQuestion,
    PublishedVerdict,
    RejectedQuestion,
)
from qagen_dagster.records.questions.results import Evidence, GenerationMetadata, RejectionReason
from tests.loop.conftest import COMBINATION, PlayedWorkspace
from tests.loop.questions.publication.test_publish import finish, make
from tests.loop.test_review_decisions import decision


def verdict(**found: bool | None) -> PublishedVerdict:
    usual: dict[str, Any] = {
        "answerable": True,
        "matches": True,
        "non_trivial": None,
        "unambiguous": True,
        "relevant": True,
    }
    return PublishedVerdict(blind_answer="", explanation="", **usual | found)


def published(
    number: int, question: str = "How long is it?", quote: str = "12 m", **more: Any
) -> PublishedQuestion:
    made = GenerationMetadata(generator_model="p:writer", validator_model="p:reader", attempt_number=1)
    given: dict[str, Any] = {
        "verdict": verdict(),
        "evidence": (Evidence(quote=quote, start_line=1, end_line=1),),
    }
    fixed: dict[str, Any] = {
        "source_document": "a.txt",
        "document_id": "a.txt",
        "category": "textual",
        "content_refs": (),
    }
    return PublishedQuestion(
        id=f"q-{number}", question=question, answer="12 m", generation_metadata=made, **fixed, **given | more
    )


def rejected(number: int, **more: Any) -> RejectedQuestion:
    given: dict[str, Any] = {
        "verdict": verdict(answerable=False, matches=None),
        "rejection_reason": RejectionReason.UNANSWERABLE,
    }
    return RejectedQuestion(
        question=f"How long is {number}?", answer="?", rejection_detail="", document_id="a.txt", source_document="a.txt",
        row=None, **given | more,
    )  # fmt: skip


def test_each_criterion_is_compared_with_what_all_reviewers_say(workspace: PlayedWorkspace) -> None:
    grade = PublishedGrade(grade="F", confidence=0.1, is_grounded=False, decided_by="code")
    given: list[Judged] = [*map(published, range(3)), published(3, grade=grade), rejected(4), rejected(5)]
    lost = [question_id(COMBINATION, "a.txt", one.question, one.answer) for one in given[4:]]
    accepted = {
        "q-0": True,
        "q-1": True,
        "q-2": False,
        "q-3": False,
        lost[0]: False,
        lost[1]: True,
        "q-9": True,
    }
    found = {
        (one.criterion, one.first): one
        for one in judge_agreements(workspace.store, COMBINATION, accepted, given)
    }
    whole = found["all", "p:reader"]
    assert (whole.both, whole.same, whole.good, whole.only_first) == (4, 2, 2, 2)
    assert whole.kappa == 0
    assert (
        found["answerable", ""].same == 1
    )  # the model of rejected candidates is not known without a candidate set
    assert ("non_trivial", "p:reader") not in found
    grounded = found["grounded", "code"]
    assert (grounded.both, grounded.same, grounded.kappa, grounded.interval) == (1, 1, None, None)


def test_reviewers_who_do_not_agree_say_nothing_about_a_model() -> None:
    more: dict[str, Any] = {"reason": "trivial"}
    reviews = {
        "q-1": state_of([decision(1)]),
        "q-2": state_of([decision(1), decision(2, "bo", "reject", **more)]),
        "q-3": state_of([decision(1, action="flag")]),
        "q-4": state_of([decision(1, action="reject", **more), decision(2, "bo", "reject", **more)]),
    }
    assert accepted_by_all(reviews) == {"q-1": True, "q-4": False}
    three = state_of([decision(1), decision(2, "bo"), decision(3, "cy", "reject", **more)])
    assert facts_of(reviews.keys(), reviews).alpha is None
    assert facts_of(["q-1"], {"q-1": three}).alpha == 0


def scenario(**more: Any) -> ScenarioConfig:
    return ScenarioConfig(name="s", description="d", modes=("textual",), **more)


def test_a_threshold_that_fits_the_decisions_is_proposed_with_the_questions_that_change() -> None:
    near, far = (
        published(0, "How long is the cable?", "the cable is long"),
        published(0, "Which valve opens?", "12 m"),
    )
    questions = {f"q-{n}": (near if n < 7 else far).model_copy(update={"id": f"q-{n}"}) for n in range(14)}
    people = {f"q-{n}": n >= 7 for n in (*range(6), *range(8, 14))}
    (found,) = proposals(scenario(), questions, people)
    assert (found.key, found.present, found.judged, found.now, found.right) == (
        "max_overlap",
        None,
        12,
        6,
        12,
    )
    assert found.proposed is not None
    assert found.changed.keys() == {f"q-{n}" for n in range(7)}
    assert all(value > found.proposed for value in found.changed.values())
    fits = scenario(max_overlap=found.proposed)
    assert [(one.proposed, one.changed) for one in proposals(fits, questions, people)] == [
        (found.proposed, {})
    ]
    few = {key: accept for key, accept in people.items() if key not in ("q-0", "q-1")}
    assert list(proposals(scenario(), questions, few)) == []


@pytest.mark.parametrize(
    ("good", "bad", "key"), [(0.9, 0.75, "batch.min_answer_confidence"), (0.94, 0.97, "batch.similarity")]
)
def test_thresholds_of_the_batch_strategy(good: float, bad: float, key: str) -> None:
    def one(number: int, value: float) -> Judged:
        if key == "batch.similarity":
            return rejected(number, duplicate_score=value, rejection_reason=RejectionReason.DUPLICATE)
        grade = PublishedGrade(grade="B", confidence=value, is_grounded=True, decided_by="code")
        return published(number, grade=grade)

    questions = {f"q-{n}": one(n, good if n < 5 else bad) for n in range(10)}
    found = {
        each.key: each
        for each in proposals(
            scenario(strategy=Strategy.BATCH, batch=BatchOptions()),
            questions,
            {f"q-{n}": n < 5 for n in range(10)},
        )
    }
    assert min(good, bad) < (found[key].proposed or 0) < max(good, bad)
    assert (found[key].now, found[key].right) == (5, 10)
    assert len(found[key].changed) == 5


def test_a_published_question_keeps_its_own_id(workspace: PlayedWorkspace) -> None:
    assert list(judged_questions(workspace.store, COMBINATION, [published(7)])) == ["q-7"]


def test_the_catalog_has_the_figures_of_the_page(workspace: PlayedWorkspace) -> None:
    make(workspace)
    finish(workspace)
    questions = judged_questions(workspace.store, COMBINATION)
    actions = {"ida": "arara", "bo": "arraa", "cy": "rrara"}
    for who, said in actions.items():
        for number, (key, one) in enumerate(sorted(questions.items())):
            given = {
                "question_id": key,
                "question": one.question,
                "answer": one.answer,
                "document_id": one.document_id,
            }
            action = "accept" if said[number % 5] == "a" else "reject"
            append(
                workspace,
                decision(number, who, action, **given, reason="" if action == "accept" else "trivial"),
            )
    undone = decision(40, "ida", "undo", undoes="d00-ida", question_id=min(questions))
    append(workspace, undone)
    rebuild_catalog(workspace.store)
    stored = decisions_of(workspace, COMBINATION.key)
    reviews = {key: state_of(some) for key, some in stored.items()}
    judges = judge_agreements(workspace.store, COMBINATION, accepted_by_all(reviews), None)
    facts = facts_of(reviews.keys(), reviews, judges)
    with catalog_file(workspace.store) as file, duckdb.connect(file, read_only=True) as catalog:
        found = catalog.sql(
            "SELECT criterion, model, questions, good_for_both, good_for_model, kappa, kappa_low, kappa_high FROM judge_agreements"
        ).fetchall()
        pairs = catalog.sql(
            "SELECT first_reviewer, second_reviewer, questions, kappa, kappa_low, kappa_high, alpha FROM reviewer_agreements"
        ).fetchall()
        counted = catalog.sql("SELECT count(*) FROM decisions").fetchone()
    assert counted == (3 * len(questions) - 1,)
    people = [one for one in facts.agreements if not one.criterion]
    models = [one for one in facts.agreements if one.criterion]
    assert len(questions) >= 5
    assert {one.criterion for one in models} >= {"all", "answerable", "matches"}
    assert {row[:5]: row[5:] for row in found} == {
        (one.criterion, one.first, one.both, one.good, one.only_first): pytest.approx(
            (one.kappa, *(one.interval or (None, None)))
        )
        for one in models
    }
    assert {row[:3]: row[3:] for row in pairs} == {
        (one.first, one.second, one.both): pytest.approx(
            (one.kappa, *(one.interval or (None, None)), facts.alpha)
        )
        for one in people
    }
