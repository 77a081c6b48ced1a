"""Proves the key of a question: compares the value of its checkable form with the value of every option.

Exactly one option may have that value, and it must be the key. `code_checks.py` derives faults from the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import get_args

from qagen_dagster.mathematics.expressions import Unreadable
from qagen_dagster.mathematics.forms import FormError
from qagen_dagster.mathematics.reading import Reading, read_unit, read_value
from qagen_dagster.mathematics.sandbox import Computed, Sandbox, Task
from qagen_dagster.mathematics.units import ONE
from qagen_dagster.mathematics.values import Quantity, equal, quantity, rounds_to
from qagen_dagster.records.exams.item import CheckableForm, ExamQuestion, Letter
from qagen_dagster.records.exams.proof import Proof, ProofStatus

_ORDER: tuple[Letter, ...] = get_args(Letter)


@dataclass(frozen=True)
class OptionValues:
    """The values of the options in the order of their letters, and why the other options have no value."""

    values: Mapping[Letter, Quantity]
    unread: Mapping[Letter, str]

    def equal_pairs(self) -> list[tuple[Letter, Letter]]:
        """Options with equal values, even if their texts differ."""
        return [
            (first, second)
            for first, second in combinations(self.values, 2)
            if equal(self.values[first], self.values[second])
        ]


@dataclass(frozen=True)
class Proving:
    """The proof; why the form has no value, if so; whether the values match only as rounded decimals."""

    proof: Proof
    failure: FormError | None = None
    rounded: bool = False


def option_values(options: Mapping[Letter, str], sandbox: Sandbox) -> OptionValues:
    """The value of every option that has one. Never raises because of a text."""
    readings: dict[Letter, Reading] = {}
    unread: dict[Letter, str] = {}
    for letter in _ORDER:
        if letter not in options:
            continue
        try:
            readings[letter] = read_value(options[letter])
        except Unreadable as error:
            unread[letter] = str(error)
    tasks = [Task(one.expression, free=one.symbols) for one in readings.values()]
    values: dict[Letter, Quantity] = {}
    for (letter, reading), outcome in zip(readings.items(), sandbox.compute(tasks), strict=True):
        if isinstance(outcome, Computed):
            values[letter] = quantity(reading, outcome.exact, outcome.numbers)
        else:
            unread[letter] = str(outcome)
    return OptionValues(values, unread)


def prove(
    question: ExamQuestion, check: CheckableForm | None, found: OptionValues, sandbox: Sandbox
) -> Proving:
    """Compute `check` and compare it with the options. Never raises because of a form."""
    if check is None:
        return Proving(Proof(status=ProofStatus.ABSENT, detail="there is no checkable form"))
    (outcome,) = sandbox.compute([Task(check.expression, check.givens)])
    if not isinstance(outcome, Computed):
        return Proving(
            Proof(status=ProofStatus.UNPROVEN, detail=f"the form has no value: {outcome}"), outcome
        )
    try:
        unit = read_unit(check.unit)
    except Unreadable:
        unit = ONE  # options are then compared without units
    value = Quantity(outcome.exact, outcome.numbers, unit)
    return _compared(question, value, found)


def _compared(question: ExamQuestion, value: Quantity, found: OptionValues) -> Proving:
    key = question.correct_option
    matching: list[Letter] = [letter for letter, one in found.values.items() if equal(value, one)]
    rounded = not matching
    if rounded:
        matching = [letter for letter, one in found.values.items() if rounds_to(value, one)]
    status, detail = _judged(key, matching, value, found)
    proof = Proof(status=status, value=value.text, matching=tuple(matching), detail=detail)
    return Proving(proof, rounded=rounded and bool(matching))


def _judged(
    key: Letter, matching: list[Letter], value: Quantity, found: OptionValues
) -> tuple[ProofStatus, str]:
    if key in found.unread and not matching:
        return ProofStatus.UNPROVEN, f"option {key} cannot be read as a value: {found.unread[key]}"
    if matching == [key]:
        others = ", ".join(f"{letter} ({why})" for letter, why in sorted(found.unread.items()))
        return ProofStatus.PROVEN, f"not compared: {others}" if others else ""
    said = f"the form gives {value.text}"
    if not matching:
        return ProofStatus.REFUTED, f"{said}, which no option is"
    if len(matching) > 1:
        return ProofStatus.REFUTED, f"{said}, which {' and '.join(matching)} both are"
    return ProofStatus.REFUTED, f"{said}, which is {matching[0]}, not the key {key}"
