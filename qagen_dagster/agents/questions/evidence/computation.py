"""Computes the answer of a submission again from the values that it names, each of which must be quoted."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from qagen_dagster.agents.questions.evidence.quote_search import skeleton
from qagen_dagster.english.amounts import amounts
from qagen_dagster.records.questions.submissions import Computation, Step

_NUMBER = re.compile(r"(?P<sign>[-\u2212(]\s?[$\u20ac\u00a3]?)?(?P<digits>\d[\d,]*(?:\.\d+)?)")
_ONE = re.compile(r"\bone\b", re.IGNORECASE)  # elsewhere it may be a pronoun
_LONGEST = 200  # characters of an item in a message
BETWEEN = "; "  # items of a computation in words


def wrong(computation: Computation, answer: str, told: str | None) -> str:
    """Why the computation does not prove the answer; empty if it does. `told` has the quotes and the question; None: a picture has them."""
    for step in (*computation.steps, computation):
        fault = _fault(step, told)
        if fault:
            return fault
        told = None if told is None else f"{told}\n{step.result}"
    if _numbers(computation.result)[0] not in _numbers(answer):
        return (
            f"the result of the computation, {computation.result[:_LONGEST]!r}, is not a number of the answer"
        )
    return ""


def described(computation: Computation) -> str:
    """The computation in words."""
    return f"{BETWEEN}then ".join(map(_told, (*computation.steps, computation)))


def _fault(step: Step, told: str | None) -> str:
    missing = next((item for item in step.items if not _is_told(item, told, step)), None)
    if missing is not None:
        return f"the computation's {missing[:_LONGEST]!r} stands in no evidence quote"
    value = _value(step)
    if value is None or len(_numbers(step.result)) != 1:
        return f"{_told(step)} cannot be computed"
    share = value
    if step.operation == "ratio":
        share = 100 * value  # a ratio can be given in per cent
    elif step.operation == "product":
        share = value / 100.0 ** sum("%" in item for item in step.items)  # "87%" of 23
    if not (_equal(value, step.result) or _equal(share, step.result)):
        return f"the {step.operation} of {_listed(step)} is {value:.10g}, not {step.result}"
    return ""


def _told(step: Step) -> str:
    return f"{step.operation} of {_listed(step)} = {step.result[:_LONGEST]}"


def _listed(step: Step) -> str:
    return BETWEEN.join(" ".join(item.split())[:_LONGEST] for item in step.items)


def _is_told(item: str, told: str | None, step: Step) -> bool:
    if step.operation == "count":
        words = skeleton(item).text
        return bool(words) and (told is None or words in skeleton(told).text)
    numbers = _numbers(item)
    return (
        len(numbers) == 1
        and math.isfinite(numbers[0])
        and (told is None or abs(numbers[0]) in map(abs, _numbers(told)))
    )


def _numbers(text: str) -> list[float]:
    digits = [
        float(found["digits"].replace(",", "")) * (-1 if found["sign"] else 1)
        for found in _NUMBER.finditer(text)
    ]
    words = [one.value for one in amounts(text) if not any(map(str.isdigit, one.text))]
    lone = [1.0] if _ONE.search(text) and 1.0 not in words else []
    return [*digits, *words, *lone]


def _value(step: Step) -> float | None:
    """The result; None where the operation does not allow it."""
    if step.operation == "count":
        distinct = {skeleton(item).text for item in step.items}
        return float(len(distinct)) if len(distinct) == len(step.items) else None
    first, *others = (_numbers(item)[0] for item in step.items)
    return _arithmetic(step.operation, first, others)


def _arithmetic(operation: str, first: float, others: Sequence[float]) -> float | None:
    match operation, others:
        case "sum", _:
            return math.fsum((first, *others))
        case "mean", _:
            return math.fsum((first, *others)) / (1 + len(others))
        case "difference", [_, *_]:
            return first - math.fsum(others)
        case "product", _:
            return first * math.prod(others)
        case "ratio", [second] if second:
            return first / second
        case "percent_change", [second] if second:
            return 100 * (first - second) / second
        case _:
            return None


def _equal(value: float, result: str) -> bool:
    """Whether the result is the value, rounded to the digits that it shows. A difference may be given without its sign."""
    digits = "".join(found["digits"] for found in _NUMBER.finditer(result)).replace(",", "")
    decimals = len(digits.partition(".")[2])
    return abs(abs(value) - float(digits)) <= 0.5 * 10.0**-decimals * (1 + 1e-9)
