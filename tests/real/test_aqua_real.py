"""The known-wrong first row of AQuA's development set is caught by its checkable form; most options of the set are read as values."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from qagen_dagster.loop.exams import code_checks
from qagen_dagster.mathematics.expressions import Unreadable
from qagen_dagster.mathematics.sandbox import Sandbox
from qagen_dagster.mathematics.value_reading import read_value
from qagen_dagster.records.exams.bank import ProofStatus
from qagen_dagster.records.exams.submissions import QuestionPackage

REAL = Path(os.environ.get("QAGEN_REAL_DATA", ""))

pytestmark = pytest.mark.real


def rows() -> list[dict[str, Any]]:
    lines = (REAL / "mcq" / "aqua_dev.json").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def options(row: dict[str, Any]) -> dict[str, str]:
    return {text[0]: text[2:].strip() for text in row["options"]}


def package(row: dict[str, Any], expression: str, **givens: str) -> QuestionPackage:
    key = row["correct"]
    return QuestionPackage.model_validate(
        {
            "question": {"stem": row["question"], "options": options(row), "correct_option": key},
            "solution": {"reasoning": row["rationale"], "key_insight": "none"},
            "distractor_map": {
                letter: f"a mistake that leads to option {letter}" for letter in options(row) if letter != key
            },
            "check": {"givens": givens, "expression": expression},
        }
    )


def test_the_first_row_is_refuted_and_the_second_proven() -> None:
    first, second = rows()[:2]
    with Sandbox() as box:
        wrong = code_checks.examine(package(first, "v*f/60", v="900", f="0.6"), box)
        right = code_checks.examine(package(second, "solve((x+c)*b-x*a,x)[0]", a="240", b="60", c="750"), box)
    assert wrong.proof.status is ProofStatus.REFUTED
    assert code_checks.NONE_RIGHT in [fault.name for fault in wrong.faults]
    assert right.proof.status is ProofStatus.PROVEN


def test_most_options_of_the_set_are_read_as_values_and_the_others_are_told_why() -> None:
    texts = [text for row in rows() for text in options(row).values()]
    why: dict[str, int] = {}
    for text in texts:
        try:
            read_value(text)
        except Unreadable as error:
            kind = re.split("[:;]", str(error))[0]
            why[kind] = why.get(kind, 0) + 1
    assert len(texts) > 1_000
    assert sum(why.values()) < 0.35 * len(texts), why
