"""Which passages answer a question: by code, by a judge, in exports and in scores."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from qagen_dagster.loop.evaluation.kinds import is_evaluated, wanted_evaluation
from qagen_dagster.loop.evaluation.relevance_labels import measure_labels, states
from qagen_dagster.loop.evaluation.score import given_output, grades_of, score_systems
from qagen_dagster.loop.grading.grade_answers import CommandJudge
from qagen_dagster.loop.index import build_index
from qagen_dagster.loop.questions.plan import RunOptions
from qagen_dagster.loop.questions.publication.exports import ExportedRows, why_not_exported
from qagen_dagster.loop.questions.publication.publish import why_outdated
from qagen_dagster.loop.questions.publication.published_set import read_published
from qagen_dagster.models.budget import Allowance
from qagen_dagster.models.messages import AssistantMessage, Request
from qagen_dagster.records.evaluation import Kind, Label, LabelReport, Passage
from qagen_dagster.records.questions.results import Evidence
from tests.loop.conftest import COMBINATION, CORPUS, PROFILE, PlayedWorkspace, put_documents
from tests.loop.evaluation.evaluation_set import ExaminedWorkspace, examined, opened, pair, put_published
from tests.support.models import FakeModel, call, told

DOCUMENTS = {
    "oven.txt": "Bake the rye bread at 230 degrees until the crust is brown.",
    "copy.txt": "From another book. Bake the rye bread at 230 degrees until the crust is brown.",
    "told.txt": "In an oven of 230 degrees the rye bread gets a crust.",
    "rolls.txt": "Bake the rye rolls at 250 degrees.",
    "geese.txt": "Geese fly south in autumn. They come back in spring.",
}
QUOTE = Evidence(quote=DOCUMENTS["oven.txt"], start_line=1, end_line=1)
ASKED = pair("oven.txt", "At how many degrees is the rye bread baked?", "230 degrees", QUOTE)


def grades(request: Request) -> AssistantMessage:
    """Rolls are related; nothing else is."""
    shown = re.findall(r"^Passage (\d+)\n<document_excerpt>\n(.*?)\n", told(request), re.MULTILINE)
    given = [int("rolls" in text) for _, text in shown]
    return call("submit_grades", grades=given)


@pytest.fixture
def published(workspace: PlayedWorkspace) -> PlayedWorkspace:
    put_documents(workspace, DOCUMENTS)
    build_index(workspace, "probes")
    put_published(workspace, [ASKED])
    return workspace


def judged(space: PlayedWorkspace, judge: FakeModel, more: str = "") -> ExaminedWorkspace:
    """The same workspace with a judge in its profile and the option to ask it."""
    want_judge(space, more)
    with_judge = PROFILE.format(generator="writer") + "  judge: {provider: scripted, model: assessor}\n"
    (space.settings.profiles or Path()).joinpath("mine.yaml").write_text(with_judge)
    return examined(space, assessor=judge)


def want_judge(space: PlayedWorkspace, more: str = "") -> None:
    options = f"evaluation: {{judge_labels: true, {more}}}"
    wanted = CORPUS.replace("target_count: 2", f"target_count: 2\n    {options}")
    (space.settings.corpora / "probes" / "corpus.yaml").write_text(wanted)


def found(report: LabelReport) -> dict[str, tuple[int | None, str]]:
    (one,) = report.questions
    assert one.failure == ""
    return {label.document_id: (label.grade, label.by) for label in one.labels}


def test_code_grades_what_it_knows_and_leaves_the_rest_unjudged(published: PlayedWorkspace) -> None:
    report = measure_labels(opened(published))
    assert found(report) == {
        "oven.txt": (3, "code"),
        "copy.txt": (3, "code"),
        "told.txt": (2, "code"),
        "rolls.txt": (None, ""),
        "geese.txt": (None, ""),
    }
    assert (report.judge_model, report.metrics["judged_share_at_10"]) == ("", 0.6)
    assert is_evaluated(opened(published), Kind.LABELS)


def test_a_judge_grades_the_rest_and_is_asked_once(published: PlayedWorkspace) -> None:
    before = wanted_evaluation(published, COMBINATION, Kind.LABELS)
    judge = FakeModel(grades, "assessor")
    space = judged(published, judge)
    report = measure_labels(opened(space))
    assert found(report)["rolls.txt"] == (1, "judge")
    assert found(report)["geese.txt"] == (0, "judge")
    assert report.metrics["judged_share_at_10"] == 1
    assert [one.role for one in report.questions[0].calls] == ["judge"]
    assert "230 degrees" not in told(judge.requests[0]), "code has graded these passages"
    measure_labels(opened(space))
    assert len(judge.requests) == 1
    assert wanted_evaluation(space, COMBINATION, Kind.LABELS).version != before.version


@pytest.mark.parametrize("option", [True, False])
def test_nobody_is_asked_without_the_option_or_without_a_judge(
    published: PlayedWorkspace, option: bool
) -> None:
    judge = FakeModel(grades, "assessor")
    space = judged(published, judge)
    if option:
        (space.settings.profiles or Path()).joinpath("mine.yaml").write_text(
            PROFILE.format(generator="writer")
        )
    else:
        (space.settings.corpora / "probes" / "corpus.yaml").write_text(CORPUS)
    assert measure_labels(opened(space)).metrics["unjudged"] == 2
    assert judge.requests == []


def test_a_grade_for_each_passage_is_asked_for_and_a_budget_is_kept(published: PlayedWorkspace) -> None:
    space = judged(published, FakeModel(grades, "assessor"))
    report = measure_labels(opened(space, budget=Allowance(max_calls=0)))
    assert (report.unheard, report.questions[0].labels) == (1, ())
    empty = FakeModel([call("submit_grades", grades=[])] * 3, "assessor")
    assert measure_labels(opened(judged(published, empty))).unheard == 1
    short = FakeModel([call("submit_grades", grades=[0])] * 4, "assessor")
    report = measure_labels(opened(judged(published, short)))
    assert "there are 2 passages, and 1 grades" in told(short.requests[1])
    assert (report.failed, report.unheard) == (1, 0)


@pytest.mark.parametrize("rounds", [0, 1, 2, 3])
def test_passages_like_the_relevant_ones_join_the_pool_in_rounds(
    published: PlayedWorkspace, rounds: int
) -> None:
    judge = FakeModel(grades, "assessor")
    space = judged(published, judge, f"pool_depth: 1, feedback_rounds: {rounds}")
    report = measure_labels(opened(space))
    assert list(found(report)) == ["copy.txt", "oven.txt", "told.txt", "rolls.txt", "geese.txt"][: 2 + rounds]
    assert [one.place for one in report.questions[0].labels] == [1, 1, *[None] * rounds]
    assert len(judge.requests) == max(0, rounds - 1), "code grades the first three"
    assert (report.metrics["pool_depth"], report.metrics.get("feedback_rounds", 0)) == (1, rounds)


def test_only_a_changed_size_of_the_pool_makes_labels_stale(published: PlayedWorkspace) -> None:
    sizes = ("", "pool_depth: 20, feedback_rounds: 0", "pool_depth: 21", "feedback_rounds: 1")
    spaces = (judged(published, FakeModel(grades, "assessor"), size) for size in sizes)
    plain, same, *others = (wanted_evaluation(one, COMBINATION, Kind.LABELS).version for one in spaces)
    assert same == plain
    assert len({plain, *others}) == 3


def test_the_option_makes_no_set_and_no_export_stale(published: PlayedWorkspace) -> None:
    before = why_outdated(published, COMBINATION, RunOptions())
    want_judge(published)
    assert why_outdated(PlayedWorkspace(published.settings), COMBINATION, RunOptions()) == before


def test_exports_have_the_labels_of_passages_that_did_not_change(published: PlayedWorkspace) -> None:
    (plain,) = ExportedRows(published, COMBINATION).read(documents=False).rows
    assert (plain.graded, set(plain.relevance.values())) == ((), {1})
    measure_labels(opened(judged(published, FakeModel(grades, "assessor"))))
    (row,) = ExportedRows(published, COMBINATION).read(documents=False).rows
    assert {passage.id: grade for passage, grade in row.graded} == {
        "oven.txt#1": 3, "copy.txt#1": 3, "told.txt#1": 2, "rolls.txt#1": 1, "geese.txt#1": 0,
    }  # fmt: skip
    put_documents(published, DOCUMENTS | {"geese.txt": "Geese fly north in spring."})
    (row,) = ExportedRows(published, COMBINATION).read(documents=False).rows
    assert "geese.txt#1" not in {passage.id for passage, _ in row.graded}
    assert why_not_exported(published, COMBINATION) == ("the published set has changed",), "never exported"


@pytest.mark.parametrize(
    ("documents", "plain", "condensed", "judged_share"),
    [
        (("geese.txt", "rolls.txt", "oven.txt"), 1 / 3, 1.0, 1 / 3),  # unjudged passages are left out
        (("oven.txt", "geese.txt"), 1.0, 1.0, 0.5),
        (("geese.txt", "rolls.txt"), 0.0, 0.0, 0.0),
        (("told.txt", "told.txt", "oven.txt"), 1.0, 1.0, 1.0),
    ],
)
def test_a_score_counts_judged_passages_beside_all(
    published: PlayedWorkspace,
    documents: tuple[str, ...],
    plain: float,
    condensed: float,
    judged_share: float,
) -> None:
    measure_labels(opened(published))
    asked = read_published(published.store, COMBINATION)
    output = given_output("mine", [{"id": ASKED.id, "passages": list(documents)}], [ASKED.id])
    measures = score_systems([asked], [output], CommandJudge()).systems[0].overall.measures
    assert measures["graded_mrr"].value == pytest.approx(plain, abs=1e-3)
    assert measures["condensed_mrr"].value == pytest.approx(condensed, abs=1e-3)
    assert measures["judged_at_10"].value == pytest.approx(judged_share, abs=1e-3)
    assert measures["condensed_ndcg_at_10"].value >= measures["graded_ndcg_at_10"].value


def test_a_repeated_passage_gains_nothing_and_lines_decide(published: PlayedWorkspace) -> None:
    labels = [
        Label(passage=f"a#{at}", text_hash="", start_line=at * 10, end_line=at * 10 + 9, grade=grade)
        for at, grade in ((1, 3), (2, 0), (3, None))
    ]
    rows = [
        Passage(document_id="a", start_line=first, end_line=last)
        for first, last in ((12, 16), (10, 19), (18, 26), (30, 39))
    ]
    assert list(grades_of(rows, labels)) == [3, 0, 0, None]


@pytest.mark.parametrize(
    ("passage", "right"),
    [
        ("Rye bread is baked at 230 degrees.", True),
        ("The bread of rye goes into the oven. Bake it at 230 degrees.", True),
        ("Rye bread is baked at 220 degrees.", False),
        ("Glass melts at 230 degrees. Rye bread rests for an hour.", False),
        ("The oven has 230 degrees.", False),
    ],
)
def test_a_value_counts_beside_its_subject_only(passage: str, right: bool) -> None:
    assert states(ASKED.question, ASKED.answer, passage, "") is right
