"""Item-writing flaws: each criterion in items that have it, and in near ones that do not."""

from __future__ import annotations

from typing import Any

import pytest

from qagen_dagster.loop.exams.code_checks import flaws_of
from qagen_dagster.loop.exams.state_machine import finding_of
from qagen_dagster.records.exams.bank import Attempt, Examination, Stage
from qagen_dagster.records.exams.config import StyleThresholds
from qagen_dagster.records.exams.submissions import StyleReport
from tests.support.exams.items import package, question
from tests.support.exams.play import styled

WORDS = ("kinetic energy", "momentum", "power", "impulse")
CASES: list[tuple[str, tuple[str, ...], set[str]]] = [
    ("What is $1 + 1$?", ("$1$", "$2$", "$3$", "$4$"), set()),
    ("Which quantity is conserved?", WORDS, set()),
    ("Which of these is not a vector?", WORDS, {"negative_wording"}),
    ("All are scalars except which?", WORDS, {"negative_wording"}),
    ("A graph, not drawn to scale, is shown. What is $x$?", WORDS, set()),
    ("The unit of force is ____, is it not?", WORDS, {"fill_in_the_blank"}),
    ("A body moves at rest.", WORDS, {"unfocused_stem"}),
    ("Find the speed.", WORDS, set()),
    ("Which quantity?", (*WORDS[:3], "None of the above"), {"none_of_the_above"}),
    ("Which quantity?", (*WORDS[:3], "all of these"), {"all_of_the_above"}),
    ("What happens?", ("it never falls", "it falls", "it rises", "it stays"), {"absolute_terms"}),
    ("What happens?", ("it usually falls", "it falls", "it rises", "it stays"), {"vague_terms"}),
    ("Which statements hold?", ("I and III only", "I", "II", "III"), {"complex_or_k_type"}),
    ("Which statements hold?", ("both A and B", "A", "C", "none"), {"complex_or_k_type"}),
    ("Is it true?", ("True", "False", "Neither true.", "false"), {"true_or_false"}),
    ("What is it?", ("mass", "the rate at which the momentum of the body changes", "power", "time"), {"longest_option_correct"}),
    ("What is the refraction?", ("mass", "a refraction of light", "heat", "sound wave"), {"word_repeats"}),
    ("What is $x$?", ("$3$", "$2$", "$9$", "$4$"), {"lost_sequence"}),
    ("What is $x$?", ("$9$ m", "$4$ m", "$3$ m", "$2$ m"), set()),
    ("What is $x$?", ("$\\frac12$", "$0.5$", "$0.7$", "$0.9$"), {"more_than_one_correct"}),
    ("Choose: the instrument is an", ("barometer", "ammeter", "voltmeter", "thermometer"), {"grammatical_cues"}),
    ("Where does it go?", ("east, slow", "west, fast", "west, slow", "west, late"), set()),
    ("What is $v$?", ("$3a+b$", "$2a+b$", "$2a-c$", "$2d+b$"), {"convergence_cues"}),
]  # fmt: skip


def flaws(stem: str, options: tuple[str, ...], style: StyleReport | None = None) -> dict[str, str]:
    asked = question(stem, "B", **dict(zip("ABCD", options, strict=True)))
    return flaws_of(package(asked, check=None), style)


@pytest.mark.parametrize(("stem", "options", "wanted"), CASES)
def test_each_criterion_is_found_and_no_other(stem: str, options: tuple[str, ...], wanted: set[str]) -> None:
    assert set(flaws(stem, options)) == wanted


def test_the_judge_adds_what_code_cannot_find() -> None:
    judged = [{"criterion": "logical_cues", "detail": "the stem rules out three options"}]
    style = StyleReport.model_validate(styled(flaws=judged))
    assert flaws("Find the speed.", WORDS, style) == {"logical_cues": judged[0]["detail"]}
    assert StyleReport.model_validate_json(style.model_dump_json()) == style
    assert "flaws" not in StyleReport.model_validate(styled()).model_dump()


@pytest.mark.parametrize(
    ("most", "styles", "caught"),
    [
        (None, {}, None),
        (2, {}, None),
        (1, {}, Stage.GATES),
        (2, {"flaws": [{"criterion": "logical_cues", "detail": "it says so"}]}, Stage.STYLE_JUDGE),
    ],
)
def test_more_flaws_than_the_limit_reject_an_attempt(
    most: int | None, styles: dict[str, Any], caught: Stage | None
) -> None:
    asked = question("Which is not so?", "B", A="never", B="so", C="then", D="thus")
    style = StyleReport.model_validate(styled(**styles)) if styles else None
    attempt = Attempt(number=1, package=package(asked, check=None), examination=Examination(), style=style)
    found = finding_of(attempt, StyleThresholds(most_flaws=most))
    assert (found and found.stage) == caught
    if found is not None:
        assert "negative_wording: the stem says" in found.instructions


def test_without_a_limit_thresholds_are_written_as_before() -> None:
    assert StyleThresholds().model_dump_json() == '{"least_score":7,"least_mean":8.0}'
