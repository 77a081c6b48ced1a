from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from qagen_dagster.defs.evaluation.assets import evaluation_results, of_answers, of_closed_book, of_retrieval
from qagen_dagster.loop.evaluation.ranking_measures import metrics
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.corpus_options import EvaluationOptions
from qagen_dagster.records.document import Ranking
from qagen_dagster.records.evaluation import (
    AnswerReport,
    BaselineAnswer,
    ClosedBookAnswer,
    ClosedBookReport,
    Decided,
    EvaluationReport,
    Kind,
    Placement,
    RetrievalReport,
    RetrievedQuestion,
)
from qagen_dagster.records.grading import AnswerGrade
from qagen_dagster.records.ids import Mode
from qagen_dagster.settings import Settings
from tests.defs.conftest import TEXTUAL
from tests.support import waterworks
from tests.support.graph import DOCUMENTS, QUESTIONS, GraphRun, checks, metadata, plain, version
from tests.support.project import Project

EVALUATIONS = ("closed_book_check", "retrieval_baseline", "answer_baseline")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A set, evaluated twice; the catalog between and after."""
    project = Project.make(tmp_path_factory.mktemp("evaluated") / "project")
    documents = {"ridge.txt": waterworks.notes("ridge"), "quay.txt": waterworks.notes("quay")}
    project.corpus("water", waterworks.corpus(2), documents)
    with GraphRun(project) as graph:
        graph.materialize("water", *DOCUMENTS)
        early = graph.materialize(TEXTUAL, *EVALUATIONS)
        graph.materialize(TEXTUAL, *QUESTIONS)
        unindexed = graph.materialize(TEXTUAL, *EVALUATIONS)
        graph.materialize("water", "document_index")
        first = graph.materialize(TEXTUAL, *EVALUATIONS)
        second = graph.materialize(TEXTUAL, *EVALUATIONS)
        catalog = graph.materialize(None, "catalog")
    return {
        "project": project, "early": early, "unindexed": unindexed, "first": first, "second": second,
        "catalog": catalog,
    }  # fmt: skip


def test_a_set_is_evaluated_shown_and_checked(runs: dict[str, Any]) -> None:
    run: dg.ExecuteInProcessResult = runs["first"]
    assert run.success
    closed, found, answered = (metadata(run, name) for name in EVALUATIONS)
    assert (
        closed["dagster/partition_row_count"]
        == found["dagster/partition_row_count"]
        == answered["dagster/partition_row_count"]
        == 4
    )
    assert (closed["leaked"], closed["undecided"], closed["tried"]) == (0, 0, 0)
    assert "leaked_share" not in closed, "the answerer never tried, so nothing was measured"
    assert found["fused_document_recall_at_5"] == 1
    assert 0 < found["fused_evidence_recall_at_5"] <= 1
    assert (answered["exact_match"], answered["token_f1"]) == (1, 1)
    assert answered["profile"] == "dry_run"
    assert closed["model_calls"] == answered["model_calls"] == 4
    assert "answerer" in answered["cost_by_role"]
    for shown in (closed, found, answered):
        assert [Path(one.file_path).is_file() for one in shown["report"].code_references] == [True]
    assert set(checks(run)) == {"leaked", "found", "answered", "complete"}
    assert all(passed for passed, _ in checks(run).values())


def test_every_run_keeps_its_report_and_the_versions_stay(runs: dict[str, Any]) -> None:
    for name in EVALUATIONS:
        assert version(runs["first"], name) == version(runs["second"], name)
        rows = metadata(runs["second"], name)["runs"].splitlines()
        assert len(rows) == (2 + 2 if name == "retrieval_baseline" else 2 + 3), "a row per run, newest first"
        assert rows[2].split("|")[2].strip() == runs["second"].run_id[:8]


def test_what_is_missing_is_said(runs: dict[str, Any]) -> None:
    assert not runs["early"].success
    assert _causes(runs["early"]) == {f"{TEXTUAL} has no published set"}
    assert not runs["unindexed"].success
    assert _causes(runs["unindexed"]) == {"corpus water has no search index"}
    done = {
        str(event.asset_key.to_user_string())
        for event in runs["unindexed"].get_asset_materialization_events()
    }
    assert done == {"closed_book_check", "answer_baseline"}


def _causes(run: dg.ExecuteInProcessResult) -> set[str]:
    errors = [event.step_failure_data.error for event in run.all_events if event.is_step_failure]
    causes = [error.cause.message for error in errors if error is not None and error.cause is not None]
    return {cause.partition(": ")[2].partition(":")[0].strip() for cause in causes}


def test_the_catalog_has_every_number_and_the_latest_questions(runs: dict[str, Any]) -> None:
    rows = metadata(runs["catalog"], "catalog")["rows"]
    assert (rows["closed_book"], rows["retrievals"], rows["baseline_answers"]) == (4, 12, 4)
    assert rows["evaluations"] > 2 * 30


def test_evaluating_is_no_part_of_the_job_of_questions(tmp_path: Path) -> None:
    project = Project.make(tmp_path / "project")
    project.corpus("water", waterworks.corpus(2), {})
    with GraphRun(project) as graph:
        jobs = {name: graph.definitions.resolve_job_def(name) for name in ("question_set", "evaluation")}
        made = {
            name: {key.to_user_string() for key in job.asset_layer.selected_asset_keys}
            for name, job in jobs.items()
        }
    assert made["evaluation"] == set(EVALUATIONS)
    assert made["question_set"] & made["evaluation"] == set()


def question(kind: type[Any], number: int, **fields: Any) -> Any:
    return kind(
        question_id=f"q-{number}",
        document_id=f"d{number}",
        question=f"Is it <so> | {number}?",
        answer="It is.",
        **fields,
    )


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return Workspace(Settings(corpora=tmp_path, assets=str(tmp_path / "assets"), profile="embedded"))


def report(kind: type[Any], name: Kind, questions: list[Any], metrics_: dict[str, float]) -> Any:
    return kind(
        kind=name, corpus="c", scenario="s", mode=Mode.TEXTUAL, run_id="run-1", launch="l", created="2026-01-02T03:04:05+00:00",
        fingerprint="f", profile="p", model="m", metrics=metrics_, questions=tuple(questions),
    )  # fmt: skip


def test_leaked_questions_come_first(space: Workspace) -> None:
    found = report(
        ClosedBookReport,
        Kind.CLOSED_BOOK,
        [
            question(ClosedBookAnswer, 1, given="No.", leaked=False, decided=Decided.MATCH),
            question(ClosedBookAnswer, 2, given="unknown", leaked=False, decided=Decided.UNKNOWN),
            question(ClosedBookAnswer, 3, given="It is.", leaked=True, decided=Decided.MATCH),
            question(ClosedBookAnswer, 4, failure="Budget: used up", unheard=True),
        ],
        {"leaked_share": 0.3333, "leaked": 1.0, "undecided": 1.0},
    )
    shown = plain(of_closed_book(space, found))
    rows = [[cell.strip() for cell in row.split("|")] for row in str(shown["questions"]).splitlines()[2:]]
    assert [row[2] for row in rows] == ["leaked", "undecided", "wrong", "unknown"]
    assert "Budget: used up" in rows[1]
    assert (shown["failed"], shown["asked_again"]) == (1, 1)


def test_questions_that_search_misses_come_first(space: Workspace) -> None:
    def at(place: int | None) -> tuple[Placement, ...]:
        return tuple(
            Placement(
                ranking=ranking, document=place, chunks=() if place is None else (place,), evidence=(place,)
            )
            for ranking in Ranking
        )

    questions = [
        question(RetrievedQuestion, 1, relevant=1, placements=at(1)),
        question(RetrievedQuestion, 2, relevant=1, placements=at(7)),
        question(RetrievedQuestion, 3, relevant=1, placements=at(None)),
        question(RetrievedQuestion, 4, failure="the document has no text"),
    ]
    found = report(RetrievalReport, Kind.RETRIEVAL, questions, metrics(questions))
    shown = plain(of_retrieval(space, found))
    rows = [row.split("|")[2].strip() for row in str(shown["not_ranked_first"]).splitlines()[2:]]
    assert rows == ["the document has no text", "not found", "7"]
    assert shown["fused_document_recall_at_1"] == 0.3333
    assert shown["bm25_document_recall_at_5"] == 0.3333


def test_the_worst_answers_come_first(space: Workspace) -> None:
    def graded(grounded: bool) -> AnswerGrade:
        return AnswerGrade(is_grounded=grounded, confidence=0.5, method="semantic")

    found = report(
        AnswerReport,
        Kind.ANSWERS,
        [
            question(BaselineAnswer, 1, given="It is.", exact=True, f1=1.0, grading=graded(True)),
            question(BaselineAnswer, 2, given="It may be.", exact=False, f1=0.4, grading=graded(False)),
            question(BaselineAnswer, 3, failure="no text"),
        ],
        {"token_f1": 0.7, "exact_match": 0.5, "failed": 1.0},
    )
    shown = plain(of_answers(space, found))
    rows = [[cell.strip() for cell in row.split("|")] for row in str(shown["questions"]).splitlines()[2:]]
    assert [row[2:4] for row in rows] == [["", ""], ["0.40", "no"], ["1.00", "yes"]]
    assert shown["failed"] == 1


@pytest.mark.parametrize(
    ("kind", "name", "value", "options", "passed"),
    [
        (ClosedBookReport, Kind.CLOSED_BOOK, {"leaked_share": 0.1}, EvaluationOptions(), True),
        (ClosedBookReport, Kind.CLOSED_BOOK, {"leaked_share": 0.11}, EvaluationOptions(), False),
        (ClosedBookReport, Kind.CLOSED_BOOK, {"leaked_share": 0.9}, EvaluationOptions(max_leaked=None), True),
        (ClosedBookReport, Kind.CLOSED_BOOK, {}, EvaluationOptions(max_leaked=0.0), True),
        (RetrievalReport, Kind.RETRIEVAL, {"fused_document_recall_at_5": 0.0}, EvaluationOptions(), True),
        (
            RetrievalReport,
            Kind.RETRIEVAL,
            {"fused_document_recall_at_5": 0.8},
            EvaluationOptions(min_recall_at_5=0.9),
            False,
        ),
        (AnswerReport, Kind.ANSWERS, {"token_f1": 0.5}, EvaluationOptions(min_answer_f1=0.5), True),
        (AnswerReport, Kind.ANSWERS, {"token_f1": 0.4}, EvaluationOptions(min_answer_f1=0.5), False),
    ],
)
def test_checks_warn_out_of_bounds(
    kind: type[EvaluationReport[Any]],
    name: Kind,
    value: dict[str, float],
    options: EvaluationOptions,
    passed: bool,
) -> None:
    bound, complete = evaluation_results(options, report(kind, name, [], value))
    assert (bound.passed, bound.severity, complete.passed) == (passed, dg.AssetCheckSeverity.WARN, True)


@pytest.mark.parametrize("fields", [{"failure": "no text"}, {"unheard": True}])
def test_a_question_without_a_result_is_warned_of(fields: dict[str, Any]) -> None:
    found = report(AnswerReport, Kind.ANSWERS, [question(BaselineAnswer, 1, **fields)], {})
    _, complete = evaluation_results(EvaluationOptions(), found)
    assert not complete.passed
