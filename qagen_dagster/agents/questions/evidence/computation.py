"""Recomputes the answer of a submission from the values that the submission names. Each value must be quoted."""

import math
import re
from collections.abc import Sequence
from datetime import date
from statistics import median

from qagen_dagster.agents.questions.evidence.quote_search import skeleton
from qagen_dagster.english.amounts import amounts
from qagen_dagster.english.dates import dates
from qagen_dagster.records.questions.submissions import Computation, Step

_NUMBER = re.compile(r"(?P<sign>[-\u2212(]\s?[$\u20ac\u00a3]?)?(?P<digits>\d[\d,]*(?:\.\d+)?)")
_ONE = re.compile(r"\bone\b", re.IGNORECASE)  # a number in values; in other texts it may be a pronoun
_LONGEST = 200  # characters of an item in a message
BETWEEN = "; "  # items of a computation in words


def wrong(computation: Computation, answer: str, told: str | None) -> str:
    """The reason why the computation does not prove the answer; empty if it does. `told` is the text that must have the values (quotes and
    question); None if a picture has the values."""
    for step in (*computation.steps, computation):
        fault = _fault(step, told)
        if fault:
            return fault
        told = None if told is None else f"{told}\n{step.result}"
    chosen = {"rank": computation.items[0]}.get(computation.operation, computation.result)
    if computation.operation in _NAMED and skeleton(_name(chosen)).text in skeleton(answer).text:
        return ""
    if [*_numbers(computation.result), None][0] not in _numbers(answer):
        return f"the result of the computation, {computation.result[:_LONGEST]!r}, is no part of the answer"
    return ""


def described(computation: Computation) -> str:
    """The computation in words."""
    return f"{BETWEEN}then ".join(map(_told, (*computation.steps, computation)))


def _fault(step: Step, told: str | None) -> str:
    missing = next((item for item in step.items if not _is_told(item, told, step)), None)
    if missing is not None:
        return f"the computation's {missing[:_LONGEST]!r} stands in no evidence quote"
    value = _value(step)
    if step.operation in _CHOICES and value is not None:
        return _wrong_choice(step, value)
    if value is None or len(_numbers(step.result)) != 1:
        return f"{_told(step)} cannot be computed"
    other_form = value
    if step.operation == "ratio":
        other_form = 100 * value  # a ratio can be given in per cent
    elif step.operation == "product":
        other_form = value / 100.0 ** sum("%" in item for item in step.items)  # "87%" of 23
    if not (_equal(value, step.result) or _equal(other_form, step.result)):
        return f"the {step.operation} of {_listed(step)} is {value:.10g}, not {step.result}"
    return ""


_CHOICES = ("maximum", "minimum")
_NAMED = (*_CHOICES, "rank")  # operations whose items may be names with values


def _name(item: str) -> str:
    """The name of an item such as "GSO: 31"; the item itself if it is only a value."""
    return item.rpartition(":")[0].strip() or item


def _wrong_choice(step: Step, value: float) -> str:
    """The reason why the result names neither the only item with the extreme value nor this value; empty if it names one of them."""
    winners = [item for item in step.items if _numbers(item.rpartition(":")[2]) == [value]]
    named = skeleton(step.result).text
    if len(winners) == 1 and named in (skeleton(_name(winners[0])).text, skeleton(winners[0]).text):
        return ""
    if _numbers(step.result) == [value]:
        return ""
    return f"the {step.operation} of {_listed(step)} is {' and '.join(winners)}, not {step.result}"


def _told(step: Step) -> str:
    return f"{step.operation} of {_listed(step)} = {step.result[:_LONGEST]}"


def _listed(step: Step) -> str:
    return BETWEEN.join(" ".join(item.split())[:_LONGEST] for item in step.items)


def _is_told(item: str, told: str | None, step: Step) -> bool:
    if step.operation == "count":
        words = skeleton(item).text
        return bool(words) and (told is None or words in skeleton(told).text)
    if step.operation == "days":
        return len(list(dates(item))) == 1 and (told is None or skeleton(item).text in skeleton(told).text)
    if step.operation in _NAMED and ":" in item:
        name, _, value = item.rpartition(":")
        known = told is None or skeleton(name).text in skeleton(told).text
        return known and _is_told(value, told, step)
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
    """The result; None if the operation cannot be computed."""
    if step.operation == "count":
        distinct = {skeleton(item).text for item in step.items}
        return float(len(distinct)) if len(distinct) == len(step.items) else None
    if step.operation == "days":
        return _days(step)
    first, *others = (_numbers(item.rpartition(":")[2])[0] for item in step.items)
    if step.operation == "rank":
        return None if first in others else 1.0 + sum(one > first for one in others)
    return _arithmetic(step.operation, first, others)


def _days(step: Step) -> float | None:
    """The days from the second date to the first; None unless both are whole dates."""
    found = [one for item in step.items for one in dates(item)]
    if len(found) != 2 or any(None in (one.year, one.month, one.day) for one in found):
        return None
    try:
        last, first = (date(one.year or 1, one.month or 1, one.day or 1) for one in found)
    except ValueError:  # 31 February
        return None
    return float((last - first).days)


def _arithmetic(operation: str, first: float, others: Sequence[float]) -> float | None:
    match operation, others:
        case "sum", _:
            return math.fsum((first, *others))
        case "median", _:
            return median((first, *others))
        case "maximum", [_, *_]:
            return max(first, *others)
        case "minimum", [_, *_]:
            return min(first, *others)
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
    """Whether `result` equals `value` rounded to the digits of `result`. Signs are ignored, because a difference may have none."""
    digits = "".join(found["digits"] for found in _NUMBER.finditer(result)).replace(",", "")
    decimals = len(digits.partition(".")[2])
    return abs(abs(value) - float(digits)) <= 0.5 * 10.0**-decimals * (1 + 1e-9)
