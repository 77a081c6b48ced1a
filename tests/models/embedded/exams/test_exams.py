"""The embedded model in the four exam roles: every key is re-solved here by formulas of the tests' own."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest

from qagen_dagster.loop.exams.code_checks import examine
from qagen_dagster.loop.exams.duplicates import find_duplicates
from qagen_dagster.mathematics.sandbox import Sandbox
from qagen_dagster.models.embedded.exams.family import Family
from qagen_dagster.models.embedded.exams.roles import FAMILIES, different_items, question_of
from qagen_dagster.models.embedded.provider import EmbeddedProvider
from qagen_dagster.models.messages import Request, Text, ToolSpec, UserMessage
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.exams.bank import ExamItem, ProofStatus
from qagen_dagster.records.exams.submissions import (
    BlindSolution,
    IdeaPlan,
    QuestionPackage,
    StyleReport,
    VerifierReport,
    sample_of,
)
from tests.support.exams.items import item
from tests.support.exams.resolve import answer, numbers, option

SEED = 7
PARTS = [(family.schema, family.difficulty) for family in FAMILIES]


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    with Sandbox() as box:
        yield box


def ask(model: str, tool: str, prompt: str, sample: int = 0) -> dict[str, Any]:
    provider = EmbeddedProvider(ModelSpec(provider="embedded", model=f"exam-{model}"))
    request = Request(
        system="",
        messages=(UserMessage(content=(Text(text=prompt),)),),
        tools=(ToolSpec(name=tool, description="", parameters={}),),
        sample=sample,
    )
    response = provider.read(provider.send(request))
    assert response.model == f"embedded:exam-{model}"
    (call,) = response.message.tool_calls
    assert call.name == tool
    return call.arguments


def package_of(
    schema: str, difficulty: str, slot: int, *, seed: int = SEED, attempt: int = 1
) -> QuestionPackage:
    prompt = f"Schema: {schema} (a title)\nDifficulty: {difficulty}\n\n<idea_plan>\nx\n</idea_plan>"
    return QuestionPackage.model_validate(
        ask("implementer", "submit_question", prompt, sample_of(seed, slot, attempt))
    )


def shown(package: QuestionPackage) -> str:
    options = "\n".join(f"{letter}: {text}" for letter, text in package.question.options.items())
    return f"<stem>\n{package.question.stem}\n</stem>\n\n<options>\n{options}\n</options>"


def near(left: float, right: float) -> bool:
    return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-9)


def test_every_schema_has_every_difficulty() -> None:
    assert list(dict.fromkeys(schema for schema, _ in PARTS)) == [
        f"{line}{number}" for line in "MP" for number in range(1, 8)
    ]
    assert len(PARTS) == len(set(PARTS)) == 42


@pytest.mark.parametrize(("schema", "difficulty"), PARTS)
def test_an_idea_has_all_fields_no_digit_and_no_equation(schema: str, difficulty: str) -> None:
    plan = IdeaPlan.model_validate(
        ask("designer", "submit_idea", f"Schema: {schema} (a title)\nDifficulty: {difficulty}\n")
    )
    assert plan.schema_id == schema
    words = plan.model_dump_json(exclude={"schema_id"})
    assert not any(char.isdigit() or char == "=" for char in words)
    assert len(set(plan.intended_wrong_paths)) >= 3


@pytest.mark.parametrize("slots", [(1,), pytest.param((2, 3, 4), marks=pytest.mark.long)])
@pytest.mark.parametrize(("schema", "difficulty"), PARTS)
def test_keys_are_right_options_differ_and_no_gate_objects(
    schema: str, difficulty: str, slots: tuple[int, ...], box: Sandbox
) -> None:
    for slot in slots:
        package = package_of(schema, difficulty, slot)
        wanted = answer(package.question.stem)
        values = {letter: option(text) for letter, text in package.question.options.items()}
        assert [letter for letter, value in values.items() if near(value, wanted)] == [
            package.question.correct_option
        ], package.question
        assert not any(near(left, right) for left, right in combinations(values.values(), 2))
        style = StyleReport.model_validate(ask("style-judge", "submit_style", shown(package)))
        assert style.verdict.value == "PASS"
        found = examine(package, box)
        assert found.faults == ()
        surplus = found.proof.detail.startswith("the form does not use")
        assert found.proof.status is (ProofStatus.UNPROVEN if surplus else ProofStatus.PROVEN)


@pytest.mark.parametrize(("schema", "difficulty"), PARTS)
def test_the_verifier_finds_the_key_from_stem_and_options(schema: str, difficulty: str) -> None:
    package = package_of(schema, difficulty, 2, seed=11)
    blind = BlindSolution.model_validate(ask("verifier", "submit_solution", shown(package)))
    assert blind.chosen_option == package.question.correct_option
    assert blind.right_options == (package.question.correct_option,)
    report = VerifierReport.model_validate(ask("verifier", "submit_verdict", shown(package)))
    assert report.verdict.value == "PASS"


@pytest.mark.parametrize(("count", "least"), [(10, 9), pytest.param(50, 40, marks=pytest.mark.long)])
@pytest.mark.parametrize(("schema", "difficulty"), PARTS)
def test_many_items_of_a_family_differ_and_their_keys_are_right(
    schema: str, difficulty: str, count: int, least: int
) -> None:
    items: list[ExamItem] = []
    for slot in range(1, count + 1):
        package = package_of(schema, difficulty, slot)
        wanted = answer(package.question.stem)
        right = [letter for letter, text in package.question.options.items() if near(option(text), wanted)]
        assert right == [package.question.correct_option], package.question
        items.append(item(id=f"slot-{slot}", question_package=package))
    most = 26 if (schema, difficulty) == ("M1", "hard") else count
    assert len(items) - len(find_duplicates(items)) >= min(least, most)


def test_no_item_repeats_another() -> None:
    items = [
        item(id=f"{schema}-{difficulty}-{slot}", question_package=package_of(schema, difficulty, slot))
        for schema, difficulty in PARTS
        for slot in (1, 2, 3, 4)
    ]
    assert find_duplicates(items) == {}


def test_the_seed_decides_and_a_retry_takes_other_numbers() -> None:
    first = package_of("M2", "medium", 1)
    assert package_of("M2", "medium", 1) == first
    assert package_of("M2", "medium", 1, seed=8) != first
    assert any(
        package_of("M2", "medium", 1, attempt=number).question.stem != first.question.stem
        for number in (2, 3)
    )
    assert len({package_of("P1", "easy", slot).question.stem for slot in range(1, 9)}) == 8


@pytest.mark.parametrize("seed", [7, 20, 301])
def test_letters_of_keys_are_even_in_each_cell_and_over_the_bank(seed: int) -> None:
    letters = [
        [package_of(schema, difficulty, slot, seed=seed).question.correct_option for slot in range(1, 7)]
        for schema, difficulty in PARTS
    ]
    assert all(len(set(cell[:5])) == 5 for cell in letters)
    counts = Counter(letter for cell in letters for letter in cell)
    assert max(counts.values()) - min(counts.values()) <= 1
    assert len({tuple(cell) for cell in letters}) > len(letters) / 2  # no pattern that tells the next one


def test_each_cell_has_one_template_in_four_settings_or_more() -> None:
    cells = Counter((family.schema, family.difficulty) for family in FAMILIES)
    assert (len(cells), set(cells.values())) == (42, {1})
    assert Counter(family.contexts for family in FAMILIES) == {4: 41, 8: 1}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: f"{family.schema}-{family.difficulty}")
def test_no_named_mistake_leads_to_the_key(family: Family) -> None:
    for slot in range(1, 7):
        made, wrong = question_of(family, SEED, slot, 1)
        walked = [option(text) for text in made.wrong if text is not None]
        assert not any(near(value, option(made.key)) for value in walked), made
        assert len({path for _, path in wrong}) == 4


def test_no_option_is_impossible_in_its_setting() -> None:
    for slot in range(1, 13):
        crash = package_of("P1", "medium", slot).question
        mass, speed = (
            float(found) for found in re.findall(r"\$(\d+)\$ (?:kg moving|kg flies|m s)", crash.stem)[:2]
        )
        assert all(option(text) <= mass * speed**2 / 2 for text in crash.options.values()), crash
        run = package_of("P3", "hard", slot).question
        start, seconds = (float(found) for found in re.findall(r"\$(\d+)\$ (?:m s|s\.)", run.stem)[:2])
        if "sprinter" in run.stem or "cyclist" in run.stem:
            assert start * seconds / 2 <= 12, run  # the greatest speed
        change = package_of("M1", "hard", slot).question
        assert option(change.options[change.correct_option]) < 1_000


CRUDE: list[tuple[str, str, Callable[[list[Fraction]], float]]] = [
    ("M1", "medium", lambda n: 2 * n[0] / math.sqrt(n[1])),  # doubles instead of squaring
    ("M1", "medium", lambda n: n[0] ** 2 / (n[1] / 2)),  # halves instead of taking the root
    ("M7", "easy", lambda n: (n[0] / 4) ** 2),  # a square, whatever the parts
    ("P2", "medium", lambda n: n[1] * n[0] * 2),
    ("P6", "hard", lambda n: n[0] * 2 // n[1]),  # maxima half a wavelength apart, without the phase
    ("P7", "medium", lambda n: (n[-2] / n[-1]) ** 2),
    ("P7", "hard", lambda n: n[1]),  # the width
]


@pytest.mark.parametrize(("schema", "difficulty", "way"), CRUDE)
def test_no_crude_way_leads_to_the_key(
    schema: str, difficulty: str, way: Callable[[list[Fraction]], float]
) -> None:
    for slot in range(1, 25):
        question = package_of(schema, difficulty, slot).question
        key = option(question.options[question.correct_option])
        assert not near(float(way(numbers(question.stem))), key), question


@pytest.mark.parametrize(
    ("schema", "difficulty", "setting", "least", "most"),
    [
        ("P6", "easy", "loudspeakers", lambda _: 20, lambda _: math.inf),  # what is heard as a note
        ("P7", "hard", "", lambda _: 0, lambda n: n[0]),  # the height of the body
        ("P5", "easy", "", lambda _: 0, lambda _: 1),  # g
    ],
)
def test_every_option_is_possible_in_its_setting(
    schema: str,
    difficulty: str,
    setting: str,
    least: Callable[[list[Fraction]], float],
    most: Callable[[list[Fraction]], float],
) -> None:
    for slot in range(1, 25):
        question = package_of(schema, difficulty, slot).question
        given = numbers(question.stem)
        values = [option(text) for text in question.options.values()] if setting in question.stem else []
        assert all(least(given) <= value <= most(given) for value in values), question


def test_the_verifier_is_not_led_by_a_wrong_option() -> None:
    package = package_of("P3", "easy", 1)
    key = package.question.correct_option
    options = {letter: text for letter, text in package.question.options.items() if letter != key}
    without = shown(package).replace(f"{key}: {package.question.options[key]}\n", "")
    assert len(options) == len(package.question.options) - 1
    blind = BlindSolution.model_validate(ask("verifier", "submit_solution", without))
    assert (blind.chosen_option, blind.right_options) == (None, ())
    twice = shown(package).replace("</options>", f"H: {package.question.options[key]}\n</options>")
    blind = BlindSolution.model_validate(ask("verifier", "submit_solution", twice))
    assert (blind.chosen_option, blind.right_options) == (None, (key, "H"))
    assert VerifierReport.model_validate(ask("verifier", "submit_verdict", twice)).verdict.value == "FAIL"


def test_a_stem_it_does_not_know_is_said_so() -> None:
    prompt = "<stem>\nHow many angels dance on a pin?\n</stem>\n\n<options>\nA: $1$\nB: $2$\n</options>"
    blind = BlindSolution.model_validate(ask("verifier", "submit_solution", prompt))
    assert blind.chosen_option is None
    assert "no method" in blind.reasoning


def test_style_is_counted_not_felt() -> None:
    good = StyleReport.model_validate(ask("style-judge", "submit_style", shown(package_of("M1", "easy", 1))))
    assert good.verdict.value == "PASS"
    long = "<stem>\n" + "word " * 200 + "12345678\n</stem>\n\n<options>\nA: $1$\n</options>"
    bad = StyleReport.model_validate(ask("style-judge", "submit_style", long))
    assert bad.verdict.value == "FAIL"
    assert min(bad.scores.values) < 7


@pytest.mark.parametrize(
    ("schema", "difficulty", "few", "slots"),
    [
        ("M1", "hard", True, 30),
        ("M4", "easy", False, 60),
        pytest.param("M1", "hard", True, 60, marks=pytest.mark.long),
        pytest.param("M3", "medium", True, 60, marks=pytest.mark.long),
    ],
)
def test_a_cell_says_how_many_different_items_it_can_give(
    schema: str, difficulty: str, few: bool, slots: int
) -> None:
    most = different_items(schema, difficulty)
    made = {
        (package.check.expression, *sorted(package.check.givens.items()))
        for slot in range(1, slots + 1)
        if (package := package_of(schema, difficulty, slot)).check is not None
    }
    assert len(made) <= most <= 100
    assert (most < 60) is few
