"""Slots of exams in the catalog: what became of them, who caught which attempt, and what each cost by role."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from qagen_dagster.catalog.bank_rows import slot_rows
from qagen_dagster.catalog.database import rebuild, snapshot
from qagen_dagster.loop.exams import code_checks
from qagen_dagster.loop.exams.run_part import slot_result, work_item
from qagen_dagster.loop.exams.state_machine import ItemLimits
from qagen_dagster.records.base import Difficulty
from qagen_dagster.records.decisions import BY_REVIEWER
from qagen_dagster.records.exams.bank import DUPLICATE_STAGE, REVIEW_STAGE, RejectedItem, SlotResult
from qagen_dagster.records.exams.submissions import Severity
from tests.support.exams.play import ExamPlay, item_limits, journal, made, solved, work


def slot(root: Path, number: int, play: ExamPlay, limits: ItemLimits | None = None) -> SlotResult:
    chosen = work(play, number, limits, code_checks.examine)
    found = slot_result(chosen, work_item(chosen, journal(root, number), ()), "fp")
    return found.model_copy(update={"run_id": "r1", "finished": "2026-01-02T03:04:05+01:00"})


def without_key(_slot: int, attempt: int) -> dict[str, Any]:
    """The first attempt has a wrong key."""
    fields = made(5, 7)
    if attempt == 1:
        fields["question"]["correct_option"] = "C"
        fields["distractor_map"]["B"] = fields["distractor_map"].pop("C")
    return fields


def rejected(number: int, stage: str, failure_type: str, why: str) -> RejectedItem:
    return RejectedItem(
        exam="trial",
        schema_id="M1",
        schema_title="Scaling",
        difficulty=Difficulty.EASY,
        slot=number,
        stage=stage,
        failure_type=failure_type,
        severity=Severity.FIXABLE,
        reasons=(why,),
        attempts=1,
        timestamp="2026-01-02T03:04:05+01:00",
    )


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("catalog")
    misses = ExamPlay(solve=lambda _slot, _attempt: solved("D"))
    results = [
        slot(root, 1, ExamPlay(implement=without_key)),
        slot(root, 2, misses, item_limits(retries=0)),
        slot(root, 3, ExamPlay()),
        slot(root, 4, ExamPlay()),
    ]
    left_out = {
        3: rejected(3, DUPLICATE_STAGE, "duplicate", "it repeats M1-easy-0: the stems are the same"),
        4: rejected(4, REVIEW_STAGE, BY_REVIEWER, "ida: two readings"),
    }
    rows = [
        row
        for one in results
        for row in slot_rows(one, "Scaling", {"verifier": "v:1"}, left_out.get(one.slot))
    ]
    file = root / "catalog.duckdb"
    counts = rebuild(rows, file)
    assert (counts["exam_items"], counts["exam_attempts"]) == (4, 5)
    return file


def asked(path: Path, question: str) -> list[tuple[Any, ...]]:
    with snapshot(path) as connection:
        return connection.execute(question).fetchall()


def test_what_became_of_each_slot(path: Path) -> None:
    rows = asked(
        path,
        "SELECT slot, outcome, caught_by, failure_type, key_proof, blind_option, attempts FROM exam_items",
    )
    assert rows == [
        (1, "accepted", None, None, "proven", "B", 2),
        (2, "rejected", "blind_solution", "key_not_reached", "proven", "D", 1),
        (3, "repeated", "repeats", "duplicate", "proven", "B", 1),
        (4, "rejected", "review", "rejected_by_reviewer", "proven", "B", 1),
    ]
    (first,) = asked(
        path,
        "SELECT exam, schema_id, schema_title, difficulty, item_id, options['B'], models['verifier'], "
        "style_least, round(style_mean, 2), finished::VARCHAR FROM exam_items WHERE slot = 1",
    )
    assert first[:4] == ("trial", "M1", "Scaling", "easy")
    assert first[4].startswith("M1-easy-")
    assert first[5:] == ("$35$", "v:1", 8, 8.17, "2026-01-02 02:04:05")


def test_who_caught_each_attempt(path: Path) -> None:
    rows = asked(
        path,
        "SELECT slot, attempt, caught_by, failure_type, key_option, key_proof, style_mean IS NULL FROM exam_attempts",
    )
    assert rows == [
        (1, 1, "gates", "key_is_not_the_value", "C", "refuted", True),
        (1, 2, None, None, "B", "proven", False),
        (2, 1, "blind_solution", "key_not_reached", "B", "proven", True),
        (3, 1, None, None, "B", "proven", False),
        (4, 1, None, None, "B", "proven", False),
    ]


def test_cost_by_attempt_and_role(path: Path) -> None:
    rows = asked(path, "SELECT attempt, role, calls FROM exam_costs WHERE slot = 1")
    assert rows == [
        (1, "designer", 1),
        (1, "implementer", 1),
        (2, "implementer", 1),
        (2, "style_judge", 1),
        (2, "verifier", 2),
    ]
    (total,) = asked(
        path, "SELECT count(*), sum(input_tokens) > 0, sum(retries) FROM exam_calls WHERE counted"
    )
    assert total == (6 + 3 + 5 + 5, True, 0)
