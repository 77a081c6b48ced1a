"""Edits of problems: what breaks a property, is not allowed or does not compile is refused, and the bank shows the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.problems.bank import broken_items, export_of, items_of, reviewed
from qagen_dagster.loop.problems.review import edited_latex
from qagen_dagster.loop.problems.run_set import pipeline_result
from qagen_dagster.loop.review_decisions import append
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.decisions import Decision
from qagen_dagster.records.problems.result import ProblemBank
from tests.support.problems.export import record
from tests.support.problems.play import item, mcq
from tests.support.project import Project

FOLDER = Path("corpora/problems/motion")


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    project = Project.make(tmp_path / "project")
    folder = project.corpora / "problems" / "motion"
    (folder / "sources").mkdir(parents=True)
    (folder / "sources" / "a.tex").write_text(item())
    (folder / "problems.yaml").write_text("name: Motion\nsources: [{file: a.tex}]\n")
    return Workspace(project.settings(profile="embedded"))


def bank() -> ProblemBank:
    return ProblemBank(
        name="motion", title="Motion", problems=(record(mcq(), variants={"numerical": mcq(3, 7)}),)
    )


def edit(space: Workspace, old: str, new: str, made: int = 0) -> str:
    of = bank()
    chosen = list(items_of(of.problems[0]))[made]
    assert old in chosen.latex
    return edited_latex(space, of, of.problems[0], chosen, chosen.latex.replace(old, new))


def test_words_and_layout_may_change(space: Workspace) -> None:
    assert "A trolley starts" in edit(space, "A cart starts", "A trolley starts")


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("$5\\,\\mathrm{s}$", "$9\\,\\mathrm{s}$", "a given of the source that the statement does not have"),
        (
            " \\ans\n\\task $11\\,\\mathrm{m\\,s^{-1}}$",
            "\n\\task $11\\,\\mathrm{m\\,s^{-1}}$ \\ans",
            "property 3",
        ),
        ("\\end{solution}", "", "end{solution}|solution"),
        ("A cart", "\\input{/etc/passwd} A cart", "not allowed LaTeX"),
        ("A cart", "A cart", "changes nothing"),
    ],
)
def test_a_fault_refuses_the_edit(space: Workspace, old: str, new: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        edit(space, old, new)


def test_a_variant_keeps_the_properties_of_its_kind(space: Workspace) -> None:
    with pytest.raises(ConfigError, match="property 7: words of the statement differ"):
        edit(space, "A cart starts", "A swan starts", made=1)


def test_the_bank_shows_an_edit_and_keeps_the_id(space: Workspace) -> None:
    before = next(items_of(bank().problems[0]))
    latex = edit(space, "A cart starts", "A trolley starts")
    told = {
        "new_question": "A trolley",
        "new_answer": "x",
        "new_item": latex,
        "question": "A cart",
        "answer": "x",
    }
    place = {"set_key": "problems/motion", "question_id": before.content_id, "document_id": "p-01"}
    append(space, Decision.model_validate({**place, **told, "reviewer": "ann", "action": "edit", "id": "d1"}))
    made = reviewed(space, bank())
    shown, variant = export_of(made).items
    assert (shown.id, shown.content_id, shown.latex) == (before.id, before.content_id, latex)
    assert "A cart starts" in variant.latex
    assert broken_items(made) == broken_items(bank())
    result = pipeline_result(made.problems[0])
    assert result is not None
    assert result.latex == latex
    assert reviewed(space, made) == made
    undo = {"reviewer": "ann", "action": "undo", "undoes": "d1", "question": "A", "answer": "x"}
    append(space, Decision.model_validate({**place, **undo}))
    assert reviewed(space, made) == bank()
