"""Numerical variants: other numbers in the statement, with everything that depends on them recomputed.

A variant is submitted only after all equations of its own text have been checked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import islice, product

from qagen_dagster.latex.content import same_numbers
from qagen_dagster.latex.structure import solution_of, statement_of
from qagen_dagster.mathematics.values import Quantity
from qagen_dagster.models.embedded.draw import Draw
from qagen_dagster.models.embedded.problems.chains import Side, side_value
from qagen_dagster.models.embedded.problems.layout import Layout, Step, layout_of
from qagen_dagster.models.embedded.problems.numerals import decimal_text, numeral_value, written_like
from qagen_dagster.models.embedded.problems.prompt_fields import UnableError

_PAIRS = ((1, 4), (4, 9), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (9, 10), (5, 3), (7, 4), (9, 5))
_FACTORS = tuple(Fraction(*pair) for one in _PAIRS for pair in (one, one[::-1]))
_MOST_TRIES = 150
_MOST_FREE = 3  # values changed at once
_DIGITS = 4  # of a result, unless the source has more
_FAR = 30  # maximum ratio between the new and the source's result


def vary(item: str, number: int, earlier: str) -> tuple[str, str]:
    """The item with other numbers, and a description of the changes. Raises UnableError with the reason."""
    layout = layout_of(item)
    seed = hashlib.sha256(f"{number}\n{item}".encode()).hexdigest()
    for values in islice(_choices(layout, Draw(f"variant/{seed}")), _MOST_TRIES):
        texts = _computed(layout, values)
        if texts is None or not _set_options(layout, values, texts):
            continue
        made = _written(layout, texts)
        if statement_of(made) not in earlier and _is_new(made, layout) and _holds(made, layout):
            return made, _changes(layout, texts)
    raise UnableError("no other numbers were found that give a result as plain as the source's")


def _choices(layout: Layout, draw: Draw) -> Iterator[dict[Fraction, str]]:
    """Texts for the changed values in random order; combinations with more changes come first."""
    free = list(layout.free)
    draw.shuffle(free)
    lists = [_candidates(layout, value, draw) for value in free[:_MOST_FREE]]
    combined = list(product(*([*one, None] for one in lists)))
    draw.shuffle(combined)
    combined.sort(key=lambda one: sum(text is None for text in one))
    for texts in combined:
        chosen = {value: text for value, text in zip(free, texts, strict=False) if text is not None}
        if chosen and _stay_distinct(layout, chosen):
            yield chosen


def _candidates(layout: Layout, value: Fraction, draw: Draw) -> list[str]:
    """Texts near the value with at most as many decimal places."""
    model = layout.numerals[layout.given[value][0]]
    found: list[str] = []
    for factor in _FACTORS:
        try:
            text = written_like(value * factor, model.text)
        except UnableError:
            continue
        places = len(text.split("\\")[0].strip().partition(".")[2])
        if places <= model.places:
            found.append(text)
    draw.shuffle(found)
    return found


def _stay_distinct(layout: Layout, chosen: Mapping[Fraction, str]) -> bool:
    """Whether different values stay different and keep their order."""
    before = sorted(layout.given)
    after = [numeral_value(chosen[one]) if one in chosen else one for one in before]
    return len(set(after)) == len(after) and _ordered(layout, before, after)


def _ordered(layout: Layout, before: list[Fraction], after: list[Fraction]) -> bool:
    """Whether values of one unit keep their order: what was heavier stays heavier."""
    units: dict[str, list[Fraction]] = {}
    for old, new in zip(before, after, strict=True):
        place = layout.numerals[layout.given[old][0]].end
        units.setdefault("".join(layout.item[place : place + 16].split("$")[0].split()), []).append(new)
    return all(values == sorted(values) for values in units.values())


def _computed(layout: Layout, chosen: Mapping[Fraction, str]) -> dict[int, str] | None:
    """The text of every numeral that changes; None if a result is not plain."""
    texts = {index: text for value, text in chosen.items() for index in layout.given[value]}
    results: dict[Fraction, str] = {}
    for step in layout.steps:
        old = layout.numerals[step.result]
        value = side_value(_side_text(layout, step.head, texts))
        text = None if value is None else _plain(step, value, old.text, old.places)
        if text is None or results.setdefault(old.value, text) != text:
            return None
        if step is layout.steps[-1] and numeral_value(text) == old.value:
            return None
        texts.update(dict.fromkeys(layout.computed[old.value], text))
    return texts


def _side_text(layout: Layout, side: Side, texts: Mapping[int, str]) -> str:
    inside = [i for i, one in enumerate(layout.numerals) if side.start <= one.start < side.end]
    pieces, place = "", side.start
    for index in inside:
        one = layout.numerals[index]
        pieces += layout.item[place : one.start] + texts.get(index, one.text)
        place = one.end
    return pieces + layout.item[place : side.end]


def _plain(step: Step, value: Quantity, old: str, places: int) -> str | None:
    """The result in the source's format, with no more digits, and exact if the source's is; None if impossible."""
    source = step.head.value
    if source is None or value.numbers[0] is None or source.numbers[0] is None:
        return None
    before, after = Fraction(source.numbers[0]), Fraction(value.numbers[0])
    if not before * after > 0 or not Fraction(1, _FAR) <= after / before <= _FAR:
        return None
    ten = numeral_value(old) / Fraction(decimal_text(numeral_value(old.split("\\")[0].strip())))
    mantissa = abs(after) / ten
    rounded = round(mantissa, places)
    exact = abs(abs(before) - numeral_value(old)) < abs(before) / 10**30
    if (exact and abs(rounded - mantissa) > mantissa / 10**30) or not rounded:
        return None
    text = written_like(rounded * ten, old)
    digits = text.split("\\")[0].replace(".", "").strip().strip("0")
    return text if len(digits) <= max(_DIGITS, len(old)) else None


def _set_options(layout: Layout, chosen: Mapping[Fraction, str], texts: dict[int, str]) -> bool:
    """Set every option: the key is the result, the others follow from their mistake or their ratio to the key."""
    if layout.right is None:
        return True
    key = layout.numerals[layout.options[layout.right]]
    new = texts[layout.steps[-1].result]
    for index in layout.options:
        wrong = layout.numerals[index]
        if wrong is key:
            texts[index] = new
            continue
        value = _repeat_mistake(layout, chosen, wrong.value)
        value = value if value is not None else wrong.value / key.value * numeral_value(new)
        texts[index] = decimal_text(_shortened(value))
    values = [numeral_value(texts[index]) for index in layout.options]
    return len(set(values)) == len(values) and 0 not in values


def _repeat_mistake(layout: Layout, chosen: Mapping[Fraction, str], wrong: Fraction) -> Fraction | None:
    """The value for the new givens of the two-givens combination that produced `wrong`."""
    now = {one: numeral_value(chosen[one]) if one in chosen else one for one in layout.given if one}
    for first, second in product(now, now):
        if first == second:
            continue
        old = _combinations(first, second)
        if wrong in old and (found := _combinations(now[first], now[second])[old.index(wrong)]) > 0:
            return found
    return None


def _combinations(first: Fraction, second: Fraction) -> list[Fraction]:
    return [first * second, first / second, first - second, first + second, first**2 / second, first * first]


def _shortened(value: Fraction) -> Fraction:
    """Three significant digits; whole numbers stay."""
    if value.denominator == 1:
        return value
    places = 0
    while places < 9 and abs(value) * 10**places < 100:
        places += 1
    return Fraction(round(value, places))


def _written(layout: Layout, texts: Mapping[int, str]) -> str:
    """The item with its new numbers, without the sides between an expression and its result."""
    edits = [
        (step.head.end, step.chain.numeric[-2].end, "")
        for step in layout.steps
        if len(step.chain.numeric) > 2
    ]
    numerals = [(layout.numerals[index], text) for index, text in texts.items()]
    edits += [
        (one.start, one.end, text)
        for one, text in numerals
        if not any(start <= one.start < end for start, end, _ in edits)
    ]
    made = layout.item
    for start, end, text in sorted(edits, reverse=True):
        made = made[:start] + text + made[end:]
    return made.strip()


def _is_new(made: str, layout: Layout) -> bool:
    """Whether question and solution contain other numbers than the source."""
    source = layout.item
    return not (
        same_numbers(statement_of(made), statement_of(source))
        or same_numbers(solution_of(made), solution_of(source))
    )


def _holds(made: str, layout: Layout) -> bool:
    """Whether the new item, parsed again, has as many equations and all of them hold."""
    try:
        return len(layout_of(made).steps) == len(layout.steps)
    except UnableError as error:
        return "computed again" not in str(error) and "no number of its statement" in str(error)


def _changes(layout: Layout, texts: Mapping[int, str]) -> str:
    """A description of the changes in the statement and the result."""
    changed: dict[str, str] = {}
    for places in layout.given.values():
        if places[0] in texts:
            changed[layout.numerals[places[0]].text] = texts[places[0]]
    last = layout.steps[-1].result
    changes = ", ".join(f"{old} became {new}" for old, new in changed.items())
    return f"{changes}; computed again, the result {layout.numerals[last].text} became {texts[last]}."
