from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from qagen_dagster.errors import ConfigError, TransientModelError
from qagen_dagster.loop.evaluation.score import given_output, read_output, score_systems
from qagen_dagster.loop.grading.grade_answers import CommandJudge
from qagen_dagster.loop.questions.publication.published_set import PublishedSet
from qagen_dagster.loop.shared_budget import BudgetMeter
from qagen_dagster.models.budget import Allowance, Budget
from qagen_dagster.records.evaluation import Passage, ScoreReport, SystemScores
from tests.support.models import FakeModel, call, told
from tests.support.scored import ASKED, published_set

KNOWN = ("q-1", "q-2")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("no JSON", "not JSON"),
        ("[]", "not an object"),
        ('{"answer": "12 m"}', "`id`: Field required"),
        ('{"id": "q-9", "answer": "12 m"}', "no published question has the id 'q-9'"),
        ('{"id": "q-1", "answer": 12}', "`answer`: Input should be a valid string"),
        ('{"id": "q-1", "passages": [{"start_line": 3}]}', "`passages.0.document_id`: Field required"),
        ('{"id": "q-1", "passages": "a.txt"}', "`passages`: Input should be a valid tuple"),
        (
            '{"id": "q-1", "answer": "a", "answer": "b"}',
            "it has a field twice (its fields: id, answer, answer)",
        ),
        (
            '{"id": "q-1", "passages": [{"document_id": "a", "start_line": -3}]}',
            "`passages.0.start_line`: Input",
        ),
        ('{"id": "q-1"}', "it has neither `answer` nor `passages`"),
    ],
    ids=[
        "no JSON",
        "list",
        "no id",
        "unknown id",
        "number",
        "no document",
        "one passage",
        "twice",
        "line",
        "empty",
    ],
)
def test_a_row_that_cannot_be_used_is_named_by_its_line(tmp_path: Path, line: str, why: str) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(f'{{"id": "q-2", "answer": "x"}}\n\n{line}\n')
    found = read_output(path, KNOWN)
    assert (found.name, list(found.answers)) == ("mine", ["q-2"])
    (fault,) = found.faults
    assert fault.startswith(f"{path}:3: {why}"), fault


def test_rows_may_have_fields_of_their_own_and_passages_of_two_forms() -> None:
    passages = ["a.txt", {"document_id": "b.txt", "start_line": 2, "end_line": 4, "score": 0.7}]
    found = given_output("rows", [{"id": "q-1", "passages": passages, "seconds": 3}], KNOWN)
    assert found.faults == ()
    assert found.answers["q-1"].passages == (
        Passage(document_id="a.txt"),
        Passage(document_id="b.txt", start_line=2, end_line=4),
    )


def test_the_first_row_of_a_question_counts() -> None:
    found = given_output("rows", [{"id": "q-1", "answer": text} for text in "ab"], KNOWN)
    assert found.answers["q-1"].answer == "a"
    assert found.faults == ("rows:2: a row above has the id 'q-1', too",)


def test_a_file_that_is_not_there_is_an_error_of_usage(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_output(tmp_path / "none.jsonl", KNOWN)


@pytest.mark.parametrize("text", ['[\n{"id": "q-1"}\n]', '\ufeff[{"id": "q-1"}]', "\ufeff{}"])
def test_a_file_of_another_form_is_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mine.json"
    path.write_bytes(text.encode("utf-16-le" if text.endswith("{}") else "utf-8"))
    with pytest.raises(ConfigError, match=r"mine\.json: it is UTF-16 or a JSON array, not UTF-8 with an obj"):
        read_output(path, KNOWN)


RIGHT = call("submit_mark", right=True, explanation="the same fact")
ANSWERS = {"q-1": "90 days", "q-2": "30 m", "q-3": "unknown", "q-4": "the water conducts less"}


def given(answers: dict[str, str]) -> list[dict[str, Any]]:
    return [{"id": name, "answer": answer} for name, answer in answers.items()]


def scored(root: Path, *systems: list[dict[str, Any]], judge: CommandJudge | None = None) -> ScoreReport:
    outputs = [given_output(f"system {at}", rows, ASKED) for at, rows in enumerate(systems)]
    return score_systems([published_set(root)], outputs, judge or CommandJudge())


def rights(system: SystemScores) -> list[bool | None]:
    return [one.right for one in system.answers]


def test_code_decides_what_it_can_and_the_rest_stays_undecided(tmp_path: Path) -> None:
    report = scored(tmp_path, given(ANSWERS))
    (system,) = report.systems
    assert rights(system) == [True, False, False, None]
    assert system.overall.counts == {"right": 1, "wrong": 1, "unanswered": 1, "undecided": 1}
    correct = system.overall.measures["correct"]
    assert (correct.value, correct.questions) == (0.3333, 3)
    assert (correct.lower, correct.upper, correct.not_measured) == (0.25, 0.5, 1)
    assert system.answers[3].failure == "code cannot decide, and the profile has no judge"
    assert {name: one.counts["undecided"] for name, one in system.groups["type"].items()} == {
        "factual": 0,
        "multi_hop": 1,
    }
    assert {by: list(groups) for by, groups in system.groups.items()} == {
        "type": ["factual", "multi_hop"],
        "mode": ["textual"],
        "hops": ["1", "2"],
        "document": ["a.txt", "b.txt"],
    }
    assert (report.judge_model, report.sets[0].questions) == ("", 4)


def test_the_judge_decides_only_what_code_cannot(tmp_path: Path) -> None:
    judge = FakeModel(lambda _: RIGHT, "assessor")
    report = scored(tmp_path, given(ANSWERS), judge=CommandJudge(judge, 2))
    (system,) = report.systems
    assert rights(system) == [True, False, False, True]
    assert report.judge_model == "scripted:assessor"
    (request,) = judge.requests
    assert "the water conducts less" in told(request)
    (paid,) = system.answers[3].calls
    assert (paid.role, paid.document_id, paid.attempt) == ("judge", "b.txt", 2)


def test_a_budget_leaves_the_rest_undecided(tmp_path: Path) -> None:
    judge = FakeModel(lambda _: RIGHT, "assessor").metered(
        BudgetMeter(Budget(document=Allowance(max_calls=1)), subject="command")
    )
    own_words = dict.fromkeys(["q-3", "q-4"], "less of it passes through the water")
    (system,) = scored(tmp_path, given(own_words), judge=CommandJudge(judge)).systems
    assert rights(system) == [False, False, True, None]
    assert "max_calls 1 (made 1) is used up" in system.answers[3].failure


def test_a_judge_that_fails_leaves_answers_undecided(tmp_path: Path) -> None:
    judge = CommandJudge(FakeModel(lambda _: TransientModelError("overloaded")))
    (system,) = scored(tmp_path, given(ANSWERS), judge=judge).systems
    assert rights(system)[3] is None
    assert system.answers[3].failure == "the judge gave no verdict: overloaded"


def test_questions_without_a_row_are_unanswered_and_not_found(tmp_path: Path) -> None:
    row = {"id": "q-1", "answer": "every 90 days", "passages": ["a.txt"]}
    (system,) = scored(tmp_path, [row]).systems
    assert system.overall.counts == {"right": 1, "wrong": 0, "unanswered": 3, "undecided": 0}
    assert system.overall.measures["document_recall_at_1"].value == 0.25


def test_what_no_row_gives_is_not_measured(tmp_path: Path) -> None:
    (answers,) = scored(tmp_path, given(ANSWERS)).systems
    (passages,) = scored(tmp_path, [{"id": "q-1", "passages": ["a.txt"]}]).systems
    assert list(answers.overall.measures) == ["correct", "key_facts"]
    assert passages.overall.counts == {}
    assert {name.partition("_")[0] for name in passages.overall.measures} == {"document"}
    assert rights(passages) == [None] * 4
    assert [one.failure for one in passages.answers] == [""] * 4


def lines(document: str, start: int, end: int) -> dict[str, Any]:
    return {"document_id": document, "start_line": start, "end_line": end}


@pytest.mark.parametrize(
    ("passages", "document", "evidence"),
    [
        ([lines("b.txt", 1, 5), lines("b.txt", 9, 10)], 1, (1, 2)),
        ([lines("b.txt", 9, 9), lines("a.txt", 3, 3), "b.txt"], 1, (3, 3)),
        ([lines("a.txt", 1, 99), lines("a.txt", 1, 9), lines("b.txt", 12, 40)], 2, (None, None)),
        ([lines("b.txt", 3, 3)], 1, (1, None)),
        ([lines("a.txt", 3, 12)], None, (None, None)),
        ([], None, (None, None)),
    ],
    ids=["both", "half of the lines", "documents count once", "one quote", "another document", "nothing"],
)
def test_ranks_are_of_the_first_document_and_the_first_passage_with_a_quote(
    tmp_path: Path, passages: list[Any], document: int | None, evidence: tuple[int | None, ...]
) -> None:
    rows = [{"id": "q-1", "passages": [lines("a.txt", 4, 4)]}, {"id": "q-3", "passages": passages}]
    (system,) = scored(tmp_path, rows).systems
    third = system.answers[2]
    assert (third.document_rank, third.evidence_ranks) == (document, evidence)


def test_two_systems_are_compared_on_the_questions_decided_for_both(tmp_path: Path) -> None:
    other = {"q-1": "1 day", "q-2": "12 metres", "q-3": "Ida Holm", "q-4": "no idea of mine"}
    (comparison,) = scored(tmp_path, given(ANSWERS), given(other)).comparisons
    assert (comparison.measure, comparison.both, comparison.neither) == ("correct", 0, 0)
    assert (comparison.only_first, comparison.only_second) == (("q-1",), ("q-2", "q-3"))
    assert (comparison.p_value, comparison.left_out, comparison.documents) == (1.0, 1, 2)


def _many(documents: int, each: int) -> PublishedSet:
    """A set of `documents` documents with `each` questions each."""
    (first, *_) = published_set(Path("unused")).questions
    questions = tuple(
        first.model_copy(update={"id": f"q-{document}-{place}", "document_id": f"{document}.txt"})
        for document in range(documents)
        for place in range(each)
    )
    return replace(published_set(Path("unused")), questions=questions)


def _answers(asked: PublishedSet, wrong: Callable[[int], bool]) -> list[dict[str, Any]]:
    """Answers that are wrong for whole documents."""
    return [
        {"id": one.id, "answer": "1 day" if wrong(int(one.document_id.removesuffix(".txt"))) else "90 days"}
        for one in asked.questions
    ]


def test_intervals_and_tests_count_documents_not_questions() -> None:
    asked = _many(12, 5)
    known = [one.id for one in asked]
    rows = [_answers(asked, lambda number: number % 3 == 0), _answers(asked, lambda number: number % 3 == 1)]
    outputs = [given_output(f"system {at}", one, known) for at, one in enumerate(rows)]
    report = score_systems([asked], outputs, CommandJudge(), 0.1)
    correct = report.systems[0].overall.measures["correct"]
    assert (correct.questions, correct.documents, correct.design_effect) == (
        60,
        12,
        pytest.approx(5.45, abs=0.01),
    )
    assert (correct.low, correct.high) == pytest.approx((0.36, 0.88), abs=0.02)  # 12 documents, 8 right
    (comparison,) = report.comparisons
    assert (len(comparison.only_first), comparison.documents, comparison.p_value) == (20, 12, 1.0)
    assert comparison.corrected_p_value == 1.0
    (plan,) = report.plans
    assert (plan.measure, plan.design_effect) == ("correct", pytest.approx(5.45, abs=0.01))
    assert plan.documents == pytest.approx(plan.questions / 5, abs=1)
    assert plan.questions == pytest.approx(7.85 * (8 / 12) * 5.45 / 0.1**2, rel=0.01)


def test_a_plan_needs_a_question_that_is_decided_for_both_systems() -> None:
    asked = _many(2, 1)
    known = [one.id for one in asked]
    undecided = "no idea of mine"
    rows = [_answers(asked, lambda _: False), _answers(asked, lambda _: False)]
    rows[0][0]["answer"] = rows[1][1]["answer"] = undecided
    outputs = [given_output(f"system {at}", one, known) for at, one in enumerate(rows)]
    report = score_systems([asked], outputs, CommandJudge(), 0.1)
    assert [one.overall.measures["correct"].questions for one in report.systems] == [1, 1]
    assert report.plans == ()


def test_both_comparisons_of_two_systems_are_corrected_by_holm() -> None:
    asked = _many(8, 1)
    known = [one.id for one in asked]
    rows = [_answers(asked, lambda _: False), _answers(asked, lambda number: number < 6)]
    for row in rows[0]:
        row["passages"] = [f"{row['id'].split('-')[1]}.txt"]
    for row in rows[1]:
        row["passages"] = ["other.txt"]
    outputs = [given_output(f"system {at}", one, known) for at, one in enumerate(rows)]
    correct, found = score_systems([asked], outputs, CommandJudge()).comparisons
    assert (correct.p_value, correct.corrected_p_value) == pytest.approx((0.03125, 0.03125))
    assert (found.p_value, found.corrected_p_value) == pytest.approx((0.0078125, 0.015625))


@pytest.mark.parametrize("answer", ["because of rain", "42", "in 1879"])
def test_an_answer_of_the_wrong_type_is_wrong_and_no_judge_is_asked(tmp_path: Path, answer: str) -> None:
    judge = FakeModel(lambda _: RIGHT, "assessor")
    name = "q-2" if answer == "because of rain" else "q-3"
    published = published_set(tmp_path)
    asked = {"q-2": "How many metres is it long?", "q-3": "Who repaired it?"}
    questions = [
        one.model_copy(update={"question": asked.get(one.id, one.question)}) for one in published.questions
    ]
    sets = [replace(published, questions=tuple(questions))]
    output = given_output("mine", given({name: answer}), ASKED)
    (system,) = score_systems(sets, [output], CommandJudge(judge)).systems
    assert (system.overall.counts["wrong"], system.overall.counts["undecided"]) == (1, 0)
    assert judge.requests == []


def test_an_answer_gets_credit_for_each_key_fact_also_without_a_judge(tmp_path: Path) -> None:
    given_ = {"q-1": "every 90 days", "q-2": "12.0 m long", "q-3": "Nils Berg", "q-4": "some rain"}
    rows = [{"id": name, "answer": answer} for name, answer in given_.items()]
    (found,) = scored(tmp_path, rows).systems
    shares = {one.question_id: one.key_facts for one in found.answers}
    assert shares == {"q-1": 1.0, "q-2": 1.0, "q-3": 0.0, "q-4": 0.0}
    measure = found.overall.measures["key_facts"]
    assert (measure.value, measure.not_measured) == (0.5, 0)
