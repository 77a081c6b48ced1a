"""The samples' shape: Inspect AI itself is too large to be needed here (docs/exams.md says how to load them)."""

from __future__ import annotations

import json

from qagen_dagster.publishing.exams.formats import InspectSamples
from qagen_dagster.records.exams.item import LETTERS
from tests.support.exams.items import HARD_STEM, bank, hard_item, item


def test_each_line_is_a_sample() -> None:
    plain, hard = item(), hard_item()
    lines = InspectSamples().export(bank(plain, hard))["inspect.jsonl"].decode().splitlines()
    first, second = map(json.loads, lines)
    assert set(first) == {"id", "input", "choices", "target", "metadata"}
    assert (first["id"], first["choices"], first["target"]) == (plain.id, ["$1$", "$2$", "$3$", "$4$"], "B")
    assert second["input"] == HARD_STEM
    assert second["choices"][LETTERS.index(second["target"])] == "$\\dfrac{3}{4}$"
    assert second["metadata"]["difficulty"] == "hard"
    assert set(second["metadata"]["distractor_map"]) == set("BCDE")
