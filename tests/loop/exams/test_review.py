"""Edits of exam items: the form is computed again, faults refuse the edit, and the bank shows what was proven."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from qagen_dagster.configuration.profiles import Role
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.exams.bank import gather
from qagen_dagster.loop.exams.review import edited_item, fields_of
from qagen_dagster.loop.review_decisions import append
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.base import Model
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.decisions import Decision
from qagen_dagster.records.exams.bank import ProofStatus
from tests.support.exams.items import MOMENTUM as STEM
from tests.support.exams.items import MOMENTUM_UNIT as UNIT
from tests.support.exams.items import trolley
from tests.support.exams.mini import accepted, store_part, write_exam
from tests.support.exams.play import solved
from tests.support.models import FakeModel, call
from tests.support.project import Project

PROFILE = "roles:\n" + "".join(
    f"  {role}: {{provider: openai, model: {role}}}\n"
    for role in ("generator", "validator", "deduplicator", "solver")
)


class Solving(Workspace):
    """A workspace whose solver says `letter`."""

    letter = "A"

    def model(self, spec: ModelSpec) -> Model:
        return FakeModel(lambda _: call("submit_solution", **solved(self.letter)), spec.model)


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    project = Project.make(tmp_path / "project")
    write_exam(project.corpora)
    project.profile("solving", PROFILE)
    return Workspace(project.settings(profile="embedded"))


@pytest.mark.parametrize(
    ("fields", "key", "givens"),
    [
        ({"question.stem": STEM.replace("$3", "$4"), "distractor_map.A": "the speed was read as three"}, "B", {"m": "2", "v": "4"}),
        ({"question.stem": STEM.replace("2\\,", "4\\,"), "distractor_map.A": "the mass was read as two"}, "D", {"m": "4", "v": "3"}),
        ({"question.stem": STEM.replace("$3", "$4"), "question.options.A": f"$8{UNIT}", "question.options.B": f"$6{UNIT}"}, "A", {"m": "2", "v": "4"}),
        ({"question.stem": STEM.replace("trolley", "cart")}, "A", {"m": "2", "v": "3"}),
        ({"solution.reasoning": "It is $2 \\times 3 = 6$."}, "A", {"m": "2", "v": "3"}),
    ],
)  # fmt: skip
def test_a_changed_given_changes_the_form_and_the_key(
    space: Workspace, fields: dict[str, str], key: str, givens: dict[str, str]
) -> None:
    found = edited_item(space, trolley(), fields)
    assert found.id == trolley().id
    assert found.question.correct_option == key
    assert found.question_package.check is not None
    assert dict(found.question_package.check.givens) == givens
    assert found.proof.status is ProofStatus.PROVEN
    assert key not in found.question_package.distractor_map
    assert found.key_by == ("both" if found.question == trolley().question else "form")


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"question.stem": STEM.replace("$3", "$5")}, r"the form gives 10 kg m / s, which no option is"),
        (
            {"question.stem": STEM.replace("$3", "$4")},
            "no mistake in reasoning is named that leads to option A",
        ),
        ({"question.stem": STEM.replace("3\\,", "\\frac{3\\,")}, "unbalanced_latex"),
        ({"check.givens.v": "7"}, "the given v = 7 of the form is not in the stem"),
        ({"question.options.B": ""}, "at least 4|without a gap"),
        ({"question.correct_option": "C"}, "which is A, not the key C"),
        ({"solution.reasoning": "It is $2 \\times 3 = 7$."}, "false_step"),
        ({"check.expression": ""}, "no longer proves the key"),
        ({"check.expression": "__import__('os')"}, "form_hostile"),
    ],
)
def test_a_fault_refuses_the_edit(space: Workspace, fields: dict[str, str], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        edited_item(space, trolley(), fields)


def test_only_a_bound_solver_is_asked_and_must_reach_the_key(
    space: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    solving = Solving(replace(space.settings, profile="solving"))
    assert Role.SOLVER in solving.profile("solving").roles
    fields = {"question.stem": STEM.replace("trolley", "cart")}
    assert edited_item(solving, trolley(), fields).key_by == "both"
    monkeypatch.setattr(Solving, "letter", "C")
    with pytest.raises(ConfigError, match="the key is A, but the solver chose C"):
        edited_item(solving, trolley(), fields)


def decide(space: Workspace, minute: int, **fields: Any) -> Decision:
    one = trolley()
    usual = {"id": f"d{minute}", "set_key": "exams/mini", "question_id": one.id, "document_id": "M1"}
    usual |= {"question": STEM, "answer": f"A: $6{UNIT}", "reviewer": "ann"}
    made = Decision.model_validate({**usual, "time": f"2026-11-26T10:0{minute}:00Z", **fields})
    append(space, made)
    return made


def test_the_bank_shows_an_edit_until_it_is_undone(space: Workspace) -> None:
    store_part(space, "mini/M1/easy", lambda plan, slot: accepted(plan, slot, trolley()))
    found = edited_item(space, trolley(), {"question.stem": STEM.replace("trolley", "cart")})
    told = {"new_question": found.question.stem, "new_answer": f"A: $6{UNIT}"}
    decide(space, 1, action="edit", new_item=found.model_dump_json(), **told)
    (shown,) = gather(space, "mini").bank.items
    assert (shown.id, shown.question.stem, shown.edited) == (trolley().id, found.question.stem, "ann")
    decide(space, 2, action="accept", question=found.question.stem)  # of the edited item: the edit stays
    assert gather(space, "mini").bank.items == (shown,)
    decide(space, 3, action="undo", undoes="d1")
    assert gather(space, "mini").bank.items == (trolley(),)


def test_all_texts_of_an_item_are_fields() -> None:
    fields = fields_of(trolley().question_package)
    assert (fields["check.givens.m"], fields["check.unit"]) == ("2", "kg m/s")
    assert [name for name in fields if "options" in name] == [f"question.options.{one}" for one in "ABCD"]
    assert fields["distractor_map.A"] == ""
