r"""Checks whether a conversion asks for the answer of its source and keeps it, also in another unit or rounded.

A case that cannot be decided is no fault: no unit is named, or only a part of the answer is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from qagen_dagster.latex.content import CLOSE, bare_answer, final_answer, numbers_of, same_answer, same_words
from qagen_dagster.latex.structure import (
    options_of,
    question_of,
    solution_of,
    statement_of,
)
from qagen_dagster.loop.problems.faults import is_number, is_value
from qagen_dagster.mathematics.reading import read_unit
from qagen_dagster.mathematics.units import BASES, ONE, Unit
from qagen_dagster.mathematics.values import Quantity, close, equal, rounds_to, value_of
from qagen_dagster.records.problems.item import Format

_ASKS_NUMBER = re.compile(r"\b(?:integers?|numerical(?:ly)?|numbers?|nearest|digits?)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.?!])(?=\s|$)|\n\s*\n")
_IN = re.compile(r"\b(?:in|number of)\s+(?:(?:units|multiples) of\s+)?(?=([^.,;?!]{1,80}))", re.IGNORECASE)
_TEN = re.compile(r"\$?\s*10\s*\^\s*(?:\{\s*(-?\d{1,2})\s*\}|(\d))")
_SPACES = re.compile(r"\\[,;:! ]|~")
_MOST_WORDS = 4  # of a unit: "metres per second squared"
_PART = re.compile(
    r"\bform\b|\\(?:sqrt|pi|times)(?![A-Za-z])|\bsquare (?:of|root)\b|\breciprocal\b|\bratio\b"
)
_ROUNDED = re.compile(r"\b(?:significant|nearest|round(?:ed)?)\b", re.IGNORECASE)
_ABOUT = re.compile(r"\\(?:approx|simeq|approxeq|sim)(?![A-Za-z])|\u2248|\babout\b|\bnearly\b")
_SIZE = re.compile(r"\b(?:magnitude|modulus|absolute|size)\b", re.IGNORECASE)
_CELSIUS = BASES.index("degC")


def answer_of(item: str) -> str | None:
    """The final answer of an item as LaTeX: of its only right option, else of its solution. None if it has none."""
    right = [one.text for one in options_of(item) if one.right]
    if len(right) == 1:
        return right[0]
    return None if right else final_answer(solution_of(item))


def asks_number(converted: str) -> Iterator[str]:
    """Faults that keep a conversion from asking for a number and ending with one."""
    if not _ASKS_NUMBER.search(statement_of(converted)):
        yield 'the statement must ask for a numerical answer, such as "Give your answer in m as an integer."'
    answer = answer_of(converted)
    if answer is None or not numbers_of(answer) or (is_value(answer) and not is_number(answer)):
        yield r"the solution must end at a number in \boxed{...}"


def answer_kept(source: str, target: Format, converted: str) -> Iterator[str]:
    """Faults when the answer differs from that of the source. Several statements are not compared."""
    old, new = answer_of(source), answer_of(converted)
    if target is Format.MCQ_MC or old is None or not numbers_of(old):
        return
    if target is Format.INTEGER:
        same = (
            new is None
            or not (is_number(old) and is_number(new))
            or _same_number(source, converted, old, new)
        )
    elif new is None and is_value(old):
        yield rf"the answer {old} is not found in the solution: put it into \boxed"
        return
    else:
        same = new is None or same_answer(old, new) is not False
    if not same:
        yield f"the answer must stay {old}; here it is {new}"


def _same_number(source: str, converted: str, old: str, new: str) -> bool:
    """Whether the number asked for is the source's answer in the unit asked for. True when it cannot be decided."""
    mine, theirs = value_of(bare_answer(old)), value_of(bare_answer(new))
    asked = question_of(converted)
    if len(_PART.findall(asked)) > len(_PART.findall(question_of(source))):
        return True
    about = _ABOUT.search(solution_of(source)) is not None
    if mine.unit != ONE and theirs.unit == ONE:
        counted = [one for one in _units_of(asked) if one.comparable(mine.unit)]
        if counted:
            return any(_kept(mine, replace(theirs, unit=one), asked, about=about) for one in counted)
    if mine.unit == ONE or theirs.unit == ONE:
        same_unit = theirs.unit == ONE and _only_asks(question_of(source), asked)
        return not same_unit or _kept(mine, theirs, asked, about=about)
    if not mine.unit.comparable(theirs.unit):
        return any(one.unit.dimensions[_CELSIUS] for one in (mine, theirs))
    return _kept(mine, theirs, asked, about=about)


def _kept(mine: Quantity, theirs: Quantity, asked: str, *, about: bool) -> bool:
    """Whether both values are equal, or one is the other rounded as the question asks."""
    turned = tuple(one and (one[1:] if one.startswith("-") else f"-{one}") for one in theirs.numbers)
    signs = [theirs, replace(theirs, numbers=turned)]
    rounded = [replace(one, last_place=_step(one, asked)) for one in signs]
    loose = replace(mine, last_place=Fraction(1)) if about and _whole(mine) is not None else mine
    return any(
        equal(mine, one) or rounds_to(mine, one) or rounds_to(one, loose) or close(mine, one, CLOSE)
        for one in rounded[: 2 if _SIZE.search(asked) else 1]
    )


def _step(shown: Quantity, asked: str) -> Fraction | None:
    """The value of the last digit of a number; of an integer that is asked for rounded, the value of its last non-zero digit."""
    whole = _whole(shown)
    if whole is None:
        return shown.last_place
    digits = str(abs(whole))
    zeros = len(digits) - len(digits.rstrip("0")) if whole and _ROUNDED.search(asked) else 0
    return Fraction(10**zeros)


def _whole(one: Quantity) -> int | None:
    number = Fraction(one.numbers[0] or "1/2")
    return int(number) if number.denominator == 1 else None


def _units_of(asked: str) -> Iterator[Unit]:
    """The units in which the questions and requests want the answer: `in cm`, `in units of $10^{-3}$ m`, `number of seconds`."""
    for sentence in _SENTENCE.split(_SPACES.sub(" ", asked)):
        if not (sentence.rstrip().endswith("?") or _ASKS_NUMBER.search(sentence)):
            continue
        for found in _IN.finditer(sentence):
            unit = _unit(found.group(1))
            if unit is not None:
                yield unit


def _unit(text: str) -> Unit | None:
    """The unit at the beginning of a text, multiplied by the power of ten before it."""
    power = _TEN.match(text)
    words = text[power.end() if power else 0 :].strip(" $").split()
    for count in range(min(_MOST_WORDS, len(words)), 0, -1):
        try:
            unit = read_unit(" ".join(words[:count]).strip("$"))
        except ValueError:
            continue
        if unit != ONE:
            scale = Fraction(10) ** int(power.group(1) or power.group(2)) if power else 1
            return replace(unit, factor=unit.factor * scale)
    return None


def _only_asks(source: str, asked: str) -> bool:
    """Whether a question is its source's with one additional sentence that names no unit and has no formula."""
    *before, last = [one for one in _SENTENCE.split(asked) if one.strip()] or [""]
    plain = not ("$" in last or "\\" in last or _IN.search(last) or numbers_of(last))
    return plain and same_words("".join(before), source)
