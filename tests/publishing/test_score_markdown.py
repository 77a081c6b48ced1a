from __future__ import annotations

from pathlib import Path

from qagen_dagster.loop.evaluation.score import given_output, score_systems
from qagen_dagster.loop.grading.grade_answers import CommandJudge
from qagen_dagster.publishing.exporter import MOST_ROWS
from qagen_dagster.publishing.score_markdown import score_markdown
from qagen_dagster.records.evaluation import ScoreReport
from tests.support.scored import ASKED, published_set


def report(root: Path, **systems: dict[str, str]) -> ScoreReport:
    outputs = [
        given_output(name, [{"id": id_, "answer": answer} for id_, answer in answers.items()], ASKED)
        for name, answers in systems.items()
    ]
    return score_systems([published_set(root)], outputs, CommandJudge())


def test_the_page_has_figures_groups_and_what_was_lost(tmp_path: Path) -> None:
    page = score_markdown(
        report(tmp_path, old={"q-1": "1 day", "q-4": "the water | conducts less"}, new={"q-1": "90 days"})
    )
    assert page.startswith("# Scores: old and new\n")
    assert (
        "| correct | 0.000 to 0.250; 0.000 (0.00 to 0.56) of the 3 measured | 0.250 (0.00 to 0.99) |" in page
    )
    assert (
        "| multi_hop | 2 | 0.000 to 0.500; 0.000 (0.00 to 0.79) of the 1 measured | 0.000 (0.00 to 0.66) |"
        in page
    )
    assert page.count("some questions were not measured") == 1
    assert "`correct` is the share" in page
    assert "document_recall" not in page
    assert "All questions: mode textual.\n" in page
    assert "| 0 | 0 | 1 | 2 | 1 | 1.0000 | 1.0000 |" in page
    assert "Over 2 documents the variance is 1.33 to 1.33 times" in page
    assert "Only new (1):" in page
    assert "the water \\| conducts less | code cannot decide, and the profile has no judge | q-4 |" in page
    assert "## Wrong or missing answers of old (3)" in page


def test_a_long_list_is_cut_with_a_note(tmp_path: Path) -> None:
    (system,) = report(tmp_path, mine={"q-1": "1 day"}).systems
    many = system.model_copy(update={"answers": system.answers[:1] * (MOST_ROWS + 3)})
    page = score_markdown(ScoreReport(sets=(), judge_model="", systems=(many,)))
    assert page.count("| q-1 |") == MOST_ROWS
    assert "... and 3 more" in page
