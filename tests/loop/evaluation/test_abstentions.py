"""Scores of systems on questions of which some have no answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from qagen_dagster.grounding.no_claim import abstained
from qagen_dagster.loop.evaluation.score import given_output, score_systems
from qagen_dagster.loop.grading.grade_answers import CommandJudge
from qagen_dagster.records.evaluation import SystemScores
from qagen_dagster.records.questions.results import Evidence
from tests.support.models import FakeModel, call
from tests.support.scored import mixed_set

HAVING, LACKING = 20, 20
NO = "I don't know."


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "unknown",
        "I don't know.",
        "I do not know",
        "Insufficient information in the document.",
        "The documents do not give the length of the dam.",
        "Unfortunately, the provided context does not mention this.",
        "This is not stated in the text.",
        "The question cannot be answered from the documents.",
        "There is no information about the fee in the provided documents.",
    ],
)
def test_an_abstention_is_recognised(answer: str) -> None:
    assert abstained(answer)


@pytest.mark.parametrize(
    "answer",
    ["12 m", "No.", "None of the valves opens.", "The documents do not mention costs, but revenue was $5M.",
     "I don't know the year, but Ida Holm built it."],
)  # fmt: skip
def test_an_answer_is_no_abstention(answer: str) -> None:
    assert not abstained(answer)


def scored(root: Path, right: str, lacking: str, judge: CommandJudge | None = None) -> SystemScores:
    """A system that says `right` to questions with an answer ("": the right one), and `lacking` to the others."""
    rows = [{"id": f"q-{at}", "answer": right or f"{at} m"} for at in range(1, HAVING + 1)]
    rows += [{"id": f"x-{at}", "answer": lacking} for at in range(1, LACKING + 1)]
    published = mixed_set(root, HAVING, LACKING)
    output = given_output("one", rows, [one.id for one in published])
    (found,) = score_systems([published], [output], judge or CommandJudge()).systems
    return found


def test_three_systems_are_ranked_rightly_with_intervals(tmp_path: Path) -> None:
    unmarked = CommandJudge(
        FakeModel(lambda _: call("submit_mark", right=False, explanation="It states a length."))
    )
    systems = {
        "always": scored(tmp_path, NO, NO),
        "never": scored(tmp_path, "", "7 m long", unmarked),
        "right": scored(tmp_path, "", NO),
    }
    found = {
        name: {measure: one.overall.measures[measure].value for measure in one.overall.measures}
        for name, one in systems.items()
    }
    names = ("answerable_accuracy", "abstention", "over_abstention", "balanced")
    assert {name: tuple(values[one] for one in names) for name, values in found.items()} == {
        "always": (0.0, 1.0, 1.0, 0.0),
        "never": (1.0, 0.0, 0.0, 0.0),
        "right": (1.0, 1.0, 0.0, 1.0),
    }
    best = systems["right"].overall.measures["balanced"]
    for name in ("always", "never"):
        other = systems[name].overall.measures["balanced"]
        assert other.low <= other.value <= other.high < best.low <= best.value <= best.high


def test_half_of_each_gives_a_half(tmp_path: Path) -> None:
    published = mixed_set(tmp_path, 10, 10)
    rows = [{"id": f"q-{at}", "answer": f"{at} m" if at % 2 else NO} for at in range(1, 11)]
    rows += [{"id": f"x-{at}", "answer": NO if at % 2 else "The length is 3 m"} for at in range(1, 11)]
    judge = CommandJudge(
        FakeModel(lambda _: call("submit_mark", right=False, explanation="It states a length."))
    )
    output = given_output("one", rows, [one.id for one in published])
    (found,) = score_systems([published], [output], judge).systems
    measures = found.overall.measures
    assert measures["balanced"].value == 0.5
    assert measures["over_abstention"].value == 0.5
    assert measures["correct"].value == 0.5
    assert found.groups["type"]["unanswerable"].measures["correct"].value == 0.5


def test_the_judge_recognises_an_abstention_in_other_words(tmp_path: Path) -> None:
    words = "Nobody seems to have written down how long it is."
    unmarked = scored(tmp_path, "", words).overall
    assert (unmarked.counts["undecided"], "balanced" in unmarked.measures) == (LACKING, False)
    marks = CommandJudge(
        FakeModel(lambda _: call("submit_mark", right=True, explanation="It says there is none."))
    )
    assert scored(tmp_path, "", words, marks).overall.measures["abstention"].value == 1.0


def test_a_missing_row_is_no_abstention(tmp_path: Path) -> None:
    published = mixed_set(tmp_path, 1, 2)
    rows = [{"id": "q-1", "answer": "1 m"}, {"id": "x-1", "answer": NO}]
    output = given_output("one", rows, [one.id for one in published])
    (found,) = score_systems([published], [output], CommandJudge()).systems
    assert [one.abstained for one in found.answers] == [False, True, False]


def test_sets_without_such_questions_are_scored_as_before(tmp_path: Path) -> None:
    published = mixed_set(tmp_path, 2, 0)
    output = given_output("one", [{"id": "q-1", "answer": "1 m"}], [one.id for one in published])
    (found,) = score_systems([published], [output], CommandJudge()).systems
    assert set(found.overall.measures) == {"correct", "key_facts"}


def test_passages_count_only_for_questions_with_an_answer(tmp_path: Path) -> None:
    published = mixed_set(tmp_path, 1, 3)
    rows = [
        {"id": one.id, "answer": NO, "passages": [one.document_id if one.answerable else "z.txt"]}
        for one in published
    ]
    output = given_output("one", rows, [one.id for one in published])
    (found,) = score_systems([published], [output], CommandJudge()).systems
    recall = found.overall.measures["document_recall_at_1"]
    assert (recall.value, recall.questions, found.overall.questions) == (1.0, 1, 4)


def test_a_question_across_documents_is_found_with_all_of_them(tmp_path: Path) -> None:
    published = mixed_set(tmp_path, 1, 0)
    (question,) = published.questions
    evidence = (
        Evidence(quote="...", start_line=2, end_line=2),
        Evidence(quote="...", start_line=7, end_line=7, document_id="z.txt"),
    )
    across = replace(published, questions=(question.model_copy(update={"evidence": evidence}),))
    ranks: list[tuple[int | None, tuple[int | None, ...]]] = []
    for passages in (["1.txt"], ["1.txt", "z.txt"], ["x.txt", "z.txt", "1.txt"]):
        given = [{"document_id": one, "start_line": 1, "end_line": 9} for one in passages]
        output = given_output("one", [{"id": "q-1", "answer": "1 m", "passages": given}], ["q-1"])
        (found,) = score_systems([across], [output], CommandJudge()).systems
        ranks.append((found.answers[0].document_rank, found.answers[0].evidence_ranks))
    assert ranks == [(None, (1, None)), (2, (1, 2)), (3, (3, 2))]
