"""The item graph over real multiple-choice sets: a solver of known accuracy gives the acceptance that arithmetic expects.

Folder `mcq`: `aqua_*.json` with one question a line, and `mmlu/*.csv` with question, four options and key.
"""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import Any

import pytest

from qagen_dagster.loop.exams import code_checks
from qagen_dagster.loop.exams.run_part import slot_result, work_item
from qagen_dagster.loop.exams.state_machine import ItemLimits
from qagen_dagster.records.exams.bank import ProofStatus, SlotResult
from qagen_dagster.records.exams.submissions import QuestionPackage
from qagen_dagster.records.ids import digest
from tests.support.exams.play import ExamPlay, journal, solved, work

REAL = Path(os.environ.get("QAGEN_REAL_DATA", ""))
ACCURACY = 0.8
SHARE = 6  # each sixth question: all of them take minutes and say the same

pytestmark = pytest.mark.real


def packages() -> list[dict[str, Any]]:
    """Questions of all sets with distinct options and a key among them, as an implementer would submit it."""
    found: list[dict[str, Any]] = []
    for path in sorted((REAL / "mcq").glob("aqua_*.json")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            options = {option[0]: option[2:] for option in row["options"]}
            found.append(package(row["question"], options, row["correct"], row["rationale"]))
    for path in sorted((REAL / "mcq" / "mmlu").glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            for question, *options, key in csv.reader(file):
                found.append(package(question, dict(zip("ABCD", options, strict=True)), key, "see the book"))
    return [one for one in found if readable(one)][::SHARE]


def package(stem: str, options: dict[str, str], key: str, rationale: str) -> dict[str, Any]:
    paths = {one: f"the {number}. mistake leads here" for number, one in enumerate(options) if one != key}
    return {
        "question": {"stem": stem, "options": options, "correct_option": key},
        "solution": {"reasoning": rationale or "-", "key_insight": "see there"},
        "distractor_map": paths,
        "check": None,
    }


def readable(fields: dict[str, Any]) -> bool:
    try:
        QuestionPackage.model_validate(fields)
    except ValueError:
        return False
    return True


def right(stem: str, attempt: int) -> bool:
    """Whether the oracle is right this time: four times out of five, by the question and the attempt."""
    return int(digest(stem, str(attempt))[:8], 16) / 16**8 < ACCURACY


def oracle(fields: dict[str, Any], attempt: int) -> dict[str, Any]:
    question = fields["question"]
    if right(question["stem"], attempt):
        return solved(question["correct_option"])
    return solved(next(one for one in sorted(question["options"]) if one != question["correct_option"]))


def run(fields: dict[str, Any], root: Path, slot: int, retries: int, **settings: Any) -> SlotResult:
    play = ExamPlay(
        implement=lambda _slot, _attempt: fields, solve=lambda _slot, attempt: oracle(fields, attempt)
    )
    chosen = work(play, slot, ItemLimits(max_implementer_retries=retries), **settings)
    return slot_result(chosen, work_item(chosen, journal(root, slot), ()), "f")


@pytest.mark.parametrize("retries", [0, 2])
def test_acceptance_is_what_the_oracles_accuracy_gives(retries: int, tmp_path: Path) -> None:
    chosen = packages()
    assert len(chosen) > 250, f"no sets under {REAL}: QAGEN_REAL_DATA names the folder"
    accepted = 0
    expected = 0
    for slot, fields in enumerate(chosen, 1):
        found = run(fields, tmp_path, slot, retries)
        hits = [attempt for attempt in range(1, retries + 2) if right(fields["question"]["stem"], attempt)]
        expected += bool(hits)
        accepted += found.item is not None
        if found.item is not None:
            assert found.item.attempts == hits[0]
        else:
            assert found.rejected is not None
            assert (found.rejected.stage, found.rejected.attempts) == ("blind_solution", retries + 1)
    assert accepted == expected
    share = 1 - (1 - ACCURACY) ** (retries + 1)
    deviation = (share * (1 - share) / len(chosen)) ** 0.5
    assert abs(accepted / len(chosen) - share) < 3 * deviation


def test_the_row_with_a_wrong_key_is_caught_by_its_form(tmp_path: Path) -> None:
    """Three birds at 900 km per hour: the set says 32400 miles per minute, and 9 is right, which no option is."""
    path = REAL / "mcq" / "aqua_dev.json"
    row = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
    options = {option[0]: option[2:] for option in row["options"]}
    fields = package(row["question"], options, row["correct"], row["rationale"])
    fields["check"] = {"givens": {"v": "900", "r": "0.6", "m": "60"}, "expression": "v*r/m"}
    examined = code_checks.examine(QuestionPackage.model_validate(fields))
    assert examined.proof.status is ProofStatus.REFUTED
    found = run(fields, tmp_path, 1, retries=0, examine=code_checks.examine)
    assert found.rejected is not None
    assert (found.rejected.stage, found.rejected.failure_type) == ("gates", "no_option_has_the_value")
    fields["check"] = None
    missed = run(fields, tmp_path / "without", 2, retries=0, examine=code_checks.examine)
    assert missed.rejected is None or missed.rejected.stage != "gates", "without a form code cannot know"
