from __future__ import annotations

import json
from pathlib import Path

import pytest

from qagen_dagster.catalog.rows import Row
from qagen_dagster.loop.catalog import rows_of
from qagen_dagster.loop.exams.bank import (
    FILES,
    gather,
    is_bank_current,
    is_part_current,
    part_set,
    publish_bank,
)
from qagen_dagster.loop.exams.plan import ExamOptions, PartPlan, plan_part
from qagen_dagster.loop.review_decisions import append
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.base import Difficulty
from qagen_dagster.records.decisions import Decision, exam_key
from qagen_dagster.records.exams.bank import BankStats, ExamItem, ItemBank, SlotResult, Stage
from qagen_dagster.records.exams.submissions import ExamPart
from tests.support.exams.items import item, question
from tests.support.exams.mini import accepted, rejected, store_part, write_exam
from tests.support.project import Project


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    project = Project.make(tmp_path / "project")
    write_exam(project.corpora)
    return Workspace(project.settings(profile="embedded"))


def item_of(plan: PartPlan, stem: str) -> ExamItem:
    return item(question(stem), plan.part.schema_id, plan.part.difficulty)


def fill(space: Workspace) -> None:
    """M1 easy at the second attempt, M1 hard rejected, P2 easy repeats M1 easy, P2 hard accepted."""
    store_part(
        space, "mini/M1/easy", lambda plan, slot: accepted(plan, slot, item_of(plan, "One?"), Stage.GATES)
    )
    store_part(space, "mini/M1/hard", rejected)
    store_part(space, "mini/P2/easy", lambda plan, slot: accepted(plan, slot, item_of(plan, "ONE ?")))
    store_part(space, "mini/P2/hard", lambda plan, slot: accepted(plan, slot, item_of(plan, "Four?")))


def test_a_bank_has_what_was_accepted_without_repeats(space: Workspace) -> None:
    fill(space)
    found = gather(space, "mini")
    assert [(one.schema_id, one.difficulty.value) for one in found.bank.items] == [
        ("M1", "easy"),
        ("P2", "hard"),
    ]
    assert [(one.stage, one.failure_type) for one in found.rejected] == [
        ("verifier", "ambiguity"),
        ("repeats", "duplicate"),
    ]
    assert found.bank.items[0].id in found.rejected[1].reasons[0]
    stats = found.stats
    assert (stats.accepted, stats.rejected, stats.unfinished, stats.first_time) == (2, 2, 0, 1)
    assert stats.caught_by == {"gates": 1, "verifier": 1, "repeats": 1}
    assert stats.failure_types == {"ambiguity": 1, "duplicate": 1}
    assert stats.by_part["P2/easy"].rejected == 1
    assert stats.by_schema["M1"].model_dump() == {"accepted": 1, "rejected": 1}
    assert (stats.calls, stats.input_tokens, stats.usd) == (3, 30, 1.5)
    assert stats.models["verifier"] == ["embedded:exam-verifier"]


def slots(space: Workspace) -> dict[str, Row]:
    """The rows of exam items in the catalog, by the key of their part."""
    found = (row for table, row in rows_of(space.store) if table == "exam_items")
    return {f"{row['exam']}/{row['schema_id']}/{row['difficulty'].value}": row for row in found}


def test_the_catalog_has_every_slot_with_its_outcome_in_the_bank(space: Workspace) -> None:
    fill(space)
    assert "repeated" not in {one["outcome"] for one in slots(space).values()}, "no bank yet"
    publish_bank(space, "mini", "run-1")
    rows = slots(space)
    assert list(rows) == ["mini/M1/easy", "mini/M1/hard", "mini/P2/easy", "mini/P2/hard"]
    told = {key: one["detail"].partition(":")[0] for key, one in rows.items() if one["outcome"] == "repeated"}
    assert told == {"mini/P2/easy": f"it repeats {gather(space, 'mini').bank.items[0].id}"}
    assert rows["mini/M1/easy"]["schema_title"] == "Hidden Proportionality / Scaling"
    assert rows["mini/M1/easy"]["models"]["verifier"] == "embedded:exam-verifier"


def decide(space: Workspace, one: ExamItem, action: str, **more: str) -> Decision:
    given = {"set_key": exam_key("mini"), "question_id": one.id, "document_id": one.schema_id}
    texts = {"question": one.question.stem, "answer": one.question.correct_option, "reviewer": "ida"}
    decision = Decision.model_validate({**given, **texts, "action": action, **more})
    append(space, decision)
    return decision


def test_a_rejected_item_leaves_the_bank_until_the_decision_is_taken_back(space: Workspace) -> None:
    fill(space)
    before = publish_bank(space, "mini", "run-1").bank
    taken = decide(space, before.items[1], "reject", reason="two readings")
    decide(space, before.items[0], "accept")
    assert not is_bank_current(space, "mini")
    found = publish_bank(space, "mini", "run-2")
    assert found.bank.items == before.items[:1]
    assert (found.rejected[-1].stage, found.rejected[-1].failure_type) == ("review", "rejected_by_reviewer")
    assert found.rejected[-1].reasons == ("ida: two readings",)
    assert found.stats.caught_by["review"] == 1
    assert slots(space)["mini/P2/hard"]["caught_by"] == "review"
    decide(space, before.items[1], "undo", undoes=taken.id)
    assert publish_bank(space, "mini", "run-3").bank.items == before.items


def test_a_duplicate_takes_the_place_of_a_rejected_item(space: Workspace) -> None:
    fill(space)
    store_part(space, "mini/P2/hard", lambda plan, slot: accepted(plan, slot, item_of(plan, "One  ?")))
    first, *others = publish_bank(space, "mini", "run-1").bank.items
    assert others == []
    decide(space, first, "reject", reason="trivial")
    assert [one.schema_id for one in gather(space, "mini").bank.items] == ["P2"]


def test_files_are_as_described(space: Workspace) -> None:
    fill(space)
    found = publish_bank(space, "mini", "run-1")
    read = {name: space.store.read_bytes(ItemBank.file_key("mini", name)).decode() for name in FILES}
    items = [ExamItem.model_validate_json(line) for line in read["accepted.jsonl"].splitlines()]
    assert tuple(items) == found.bank.items
    assert len(read["rejected.jsonl"].splitlines()) == 2
    logs = [json.loads(line) for line in read["logs.jsonl"].splitlines()]
    assert logs[0]["part"] == "mini/M1/easy"
    assert logs[0]["raw_text"] == "\u00e9"
    assert BankStats.model_validate_json(read["stats.json"]) == found.stats
    exports = {key.rpartition("/")[2] for key in space.store.list("exams/mini/exports")}
    assert exports == {
        "qti-2.1.zip",
        "qti-3.0.zip",
        "canvas.zip",
        "moodle.xml",
        "gift.txt",
        "inspect.jsonl",
        "exam.tex",
        "preview.html",
    }
    assert {key.rpartition("/")[2] for key in space.store.list("exams/mini/history/run-1")} == set(FILES)


def test_the_same_bank_changes_nothing(space: Workspace) -> None:
    fill(space)
    assert not is_bank_current(space, "mini")
    assert publish_bank(space, "mini", "run-1").changed
    assert is_bank_current(space, "mini")
    assert publish_bank(space, "mini", "run-2").changed == ()
    assert space.store.list("exams/mini/history/run-2") == []


@pytest.mark.parametrize("name", [*FILES, "exports/gift.txt"])
def test_a_bank_whose_file_is_lost_is_not_current(space: Workspace, name: str) -> None:
    """A run may be killed between two files."""
    fill(space)
    publish_bank(space, "mini", "run-1")
    Path(space.store.path(ItemBank.file_key("mini", name))).unlink()
    assert not is_bank_current(space, "mini")
    assert publish_bank(space, "mini", "run-2").changed == (name,)
    assert is_bank_current(space, "mini")


def test_two_items_of_one_id_are_one(space: Workspace) -> None:
    options = ExamOptions(items=8)
    store_part(space, "mini/M1/easy", lambda plan, slot: accepted(plan, slot, item_of(plan, "One?")), options)
    found = gather(space, "mini")
    assert len(found.bank.items) == 1
    assert [one.slot for one in found.rejected] == [2]


def test_a_part_is_current_until_its_plan_changes(space: Workspace) -> None:
    part = ExamPart(exam="mini", schema_id="M1", difficulty=Difficulty.EASY)
    assert not is_part_current(space, plan_part(space, part, ExamOptions()))
    none = ExamOptions(schema_prefixes=["P"])
    assert is_part_current(space, plan_part(space, part, none)), "no slots, never run"
    fill(space)
    assert is_part_current(space, plan_part(space, part, ExamOptions()))
    assert not is_part_current(space, plan_part(space, part, ExamOptions(seed=3, replace=True)))
    assert not is_part_current(space, plan_part(space, part, ExamOptions(items=40)))
    assert is_part_current(space, plan_part(space, part, none)), "a smaller goal takes no slot"
    taken = ExamOptions(schema_prefixes=["P"], replace=True)
    assert not is_part_current(space, plan_part(space, part, taken)), "it has slots no longer"


def test_a_part_keeps_its_results_whatever_the_next_run_wants(space: Workspace) -> None:
    def one(plan: PartPlan, slot: int) -> SlotResult:
        return accepted(plan, slot, item_of(plan, f"{'abcdefgh'[slot - 1] * 9}?"))

    first = store_part(space, "mini/M1/easy", one, ExamOptions(items=8))
    assert list(first.numbers) == [1, 2]
    before = part_set(space, first.part)
    assert before is not None
    for options in (ExamOptions(), ExamOptions(seed=3), ExamOptions(items=8, max_designer_retries=0)):
        assert part_set(space, store_part(space, "mini/M1/easy", rejected, options).part) == before
    more = store_part(space, "mini/M1/easy", one, ExamOptions(items=12, seed=3))
    made = part_set(space, more.part)
    assert made is not None
    assert (made.results[:2], len(made.results), made.unfinished) == (before.results, more.slots, 0)
    assert (made.seed, more.others) == (3, 2)
    again = plan_part(space, more.part, ExamOptions(items=12, seed=3))
    assert (again.others, list(again.kept)) == (2, list(more.numbers))
    Path(space.store.path(before.results[0])).unlink()
    assert 1 not in plan_part(space, more.part, ExamOptions(items=12, seed=3)).kept, "a lost one is made anew"


def test_a_part_is_replaced_when_all_its_slots_have_ended(space: Workspace) -> None:
    fill(space)
    part = ExamPart(exam="mini", schema_id="M1", difficulty=Difficulty.EASY)
    before = part_set(space, part)
    wanted = ExamOptions(items=8, seed=0, max_designer_retries=0, replace=True)
    store_part(space, part.key, lambda plan, slot: rejected(plan, slot) if slot == 1 else None, wanted)
    assert part_set(space, part) == before
    plan = store_part(space, part.key, rejected, wanted)
    made = part_set(space, part)
    assert made is not None
    assert made.results == (plan.result_key(1), plan.result_key(2))


def test_an_item_that_is_added_does_not_take_the_place_of_a_published_one(space: Workspace) -> None:
    store_part(space, "mini/P2/easy", lambda plan, slot: accepted(plan, slot, item_of(plan, "One?")))
    (before,) = publish_bank(space, "mini", "run-1").bank.items
    store_part(space, "mini/M1/easy", lambda plan, slot: accepted(plan, slot, item_of(plan, "ONE ?")))
    found = gather(space, "mini")
    assert found.bank.items == (before,)
    assert [one.schema_id for one in found.rejected] == ["M1"]


def test_a_slot_without_a_result_is_unfinished(space: Workspace) -> None:
    def first_only(plan: PartPlan, slot: int) -> SlotResult | None:
        return accepted(plan, slot, item_of(plan, "One?")) if slot == 1 else None

    plan = store_part(space, "mini/M1/easy", first_only, ExamOptions(items=8))
    made = part_set(space, plan.part)
    assert made is not None
    assert (made.slots, len(made.results), made.unfinished) == (2, 1, 1)
    assert gather(space, "mini").stats.unfinished == 1
    assert not is_part_current(space, plan)


def test_an_exam_that_was_never_run_is_empty(space: Workspace) -> None:
    found = gather(space, "mini")
    assert (found.bank.items, found.rejected, found.stats.usd) == ((), (), 0.0)
