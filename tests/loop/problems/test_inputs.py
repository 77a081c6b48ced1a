"""A figure of the source that a variant or a conversion only marks is put back by code."""

from __future__ import annotations

from pathlib import Path

import pytest

from qagen_dagster.configuration.profiles import Role
from qagen_dagster.latex.structure import tikz_pictures
from qagen_dagster.loop.problems.inputs import with_figure_of
from qagen_dagster.loop.problems.run_problem import work_problem
from qagen_dagster.loop.problems.state_machine import Wishes
from qagen_dagster.records.problems.result import Stage, TaskEnd
from qagen_dagster.records.problems.submissions import Format, VariantKind
from tests.support.problems.play import ProblemPlay, integer, item, task_results, typed

ONE, TWO = (f"\\begin{{tikzpicture}}\n\\draw (0,0) -- ({end},0);\n\\end{{tikzpicture}}" for end in (1, 2))
MARK = "% diagram"


@pytest.mark.parametrize(
    ("latex", "source", "drawings"),
    [
        (f"a\n{MARK}\nb", ONE, [ONE]),
        (f"a\n  % Diagram \nb\n{MARK}", f"{ONE} and {TWO}", [ONE, TWO]),
        (f"a\n{MARK}\nb", f"{ONE} and {TWO}", [ONE, TWO]),
        (f"\\begin{{center}}\n{MARK}\n\\end{{center}}", ONE, [ONE]),
        (f"a\n{MARK}\nb\n{MARK}", TWO, [TWO]),
        (f"a\n{TWO}\n{MARK}", ONE, [TWO]),
        ("a % diagram\nb", ONE, []),
        (f"a\n{MARK}", "no figure", []),
        ("a\nb", ONE, []),
    ],
)
def test_drawings_come_to_their_marks(latex: str, source: str, drawings: list[str]) -> None:
    found = with_figure_of(latex, source)
    assert list(tikz_pictures(found)) == drawings
    if not drawings or TWO in latex:
        assert found == latex
    assert with_figure_of(found, source) == found
    assert found.count("begin{center}") <= 1 + (len(drawings) > 1)


def test_who_marks_a_figure_need_not_write_it_out(tmp_path: Path) -> None:
    def marked(latex: str, mark: str) -> str:
        return latex.replace("\n\\begin{solution}", f"\n{mark}\n\\begin{{solution}}")

    problem = typed(marked(item(), ONE))
    wishes = Wishes(
        stages=(Stage.SCAN, Stage.VARIANT, Stage.CONVERT),
        variants=(VariantKind.NUMERICAL,),
        conversions=(Format.INTEGER,),
    )
    play = ProblemPlay(
        {
            Role.VARIANT: [{"latex": marked(item(3, 8), MARK)}],
            Role.CONVERTER: [{"latex": marked(integer(), MARK)}],
        }
    )
    worked = work_problem(play.work(problem, wishes), task_results(tmp_path, problem), tuple(Stage))
    variant, converted = (worked.state.first(stage) for stage in (Stage.VARIANT, Stage.CONVERT))
    assert variant is not None
    assert converted is not None
    assert (variant.end, converted.end) == (TaskEnd.DONE, TaskEnd.DONE), (variant.detail, converted.detail)
    assert variant.variant is not None
    assert converted.conversion is not None
    for latex in (variant.variant.latex, converted.conversion.latex):
        assert list(tikz_pictures(latex)) == [ONE]
        assert MARK not in latex
