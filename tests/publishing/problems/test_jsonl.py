"""JSONL of problems: every line is a BankItem, taken apart as the LaTeX says."""

from __future__ import annotations

import json

from qagen_dagster.publishing.problems.formats import JsonLines
from qagen_dagster.records.problems.result import BankItem
from tests.support.problems.export import exported, record
from tests.support.problems.play import item, mcq

OTHER = "\\begin{solution}\n$v = 10$ by energy.\n\\end{solution}"


def test_an_item_a_line_with_its_parts() -> None:
    bank = exported(record(mcq(), alternates=[OTHER], conversions={"subjective": item()}))
    lines = JsonLines().export(bank)["items.jsonl"].decode().splitlines()
    assert [BankItem.model_validate_json(line) for line in lines] == list(bank.items)
    original, open_one = (json.loads(line) for line in lines)
    assert set(original) == set(BankItem.model_fields)
    assert (original["id"], original["problem"], original["made"]) == ("p-01", "p-01", "original")
    assert original["statement"].startswith("A cart starts from rest")
    assert original["statement"].endswith("$5\\,\\mathrm{s}$?"), "options stand apart"
    assert [one["right"] for one in original["options"]] == [True, False, False, False]
    assert original["options"][1]["text"] == "$11\\,\\mathrm{m\\,s^{-1}}$"
    assert original["answer"] == "10\\,\\mathrm{m\\,s^{-1}}"
    assert original["solution"].startswith("The speed is")
    assert original["alternates"] == [OTHER]
    assert original["classification"]["topic"] == "Kinematics"
    assert (open_one["id"], open_one["options"], open_one["alternates"]) == ("p-01--subjective", [], [])


def test_an_empty_bank_is_an_empty_file() -> None:
    assert JsonLines().export(exported()) == {"items.jsonl": b""}
