from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from qagen_dagster.catalog import queries
from qagen_dagster.catalog.database import rebuild, snapshot
from qagen_dagster.catalog.rows import run_document
from qagen_dagster.grounding.grade import grade_document
from qagen_dagster.grounding.grade import report as grade_report
from qagen_dagster.records.document import Ranking
from qagen_dagster.records.evaluation import (
    REPORTS,
    BaselineAnswer,
    ClosedBookAnswer,
    Decided,
    EvaluationReport,
    Kind,
    Label,
    LabelledQuestion,
    PanelQuestion,
    Placement,
    RetrievedQuestion,
)
from qagen_dagster.records.grading import AnswerGrade, GradedAnswer, Method
from qagen_dagster.records.ids import Combination, Mode
from qagen_dagster.records.questions.results import DocumentEnd, RejectedQA, RejectionReason
from qagen_dagster.records.questions.run_results import RunDocument
from qagen_dagster.records.run import CallSummary
from tests.catalog.conftest import Source


def removed(reason: RejectionReason) -> RejectedQA:
    return RejectedQA(
        question="Who?", answer="she", rejection_reason=reason, rejection_detail="", question_type="factual"
    )


def test_an_edited_question_counts_as_accepted_in_the_place_of_the_original() -> None:
    _, found = run_document(
        "run",
        Combination.from_key("corpus/scenario/textual"),
        RunDocument(
            document_id="d",
            document_version="v",
            end=DocumentEnd.TARGET_REACHED,
            accepted=5,
            rejected=1,
            rejected_by_reason={"trivial": 1},
            accepted_by_type={"factual": 5},
        ),
        (
            removed(RejectionReason.EDITED_BY_REVIEWER),
            removed(RejectionReason.EDITED_BY_REVIEWER),
            removed(RejectionReason.WRONG_ANSWER),  # one of the edited ones
            removed(RejectionReason.REJECTED_BY_REVIEWER),
        ),
    )
    assert (found["accepted"], found["rejected"], found["accepted_by_type"]) == (3, 5, {"factual": 3})
    assert found["rejected_by_reason"]["edited_by_reviewer"] == 2


def report(kind: Kind, run: int, metrics: dict[str, float], *questions: Any) -> EvaluationReport[Any]:
    return REPORTS[kind](
        kind=kind, corpus="c", scenario="s", mode=Mode.TEXTUAL, run_id=f"e{run}", launch="l",
        created=f"2026-01-0{run}T03:04:05+00:00", fingerprint="f", profile="p", model="m", metrics=metrics,
        questions=questions,
    )  # fmt: skip


def paid(key: str, usd: float = 1.0) -> CallSummary:
    return CallSummary(
        request_key=key, role="answerer", model="m", document_id="d0", attempt=1, input_tokens=5, output_tokens=5,
        usd=usd,
    )  # fmt: skip


@pytest.fixture
def evaluated(tmp_path: Path, make_world: Any) -> tuple[Path, str]:
    """A catalog of three questions, the first of them evaluated, and its id."""
    source: Source = make_world(size=3).source()
    sets = list(source.sets)
    pair = sets[0].questions[0]
    asked: dict[str, Any] = {
        "question_id": pair.id,
        "document_id": "d0",
        "question": pair.question,
        "answer": pair.answer,
    }
    places = tuple(
        Placement(ranking=ranking, document=place, chunks=(3,), evidence=(None, 3))
        for ranking, place in ((Ranking.WORDS, None), (Ranking.MEANING, 2), (Ranking.BOTH, 1))
    )
    closed = ClosedBookAnswer(**asked, given="42", leaked=True, decided=Decided.MATCH, calls=(paid("x"),))
    reports = [
        report(Kind.CLOSED_BOOK, 1, {"leaked_share": 0.0}, ClosedBookAnswer(**asked, calls=(paid("x"), paid("y")))),
        report(Kind.CLOSED_BOOK, 2, {"leaked_share": 1.0}, closed),
        report(Kind.RETRIEVAL, 1, {"fused_document_mrr": 1.0}, RetrievedQuestion(**asked, relevant=1, placements=places)),
        report(
            Kind.ANSWERS,
            3,
            {"token_f1": 0.5},
            BaselineAnswer(
                **asked, given="about 42", exact=False, f1=0.5, calls=(paid("k-0-1-0", 0.5),),
                grading=AnswerGrade(is_grounded=True, confidence=0.75, method="semantic"),
            ),
        ),
        report(
            Kind.LABELS,
            3,
            {},
            LabelledQuestion(
                **asked,
                labels=(
                    Label(passage="d0#1", text_hash="", start_line=1, end_line=4, place=2, grade=3, by="code"),
                    Label(passage="d1#7", text_hash="", start_line=5, end_line=5, place=1),
                ),
            ),
        ),
        report(Kind.PANEL, 3, {}, PanelQuestion(**asked, share_right=0.25, other="43", suspicion=1.0, suspected=True)),
    ]  # fmt: skip
    path = tmp_path / "catalog.duckdb"
    rebuild(replace(source, sets=sets, evaluations=reports, evaluated=reports[1:]), path)
    return path, pair.id


def ask(path: Path, statement: str) -> list[tuple[Any, ...]]:
    with snapshot(path) as connection:
        return connection.execute(statement).fetchall()


def test_every_number_of_every_report_is_there_and_the_latest_are_marked(evaluated: tuple[Path, str]) -> None:
    rows = ask(
        evaluated[0],
        "SELECT kind, run_id, metric, value, latest FROM evaluations "
        "WHERE metric NOT IN ('failed', 'questions') ORDER BY ALL",
    )
    assert rows == [
        ("answers", "e3", "token_f1", 0.5, True),
        ("closed_book", "e1", "leaked_share", 0.0, False),
        ("closed_book", "e2", "leaked_share", 1.0, True),
        ("retrieval", "e1", "fused_document_mrr", 1.0, True),
    ]
    counts = ask(
        evaluated[0], "SELECT DISTINCT metric, value FROM evaluations WHERE metric IN ('failed', 'questions')"
    )
    assert sorted(counts) == [("failed", 0.0), ("questions", 1.0)]


def test_each_question_has_a_row_of_how_it_fared(evaluated: tuple[Path, str]) -> None:
    path, name = evaluated
    rows = ask(
        path,
        "SELECT leaked, closed_book_answer, document_place, evidence_place, baseline_answer, exact, f1, is_grounded "
        f"FROM question_evaluations WHERE question_id = '{name}'",
    )
    assert rows == [(True, "42", 1, 3, "about 42", False, 0.5, True)]
    others = ask(
        path, f"SELECT leaked, document_place, f1 FROM question_evaluations WHERE question_id <> '{name}'"
    )
    assert set(others) == {(None, None, None)}
    places = ask(path, "SELECT ranking, document_place, evidence FROM retrievals ORDER BY ranking")
    assert places == [("bm25", None, [None, 3]), ("embedding", 2, [None, 3]), ("fused", 1, [None, 3])]
    assert queries.question(path, name).leaked is True
    labels = ask(
        path,
        "SELECT passage, document_id, place, grade, graded_by, end_line FROM relevance_labels ORDER BY passage",
    )
    assert labels == [("d0#1", "d0", 2, 3, "code", 4), ("d1#7", "d1", 1, None, None, 5)]
    panel = ask(
        path, "SELECT question_id, share_right, other, suspected, leaked, difficulty FROM panel_questions"
    )
    assert panel == [(name, 0.25, "43", True, None, None)]


def test_evaluating_has_a_price_of_its_own(
    evaluated: tuple[Path, str], tmp_path: Path, make_world: Any
) -> None:
    path, name = evaluated
    assert ask(path, "SELECT role, calls, usd FROM evaluation_costs") == [("answerer", 2, 2.0)]
    plain = tmp_path / "plain.duckdb"
    rebuild(make_world(size=3).source(), plain)
    for view in ("role_costs", "document_costs", "combination_costs", "question_costs"):
        assert ask(path, f"FROM {view}") == ask(plain, f"FROM {view}"), view
    assert queries.question(path, name).model_calls == queries.question(plain, name).model_calls
    stages = ask(path, "SELECT request_key, counted FROM model_calls WHERE stage = 'evaluation' ORDER BY ALL")
    assert stages == [("k-0-1-0", False), ("x", True), ("y", True)], "asked while it was made: paid there"


def test_what_grading_asks_too_is_the_price_of_grading(tmp_path: Path, make_world: Any) -> None:
    grading = AnswerGrade(is_grounded=True, confidence=1.0, method="llm", calls=(paid("j"),))
    graded = GradedAnswer(id="q-1", question="What is 0?", answer="42", grading=grading)
    grades = grade_report(
        [grade_document("d0", "d0", [graded])], corpus="c", scenario="s", mode=Mode.TEXTUAL, method=Method.LLM, run_id="r1"
    )  # fmt: skip
    answered = BaselineAnswer(
        question_id="q-1", document_id="d0", question="What is 0?", answer="42", calls=(paid("j"),)
    )
    evaluated = report(Kind.ANSWERS, 1, {}, answered)
    path = tmp_path / "catalog.duckdb"
    rebuild(replace(make_world(size=1).source(), reports=[grades], evaluations=[evaluated]), path)
    assert ask(path, "SELECT stage, counted FROM model_calls WHERE request_key = 'j' ORDER BY ALL") == [
        ("evaluation", False),
        ("grading", True),
    ]
