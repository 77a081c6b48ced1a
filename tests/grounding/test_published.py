"""Answers as the sample corpora publish them, and the same answers spoilt; the benchmark takes whole published sets."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.grounding.published import Published, verdicts

FOLDER = Path(__file__).parents[2] / "corpora" / "instrument_manuals" / "documents"
TEXT = (FOLDER / "ct15_probe_calibration.md").read_text(encoding="utf-8")
CASES = (
    (
        "When did distilled water become compulsory?",
        "1 March 2018",
        "Distilled water became compulsory on 1 March 2018.",
    ),
    (
        'According to the table in "Calibrating the CT-15 Conductivity Probe", what is the default value of the option `--samples`?',
        "30",
        "| `--samples` | `30` | Readings averaged for one point |",
    ),
    (
        'According to the table in "Calibrating the CT-15 Conductivity Probe", what is the default value of the option `--point`?',
        "high",
        "| `--point` | `high` | Which standard is in the beaker |",
    ),
    (
        'According to the table in "Calibrating the CT-15 Conductivity Probe", what is the default value of the option `--bath-temperature`?',
        "20.0",
        "| `--bath-temperature` | `20.0` | Temperature of the water bath in °C |",
    ),
    (
        "Why does the low point have a wider limit than the high point?",
        "because a small amount of rinse water left in the cell matters more in dilute seawater",
        "The low point has a wider limit than the high point, because a small amount of rinse water left in the cell matters more "
        "in dilute seawater.",
    ),
    (
        "What does evaporation raise?",
        "its salinity",
        "Evaporation raises its salinity after that, and the calibration would be wrong without anyone noticing.",
    ),
)


@pytest.mark.parametrize(("question", "answer", "quote"), CASES, ids=[answer for _, answer, _ in CASES])
def test_no_right_answer_is_unsupported_and_no_spoilt_one_supported(
    question: str, answer: str, quote: str
) -> None:
    found = list(verdicts([Published(question, answer, quote, TEXT)]))
    assert [said for kind, _, _, said in found if kind == "right"][1] is True  # the sentence itself
    assert all(said is not False for kind, _, _, said in found if kind == "right")
    assert [text for kind, _, text, said in found if kind != "right" and said is True] == []
    assert {kind for kind, *_ in found} >= {"right", "negation"}
