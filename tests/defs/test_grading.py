from __future__ import annotations

import base64
from pathlib import Path
from xml.etree import ElementTree as xml

import pytest

from qagen_dagster.defs.grading import grounding_results, of_report
from qagen_dagster.grounding.grade import grade_document, report
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.corpus_options import GradingOptions
from qagen_dagster.records.grading import (
    AnswerGrade,
    Grade,
    GradedAnswer,
    GroundingReport,
    Method,
    SentenceGrade,
    SentenceStatus,
)
from qagen_dagster.records.ids import Combination, Mode
from qagen_dagster.settings import Settings
from tests.defs.conftest import TEXTUAL, Made
from tests.support.graph import checks, metadata, plain, version


def answer(grounded: bool | None, confidence: float | None, reason: str = "") -> GradedAnswer:
    status = {
        True: SentenceStatus.SUPPORTED,
        False: SentenceStatus.CONTRADICTED,
        None: SentenceStatus.NOT_MEASURED,
    }
    sentence = SentenceGrade(sentence="It is <so> | so.", status=status[grounded], reason=reason)
    grading = AnswerGrade(
        is_grounded=grounded,
        confidence=confidence,
        method="semantic",
        issues=(reason,) if reason else (),
        sentences=(sentence,),
    )
    return GradedAnswer(id="q-1", question="Is it?", answer="It is <so> | so.", grading=grading)


def graded(*documents: list[GradedAnswer]) -> GroundingReport:
    parts = [grade_document(f"d{number}.txt", "A title", answers) for number, answers in enumerate(documents)]
    found = report(parts, corpus="c", scenario="s", mode=Mode.TEXTUAL, method=Method.SEMANTIC)
    return found.model_copy(update={"run_id": "run-1"})


def test_the_report_is_materialized_shown_and_checked(made: Made) -> None:
    run = made.runs["textual"]
    shown, found = metadata(run, "grounding_report"), checks(run)
    assert (
        shown["dagster/partition_row_count"]
        == shown["grounded"] + shown["ungrounded"] + shown["not_measured"]
        == 6
    )
    assert ("overall_confidence" in shown) == (shown["grounded"] + shown["ungrounded"] > 0)
    assert shown["decided"].startswith("- decided: ")
    assert (shown["method"], shown["judge"], shown["model_calls"]) == ("hybrid", "none", 0)
    assert shown["documents"].count("\n") == 1 + 3
    assert len(shown["ungrounded_highlights"].splitlines()[2:]) == shown["ungrounded"]
    stored = GroundingReport.model_validate_json(
        (
            made.project.assets / Combination.from_key(TEXTUAL).history_key(run.run_id, "grounding.json")
        ).read_bytes()
    )
    (link,) = shown["report"].code_references
    assert link.file_path.endswith(f"{run.run_id}/grounding.json")
    assert (stored.run_id, stored.grounded) == (run.run_id, shown["grounded"])
    passed, numbers = found["grade"]
    assert numbers["grade"] == (
        "none" if shown["overall_grade"] == "not measured" else shown["overall_grade"]
    )
    assert passed == (numbers["grade"] in ("none", "A", "B", "C"))
    share = round(shown["not_measured"] / 6, 4)
    assert found["measured"] == (
        share <= 0.1,
        {
            "not_measured": shown["not_measured"],
            "answers": 6,
            "in_pictures": 0,
            "share_not_measured": share,
            "maximum": 0.1,
        },
    )


def test_a_run_again_keeps_the_data_version(made: Made) -> None:
    again = made.graph.materialize(TEXTUAL, "grounding_report")
    assert again.success
    assert version(again, "grounding_report") == version(made.runs["textual"], "grounding_report")


@pytest.mark.parametrize(
    ("report", "options", "passed"),
    [
        (graded([answer(True, 0.75)]), GradingOptions(), (True, True)),
        (graded([answer(True, 0.65)]), GradingOptions(), (False, True)),
        (graded([answer(True, 0.65)]), GradingOptions(min_grade=Grade.D), (True, True)),
        (graded([answer(None, None, "why"), answer(True, 1.0)]), GradingOptions(), (True, False)),
        (graded([answer(None, None, "why")]), GradingOptions(max_not_measured=1.0), (True, True)),
        (
            graded([answer(None, None, "the text alone does not show it; Table 1 may, and is not read")]),
            GradingOptions(),
            (True, True),
        ),
        (graded(), GradingOptions(), (True, True)),
    ],
)
def test_checks_warn_of_low_grades_and_of_what_was_not_measured(
    report: GroundingReport, options: GradingOptions, passed: tuple[bool, bool]
) -> None:
    found = grounding_results(options, report)
    assert tuple(one.passed for one in found) == passed
    assert {one.severity.value for one in found} == {"WARN"}


def test_documents_and_reasons_are_shown_least_grounded_first(tmp_path: Path) -> None:
    found = graded(
        [answer(True, 1.0)],
        [answer(False, 0.25, "the document says 12"), answer(True, 1.0)],
        [answer(None, None, "no text")],
    )
    shown = plain(of_report(_space(tmp_path), found))
    assert [row.split("|")[1].strip() for row in str(shown["documents"]).splitlines()[2:]] == [
        "d1.txt",
        "d0.txt",
        "d2.txt",
    ]
    assert len(str(shown["answers"])) < 1000  # longer ones hide behind a click
    assert "2 grounded, 1 ungrounded, 1 not measured" in str(shown["answers"])
    assert "the document says 12" in str(shown["ungrounded_highlights"])
    assert "&lt;so&gt; \\| so." in str(shown["ungrounded_highlights"])
    assert "no text" in str(shown["not_measured_answers"])
    assert (shown["grounded"], shown["ungrounded"], shown["not_measured"]) == (2, 1, 1)
    picture = xml.fromstring(base64.b64decode(str(shown["grades"]).partition("base64,")[2].rstrip(")")))
    words = [element.text for element in picture.iter() if element.tag.endswith("text")]
    assert "d1.txt" in words
    assert "D 0.62" in words


def test_many_documents_are_cut_and_none_are_no_fault(tmp_path: Path) -> None:
    space = _space(tmp_path)
    many = of_report(space, graded(*([answer(True, 1.0)] for _ in range(40))))
    assert "the 25 least grounded of 40" in str(plain(many)["grades"])
    assert "overall_confidence" not in of_report(space, graded())


def _space(folder: Path) -> Workspace:
    return Workspace(Settings(corpora=folder, assets=str(folder / "assets")))
