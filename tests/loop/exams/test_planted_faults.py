"""Forty questions with a planted fault each: code rejects what code can decide, the verifier gets the rest, and the journal says who caught what."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from qagen_dagster.loop.exams import code_checks
from qagen_dagster.loop.exams.run_part import slot_result, work_item
from qagen_dagster.loop.exams.state_machine import Ended, ItemLimits
from qagen_dagster.mathematics import sandbox
from qagen_dagster.models.messages import Request
from qagen_dagster.records.exams.submissions import read_sample
from tests.support.exams.play import PASS, WORDS, ExamPlay, journal, made, solved, work
from tests.support.models import FakeModel, call, told

Fields = dict[str, Any]
ONCE = ItemLimits(max_implementer_retries=0)
_STEM = re.compile(r"product of \$(\d+)\$ and \$(\d+)\$")
_OPTION = re.compile(r"^([A-H]): \$(\d+)\$$", re.MULTILINE)


def good(number: int) -> Fields:
    return made(number + 3, 7)


def key(letter: str, *, check: bool = True) -> Callable[[Fields], None]:
    def plant(fields: Fields) -> None:
        fields["question"]["correct_option"] = letter
        paths = (one for one in "ABCD" if one != letter)
        fields["distractor_map"] = {
            one: f"the {word} leads here" for one, word in zip(paths, WORDS, strict=False)
        }
        fields["check"] = fields["check"] if check else None

    return plant


def option(letter: str, text: str, *, check: bool = True) -> Callable[[Fields], None]:
    """`{v}` is the right value."""

    def plant(fields: Fields) -> None:
        value = int(fields["question"]["options"]["B"].strip("$"))
        said = re.sub(r"<(.*?)>", lambda found: str(value * int(found.group(1))), text)
        fields["question"]["options"][letter] = said
        fields["distractor_map"].setdefault(letter, f"the {WORDS[3]} leads here")
        fields["check"] = fields["check"] if check else None

    return plant


def letters(*kept: str) -> Callable[[Fields], None]:
    def plant(fields: Fields) -> None:
        options, paths = fields["question"]["options"], fields["distractor_map"]
        fields["question"]["options"] = {one: options.get(one, "$1000$") for one in kept}
        fields["distractor_map"] = {one: paths.get(one, "counted twice or so") for one in kept if one != "B"}

    return plant


def path(letter: str, text: str | None) -> Callable[[Fields], None]:
    def plant(fields: Fields) -> None:
        del fields["distractor_map"][letter]
        if text is not None:
            fields["distractor_map"][letter] = text

    return plant


def stem(more: str) -> Callable[[Fields], None]:
    def plant(fields: Fields) -> None:
        fields["question"]["stem"] = f"{more} {fields['question']['stem']}"

    return plant


def solution(text: str) -> Callable[[Fields], None]:
    def plant(fields: Fields) -> None:
        fields["solution"]["reasoning"] = text

    return plant


def asks_for_any(fields: Fields) -> None:
    """Several options are right, and only who understands the words can tell."""
    fields["question"]["stem"] += " Or what is any other whole number?"
    fields["check"] = None


def rounded(fields: Fields) -> None:
    fields["question"] |= {
        "stem": "What is the ratio of $2$ to $3$, and not the product of $2$ and $3$?",
        "options": {"A": "$0.5$", "B": "$0.667$", "C": "$0.75$", "D": "$0.8$"},
    }
    fields["check"] = {"givens": {"a": "2", "b": "3"}, "expression": "a/b"}


GATES, BLIND, VERIFIER, IMPLEMENTER = "gates", "blind_solution", "verifier", "implementer"
FAULTS: list[tuple[str, str, Callable[[Fields], None]]] = [
    *[(GATES, "key_is_not_the_value", key(letter)) for letter in "ACDACD"],
    *[(BLIND, "key_not_reached", key(letter, check=False)) for letter in "ACDA"],
    *[
        (GATES, r"several_options_have_the_value|options_equal_in_value", option(letter, text))
        for letter, text in [
            ("D", r"$\frac{<2>}{2}$"),
            ("A", r"$\dfrac{<3>}{3}$"),
            ("C", r"$<1>.0$"),
            ("E", r"$1 \times <1>$"),
            ("D", r"$2 \cdot \frac{<1>}{2}$"),
            ("C", r"$\frac{-<1>}{-1}$"),
        ]
    ],
    *[
        (GATES, "options_equal_in_value", option(letter, text, check=False))
        for letter, text in [("D", r"$\frac{<2>}{2}$"), ("A", r"$<1>.0$"), ("C", r"$\tfrac{<5>}{5}$")]
    ],
    *[(BLIND, "several_right_options", asks_for_any)] * 3,
    *[(IMPLEMENTER, "unusable_output", letters(*kept)) for kept in ("ABDE", "BCDE", "ABC", "BD")],
    *[
        (GATES, "distractor_without_path", path(letter, text))
        for letter, text in [("A", None), ("C", None), ("D", "slip"), ("A", "wrong answer")]
    ],
    (GATES, "unbalanced_latex", stem(r"Let $\frac{1}{2$ be given.")),
    (GATES, "unbalanced_latex", solution(r"It is $\sqrt{49 and so on.")),
    (GATES, "unbalanced_latex", option("E", r"$\left( <2> $")),
    (GATES, "unbalanced_latex", path("C", r"the square $x^{2 is taken by mistake")),
    (GATES, "calculator_only_numbers", stem("A rod of $3.14159$ m is given.")),
    (GATES, "calculator_only_numbers", stem("A mass of $8371953$ kg is given.")),
    (GATES, "calculator_only_numbers", option("E", "$17.8341$")),
    (GATES, "calculator_only_numbers", rounded),
    (VERIFIER, "ambiguity", stem("It is either of the two.")),
    (VERIFIER, "ambiguity", stem("Take either of the two.")),
]


def test_there_are_forty() -> None:
    assert len(FAULTS) == 40


def examiner(request: Request) -> dict[str, Any]:
    """A verifier that can multiply and read: it sees what stands in its requests and nothing else."""
    text = told(request)
    factors = _STEM.search(text)
    assert factors is not None
    value = int(factors[1]) * int(factors[2])
    if request.tools[0].name == "submit_verdict":
        if "either of the two" not in text:
            return PASS
        return {
            "verdict": "FAIL",
            "failure_type": "ambiguity",
            "reasons": ["which of the two is not said"],
            "severity": "fixable_with_regeneration",
            "regen_instructions": "say which",
        }
    found = [letter for letter, number in _OPTION.findall(text) if int(number) == value]
    if "any other whole number" in text:
        found = [letter for letter, _ in _OPTION.findall(text)]
    return solved(found[0] if len(found) == 1 else None, *found)


@pytest.mark.parametrize("number", range(len(FAULTS)))
def test_every_planted_fault_is_caught_by_whom_it_can(number: int, tmp_path: Path) -> None:
    stage, name, plant = FAULTS[number]
    fields = good(number)
    plant(fields)
    found = _run(fields, tmp_path)
    assert found.rejected is not None
    assert found.rejected.stage == stage, found.rejected.reasons
    assert re.fullmatch(name, found.rejected.failure_type), found.rejected.reasons
    caught = found.log[-1]
    assert (caught.stage.value, caught.ok) == (stage, False)
    assert re.search(name, caught.detail) or stage == IMPLEMENTER
    asked = {one.role for one in found.calls}
    assert ("verifier" in asked) == (stage in (BLIND, VERIFIER)), "no call is paid for what code can decide"


@pytest.mark.parametrize("number", [0, 17, 39])
def test_without_the_fault_the_same_question_passes(number: int, tmp_path: Path) -> None:
    assert _run(good(number), tmp_path).item is not None


HOSTILE = {
    "import os": "import os",
    "import and call": "__import__('os').system('touch {path}')",
    "infinite loop": "(lambda: [1 for _ in iter(int, 1)])()",
    "endless sum": "Sum(Sum(Sum(sqrt(i)*j*k,(i,1,2000)),(j,1,2000)),(k,1,2000))",
    "tower of powers": "10**10**10",
    "tower of factorials": "factorial(factorial(factorial(5)))",
    "memory bomb": "[0]*10**10",
    "memory bomb in arithmetic": "((((9**9)**9)**9)**9)**9",
    "file that is written": "open('{path}','w').write('x')",
    "file that is read": "open('/etc/passwd').read()",
}
SECONDS = 5.0  # that a hostile form may take, from a process that is warm


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_form_rejects_its_item_in_five_seconds_and_nothing_else_happens(
    name: str, tmp_path: Path
) -> None:
    sandbox.shared().compute([sandbox.Task("1")])
    path = tmp_path / "made"
    fields = good(1)
    fields["check"]["expression"] = HOSTILE[name].replace("{path}", str(path))
    with ThreadPoolExecutor(1) as thread:
        found = thread.submit(_run, fields, tmp_path / "journals").result(timeout=SECONDS)
    assert found.rejected is not None
    assert (found.rejected.stage, found.rejected.attempts) == ("gates", 1)
    assert {one.role for one in found.calls} == {"designer", "implementer"}, "nobody is asked about it"
    assert not path.exists()
    (outcome,) = sandbox.shared().compute([sandbox.Task("1+1")])
    assert isinstance(outcome, sandbox.Computed), "the next form is computed"


def _run(fields: Fields, root: Path) -> Any:
    play = ExamPlay(implement=lambda _slot, _attempt: fields)
    verifier = FakeModel(lambda request: call(request.tools[0].name, **examiner(request)), "verifier")
    play.fakes["verifier"] = verifier
    chosen = work(play, limits=ONCE, examine=code_checks.examine)
    worked = work_item(chosen, journal(root), ())
    assert all(read_sample(request.sample)[1] == 1 for request in verifier.requests)
    if worked.step == Ended():
        assert len(worked.state.attempts) == 1
    return slot_result(chosen, worked, "f")
