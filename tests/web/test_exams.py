"""Exam items on the review page."""

from __future__ import annotations

from pathlib import Path

import pytest

from qagen_dagster.errors import StoreError
from qagen_dagster.loop.exams.bank import publish_bank
from qagen_dagster.loop.exams.plan import PartPlan
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.exams.bank import SlotResult, Stage
from qagen_dagster.web.exams import exam_source
from tests.support.exams.items import HARD_OPTIONS, HARD_STEM, item, question
from tests.support.exams.mini import accepted, rejected, store_part, write_exam
from tests.support.project import Project


def hard(plan: PartPlan, slot: int) -> SlotResult:
    asked = question(HARD_STEM, "A", **HARD_OPTIONS)
    return accepted(plan, slot, item(asked, "M1", plan.part.difficulty), Stage.GATES)


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    project = Project.make(tmp_path / "project")
    write_exam(project.corpora)
    made = Workspace(project.settings(profile="embedded"))
    store_part(made, "mini/M1/easy", hard)
    store_part(made, "mini/M1/hard", rejected)
    return made


def test_a_bank_is_shown_once_it_is_published(space: Workspace) -> None:
    source = exam_source(space, "mini")
    assert source.state() is None
    publish_bank(space, "mini", "run")
    rows = source.read().rows
    assert [(one.id[:8], one.document, one.outcome, one.type, one.reason) for one in rows] == [
        ("M1-easy-", "M1", "accepted", "easy", ""),
        ("M1-hard-", "M1", "rejected", "hard", "ambiguity"),
    ]
    assert (rows[0].question, rows[0].answer, rows[0].usd) == (HARD_STEM, f"A: {HARD_OPTIONS['A']}", 0.5)
    assert [one.place for one in rows] == [1, None]


def test_an_item_is_shown_with_its_formulas_its_proof_and_its_attempts(space: Workspace) -> None:
    publish_bank(space, "mini", "run")
    bank = exam_source(space, "mini").read()
    found = bank.detail(bank.rows[0].id)
    stem, *options = found.sections[0].entries
    assert "<math" in stem.markup
    assert "<Dimensions>" not in stem.markup
    assert [(one.label, one.mark) for one in options] == [("A", "yes"), *((one, "") for one in "BCDE")]
    told = {one.label: (one.mark, one.text) for section in found.sections for one in section.entries}
    assert told["key"] == (
        "yes",
        "proven: the checkable form gives the value of the key and of no other option, value 2",
    )
    assert told["blind answer"][0] == told["verifier"][0] == "yes"
    assert told["1"] == ("no", "gates: wrong_key: it is 3")
    lost = bank.detail(bank.rows[1].id)
    assert lost.sections[0].entries[0].text == "There is no question."
    assert [call["usd"] for call in bank.lineage(bank.rows[0].id).calls] == [0.5]
    with pytest.raises(StoreError, match="has no question x"):
        bank.detail("x")
