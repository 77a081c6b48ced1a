"""Checks an exam question without a model: whether its LaTeX is balanced, other faults, and whether its key is proven."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import get_args

from qagen_dagster.mathematics import sandbox as sandboxes
from qagen_dagster.mathematics.evaluator import FormError, FormFailure
from qagen_dagster.mathematics.expressions import Unreadable
from qagen_dagster.mathematics.reading import Reading, read_unit, read_value
from qagen_dagster.mathematics.sandbox import Computed, Sandbox, Task
from qagen_dagster.mathematics.units import ONE
from qagen_dagster.mathematics.values import Quantity, equal, quantity, rounds_to
from qagen_dagster.records.exams.bank import (
    Examination,
    Fault,
    Proof,
    ProofStatus,
)
from qagen_dagster.records.exams.submissions import (
    CheckableForm,
    ExamQuestion,
    Letter,
    QuestionPackage,
    Severity,
)

_ESCAPED = re.compile(r"\\[\\${}%&#_]")
_ENVIRONMENT = re.compile(r"\\(begin|end)\s*\{([A-Za-z*]+)\}")
_LEFT, _RIGHT = re.compile(r"\\left(?![a-z])"), re.compile(r"\\right(?![a-z])")
_PAIRS = (("\\(", "\\)"), ("\\[", "\\]"))
_OPEN_END = re.compile(r"\\(?:frac|dfrac|tfrac|sqrt)\s*(?:\$|$)|[\^_]\s*(?:\$|$)|\\$")
_BARE = re.compile(r"\\(?:frac|dfrac|sqrt|times|cdot|pi|theta|lambda|sin|cos|tan|text|mathrm)\b|\^\{")
_ORDER: tuple[Letter, ...] = get_args(Letter)
UNBALANCED_LATEX = "unbalanced_latex"
EMPTY_OPTION = "empty_option"
SAME_TEXT = "same_text_twice"
EQUAL_OPTIONS = "options_equal_in_value"
MIXED_UNITS = "option_without_unit"
NO_PATH = "distractor_without_path"
SAME_PATH = "same_path_twice"
KEY_IN_MAP = "key_in_distractor_map"
PATH_OF_NOTHING = "path_of_no_option"
CALCULATOR = "calculator_only_numbers"
WRONG_KEY = "key_is_not_the_value"
SEVERAL_RIGHT = "several_options_have_the_value"
NONE_RIGHT = "no_option_has_the_value"
FORM_STATES = "form_states_the_answer"
FORM_HOSTILE = "form_hostile"
FORM_FAILED = "form_without_value"
MOST_INTEGER_DIGITS = 5  # significant digits that a candidate can handle without a calculator
MOST_DECIMAL_DIGITS = 4
_LEAST_PATH_WORDS = 3
_ROUNDED = re.compile(
    r"\b(?:approximat|estimat|nearest|about|roughly|decimal place|significant figure|order of magnitude|closest|estimate)|\\(?:approx|sim)(?![A-Za-z])|\u2248",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\w.])(\d{1,3}(?:(?:,|\{,\}|\\,)\d{3})+|\d+)(\.\d+)?")
_HOSTILE = re.compile(
    r"__|\b(?:import|open|eval|exec|compile|getattr|setattr|globals|locals|vars|input|lambda|while|for|os|sys|subprocess"
    r"|socket|builtins|breakpoint)\b|[\[{'\"]|\.\s*[A-Za-z_]"
)
_ANSWERED = re.compile(r"[-+]?\s*(?:\d+(?:\.\d+)?|[A-Za-z_]\w*)")
_BEYOND_LIMITS = frozenset(
    (FormFailure.TIMEOUT, FormFailure.OUT_OF_MEMORY, FormFailure.CRASHED, FormFailure.TOO_LARGE)
)
_Found = tuple[str, Severity, str]


def latex_fault(text: str) -> str:
    """A description of the first thing that is unbalanced; empty if there is none."""
    text = _ESCAPED.sub("  ", text)  # a line break before a bracket does not open a formula
    for opening, closing in _PAIRS:
        if text.count(opening) != text.count(closing):
            return f"{opening} and {closing} do not pair"
        text = text.replace(opening, "$").replace(closing, "$")
    if len(_LEFT.findall(text)) != len(_RIGHT.findall(text)):
        return "\\left and \\right do not pair"
    if fault := _environment_fault(text):
        return fault
    return _inline_fault(text)


def _environment_fault(text: str) -> str:
    open_environments: list[str] = []
    for kind, name in _ENVIRONMENT.findall(text):
        if kind == "begin":
            open_environments.append(name)
        elif not open_environments or open_environments.pop() != name:
            return f"\\end{{{name}}} without its \\begin"
    if open_environments:
        return f"\\begin{{{open_environments[-1]}}} without its \\end"
    return ""


def _inline_fault(text: str) -> str:
    parts = text.replace("$$", "$").split("$")
    if len(parts) % 2 == 0:
        return "a $ without its partner (money is written \\$)"
    depth = 0
    for char in text:
        depth += {"{": 1, "}": -1}.get(char, 0)
        if depth < 0:
            return "a } without its {"
    if depth:
        return "a { without its }"
    if any(part.count("{") != part.count("}") for part in parts[1::2]):
        return "braces that are opened in one formula and closed in another"
    if any(_OPEN_END.search(part) for part in parts[1::2]):
        return "a formula that breaks off"
    outside = " ".join(parts[::2])
    if len(parts) > 1 and (bare := _BARE.search(outside)):
        return f"{bare.group()} outside of the $ signs"
    return ""


@dataclass(frozen=True)
class OptionValues:
    """The values of the options in the order of their letters, and the reasons why the other options have no value."""

    values: Mapping[Letter, Quantity]
    unread: Mapping[Letter, str]

    def equal_pairs(self) -> list[tuple[Letter, Letter]]:
        """The pairs of options with equal values, even if their texts differ."""
        return [
            (first, second)
            for first, second in combinations(self.values, 2)
            if equal(self.values[first], self.values[second])
        ]


@dataclass(frozen=True)
class Proving:
    """The proof, the reason if the form has no value, and whether the values match only as rounded decimals."""

    proof: Proof
    failure: FormError | None = None
    rounded: bool = False


def option_values(options: Mapping[Letter, str], sandbox: Sandbox) -> OptionValues:
    """The value of every option that has one. No text raises."""
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
    """Compute `check` and compare its value with the options. No form raises."""
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
        unit = ONE  # then options are compared without units
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


@dataclass(frozen=True)
class _Case:
    package: QuestionPackage
    values: OptionValues
    proving: Proving


def examine(package: QuestionPackage, sandbox: Sandbox | None = None) -> Examination:
    """All faults of a question, and the proof of its key. No content of a question raises."""
    box = sandbox or sandboxes.shared()
    values = option_values(package.question.options, box)
    case = _Case(package, values, prove(package.question, package.check, values, box))
    faults = tuple(
        Fault(name=name, severity=severity, detail=detail)
        for check in _CHECKS
        for name, severity, detail in check(case)
    )
    return Examination(faults=faults, proof=case.proving.proof)


def _fixable(name: str, detail: str) -> _Found:
    return name, Severity.FIXABLE, detail


def _latex(case: _Case) -> Iterator[_Found]:
    question, solution = case.package.question, case.package.solution
    texts = {"the stem": question.stem} | {
        f"option {letter}": text for letter, text in sorted(question.options.items())
    }
    texts |= {"the solution": solution.reasoning, "the key insight": solution.key_insight}
    texts |= {f"the path of {letter}": text for letter, text in sorted(case.package.distractor_map.items())}
    for place, text in texts.items():
        if fault := latex_fault(text):
            yield _fixable(UNBALANCED_LATEX, f"{place}: {fault}")


def _texts(case: _Case) -> Iterator[_Found]:
    seen: dict[str, str] = {}
    for letter, text in sorted(case.package.question.options.items()):
        plain = re.sub(r"\s+|\\[,;:! ]", "", text.strip().strip("$"))
        if not re.search(r"\w", plain):
            yield _fixable(EMPTY_OPTION, f"option {letter} says nothing: {text!r}")
        elif plain in seen:
            yield _fixable(SAME_TEXT, f"options {seen[plain]} and {letter} are the same text")
        seen.setdefault(plain, letter)


def _equal_values(case: _Case) -> Iterator[_Found]:
    options = case.package.question.options
    for first, second in case.values.equal_pairs():
        yield _fixable(
            EQUAL_OPTIONS,
            f"options {first} and {second} are equal: {options[first]} and {options[second]} are the same value",
        )


def _units(case: _Case) -> Iterator[_Found]:
    values = case.values.values
    bare = [letter for letter, one in values.items() if one.unit == ONE and one.exact != "0"]
    if bare and any(one.unit != ONE for one in values.values()):
        yield _fixable(MIXED_UNITS, f"other options have a unit; {', '.join(bare)} has none")


def _paths(case: _Case) -> Iterator[_Found]:
    question, paths = case.package.question, case.package.distractor_map
    wrong = sorted(set(question.options) - {question.correct_option})
    for letter in wrong:
        if len(re.findall(r"\w+", paths.get(letter, ""))) < _LEAST_PATH_WORDS:
            yield _fixable(NO_PATH, f"no mistake in reasoning is named that leads to option {letter}")
    if question.correct_option in paths:
        yield _fixable(KEY_IN_MAP, f"{question.correct_option} is the key, and has a path as a wrong option")
    for letter in sorted(set(paths) - set(question.options)):
        yield _fixable(PATH_OF_NOTHING, f"there is no option {letter}")
    seen: dict[str, str] = {}
    for letter in wrong:
        plain = " ".join(paths.get(letter, "").lower().split())
        if plain and plain in seen:
            yield _fixable(SAME_PATH, f"{seen[plain]} and {letter} are said to come from the same mistake")
        seen.setdefault(plain, letter)


def _numbers(case: _Case) -> Iterator[_Found]:
    question = case.package.question
    texts = {"the stem": question.stem} | {
        f"option {letter}": text for letter, text in sorted(question.options.items())
    }
    for place, text in texts.items():
        for whole, decimals in _NUMBER.findall(text):
            digits = re.sub(r"\D", "", whole + decimals).strip("0")
            if len(digits) > (MOST_DECIMAL_DIGITS if decimals else MOST_INTEGER_DIGITS):
                yield _fixable(CALCULATOR, f"{place} has the number {whole}{decimals}; choose clean numbers")
    key = question.options[question.correct_option]
    if case.proving.rounded and not _ROUNDED.search(f"{question.stem} {key}"):
        yield _fixable(
            CALCULATOR,
            f"the exact value is {case.proving.proof.value}, but the key is a rounded decimal; give exact options",
        )


def _key(case: _Case) -> Iterator[_Found]:
    proof = case.proving.proof
    if proof.status is not ProofStatus.REFUTED:
        return
    name = {0: NONE_RIGHT, 1: WRONG_KEY}.get(len(proof.matching), SEVERAL_RIGHT)
    yield _fixable(name, proof.detail)


def _form(case: _Case) -> Iterator[_Found]:
    check = case.package.check
    if check is None:
        return
    if case.proving.failure is not None:
        yield _failed(case.proving.failure, [check.expression, *check.givens.values()])
    elif _ANSWERED.fullmatch(check.expression.strip()):
        yield _fixable(FORM_STATES, "the form has to derive the answer from the givens, not state it")


def _failed(failure: FormError, texts: list[str]) -> _Found:
    detail = f"the checkable form has no value: {failure}"
    if failure.failure in _BEYOND_LIMITS:
        return FORM_HOSTILE, Severity.STRUCTURAL, detail
    if failure.failure is FormFailure.REFUSED and any(_HOSTILE.search(text) for text in texts):
        return FORM_HOSTILE, Severity.STRUCTURAL, detail
    return _fixable(FORM_FAILED, detail)


_CHECKS: tuple[Callable[[_Case], Iterator[_Found]], ...] = (
    _form, _key, _equal_values, _texts, _units, _paths, _latex, _numbers,
)  # fmt: skip
