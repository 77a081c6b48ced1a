"""Numerical variants: other numbers in the statement, with everything that depends on them recomputed.

First each numeral of an item gets a role: given, result, or fixed. If a number of the solution has no role, the item cannot be
varied. A variant is submitted only after all equations of its own text have been checked.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, product

from qagen_dagster.latex.comparison import same_numbers
from qagen_dagster.latex.structure import PICTURES, environments, options_of, solution_of, statement_of
from qagen_dagster.mathematics.equality import Quantity, equal, rounds_to
from qagen_dagster.models.embedded import Draw
from qagen_dagster.models.embedded.problems import reading
from qagen_dagster.records.problems.submissions import DIAGRAM_MARK

_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_CONSTANT = re.compile(
    r"(?:(?<![A-Za-z])[gcGheR]|k_B|N_A|\\(?:epsilon|varepsilon|mu)_0|\\pi)\s*(?:=|\\approx)\s*$"
)
_ANGLE = re.compile(r"\s*(?:\^\s*\{?\s*\\circ|\\%|%|\\degree|°|degrees)")
_CONVERSIONS = frozenset(map(Fraction, (60, 100, 1000, 3600, 180, 360)))
_OF_NATURE = frozenset(
    map(Fraction, ("9.8", "9.81", "8.314", "8.31", "6.67e-11", "3e8", "9e9", "1.6e-19", "6.63e-34"))
)
_SMALL = frozenset(map(Fraction, range(5)))
_BEFORE = 30  # characters before a number in which the name of a constant is looked for
_AFTER = 12  # characters after a number in which the sign of an angle or of a percentage is looked for


@dataclass(frozen=True)
class Step:
    """One computed equation: its chain, and the index of the numeral of its last side."""

    chain: reading.Chain
    result: int

    @property
    def head(self) -> reading.Side:
        return self.chain.numeric[0]

    @property
    def last(self) -> reading.Side:
        return self.chain.numeric[-1]


class Layout:
    """The numbers of an item by their roles. Raises UnableError with the reason why they cannot change. `given`
    and `computed` map current values to indices of `numerals`. `options` has such an index for each option, and `right`
    is the position of the right option. `free` has the values that may change."""

    def __init__(self, item: str) -> None:
        solutions = environments(item, "solution")
        if len(solutions) != 1:
            raise reading.UnableError("the item has no single solution to compute again")
        self.solution = solutions[0]
        self.item = item[: self.solution[1]]
        self.tasks = environments(self.item, "tasks")
        self.drawn = [span for name in PICTURES for span in environments(self.item, name)]
        self.numerals = reading.numerals_of(self.item)
        self.fixed: set[Fraction] = set()
        self.given: dict[Fraction, list[int]] = {}
        self.computed: dict[Fraction, list[int]] = {}
        self.used: set[Fraction] = set()
        if r"\includegraphics" in self.item or DIAGRAM_MARK in map(str.strip, self.item.splitlines()):
            raise reading.UnableError("its figure cannot be seen and may show the numbers")
        self._read_givens()
        self.steps = tuple(self._steps(reading.chains_of(self.item, *self.solution)))
        if not self.steps:
            raise reading.UnableError("its solution has no equation in numbers that could be computed again")
        self.options, self.right = self._options(self.numerals[self.steps[-1].result].value)
        self.free = tuple(sorted(self.used - self.fixed))
        if not self.free:
            why = "can be told apart safely from the constants of its solution"
            raise reading.UnableError(f"no number of its statement {why}")

    def _inside(self, index: int, spans: tuple[tuple[int, int], ...] | list[tuple[int, int]]) -> bool:
        return any(start <= self.numerals[index].start < end for start, end in spans)

    def _read_givens(self) -> None:
        for index, numeral in enumerate(self.numerals):
            if numeral.start >= self.solution[0] or self._inside(index, self.tasks):
                continue
            before, after = self.item[: numeral.start][-_BEFORE:], self.item[numeral.end :][:_AFTER]
            if self._inside(index, self.drawn):
                if before[-1:] in "{=$" or after[:1] in ("}", "$", "\\"):
                    self.fixed.add(numeral.value)  # a label may show it
                continue
            self.given.setdefault(numeral.value, []).append(index)
            if (
                _CONSTANT.search(before)
                or _ANGLE.match(after)
                or before.rstrip().endswith("-")
                or not numeral.value
            ):
                self.fixed.add(numeral.value)
        solution = self.item[self.solution[0] : self.solution[1]].lower()
        self.fixed.update(Fraction(n) for n, word in enumerate(_WORDS) if re.search(rf"\b{word}\b", solution))

    def _steps(self, chains: tuple[reading.Chain, ...]) -> Iterator[Step]:
        """Yields the computed equations in order, and checks that every other number of the solution has a role."""
        place = self.solution[0]
        for chain in chains:
            head, last = chain.numeric[0], chain.numeric[-1]
            self._explain_rest(place, head.start, chain)
            leaves = self._within(head)
            self._explain_head(leaves, chain)
            if len(chain.numeric) > 1:
                yield self._step(chain)
            place = last.end
        self._explain_rest(place, self.solution[1], None)

    def _step(self, chain: reading.Chain) -> Step:
        head, last = chain.numeric[0], chain.numeric[-1]
        results = self._within(last)
        if len(results) != 1 or head.value is None or last.value is None:
            raise reading.UnableError("an equation of its solution does not end at one number")
        if not (equal(head.value, last.value) or rounds_to(head.value, last.value)):
            raise reading.UnableError(
                f"computed again, {' '.join(head.text.split())} is not {' '.join(last.text.split())}"
            )
        value = self.numerals[results[0]].value
        self.computed.setdefault(value, []).append(results[0])
        return Step(chain, results[0])

    def _explain_head(self, leaves: tuple[int, ...], chain: reading.Chain) -> None:
        counts = Counter(
            self.numerals[index].value for side in chain.symbolic for index in self._within(side)
        )
        for index in leaves:
            value = self.numerals[index].value
            if value in self.given and value in self.computed:
                raise reading.UnableError(f"{self.numerals[index].text} is both given and a result")
            if value in self.computed:
                self.computed[value].append(index)
            elif value in self.given:
                self.used.add(value)
                self.given[value].append(index)
                if counts[value] or (value in _SMALL and len(chain.symbolic) < 2):
                    self.fixed.add(value)
            elif not (
                counts[value]
                or value in _CONVERSIONS
                or value in _OF_NATURE
                or (value in _SMALL and len(chain.symbolic) < 2)
            ):
                raise reading.UnableError(
                    f"where {self.numerals[index].text} in its solution comes from cannot be told"
                )

    def _explain_rest(self, start: int, end: int, chain: reading.Chain | None) -> None:
        """Check that the numbers between `start` and `end`, in the text and in sides with symbols, have a role."""
        symbolic = [] if chain is None else [(side.start, side.end) for side in chain.symbolic]
        for index, numeral in enumerate(self.numerals):
            if not start <= numeral.start < end or self._inside(index, self.drawn):
                continue
            formula = (
                self._inside(index, symbolic)
                or self.item[self.solution[0] : numeral.start].count("$") % 2 == 1
            )
            if numeral.value in self.computed:
                if numeral.value in self.given or formula:
                    raise reading.UnableError(
                        f"what {numeral.text} stands for in its solution cannot be told"
                    )
                self.computed[numeral.value].append(index)
            elif numeral.value in self.given:
                self.given[numeral.value].append(index)
                if formula:
                    self.fixed.add(numeral.value)
            elif numeral.value not in _SMALL and numeral.value not in _OF_NATURE:
                raise reading.UnableError(f"where {numeral.text} in its solution comes from cannot be told")

    def _within(self, side: reading.Side) -> tuple[int, ...]:
        return tuple(i for i, numeral in enumerate(self.numerals) if side.start <= numeral.start < side.end)

    def _options(self, answer: Fraction) -> tuple[tuple[int, ...], int | None]:
        options = options_of(self.item)
        if not options:
            return (), None
        found = tuple(i for i in range(len(self.numerals)) if self._inside(i, self.tasks))
        rights = [number for number, option in enumerate(options) if option.right]
        if len(found) != len(options) or len(rights) != 1:
            raise reading.UnableError("its options are not one number each with one of them right")
        if self.numerals[found[rights[0]]].value != answer:
            raise reading.UnableError("the right option is not what its solution ends at")
        return found, rights[0]


_PAIRS = ((1, 4), (4, 9), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (9, 10), (5, 3), (7, 4), (9, 5))
_FACTORS = tuple(Fraction(*pair) for ratio in _PAIRS for pair in (ratio, ratio[::-1]))
_MOST_TRIES = 150
_MOST_FREE = 3  # values changed at once
_DIGITS = 4  # most digits of a result, unless the result of the source has more
_FAR = 30  # maximum ratio between the new and the source's result


def vary(item: str, number: int, earlier: str) -> tuple[str, str]:
    """The item with other numbers, and a description of the changes. Raises UnableError with the reason."""
    layout = Layout(item)
    seed = hashlib.sha256(f"{number}\n{item}".encode()).hexdigest()
    for values in islice(_choices(layout, Draw(f"variant/{seed}")), _MOST_TRIES):
        texts = _computed(layout, values)
        if texts is None or not _set_options(layout, values, texts):
            continue
        made = _written(layout, texts)
        if statement_of(made) not in earlier and _is_new(made, layout) and _holds(made, layout):
            return made, _changes(layout, texts)
    raise reading.UnableError("no other numbers were found that give a result as plain as the source's")


def _choices(layout: Layout, draw: Draw) -> Iterator[dict[Fraction, str]]:
    """Choices of new texts by value. Choices that change more values come first; among equals the order is random."""
    free = list(layout.free)
    draw.shuffle(free)
    lists = [_candidates(layout, value, draw) for value in free[:_MOST_FREE]]
    combined = list(product(*([*texts, None] for texts in lists)))
    draw.shuffle(combined)
    combined.sort(key=lambda texts: sum(text is None for text in texts))
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
            text = reading.written_like(value * factor, model.text)
        except reading.UnableError:
            continue
        places = len(text.split("\\")[0].strip().partition(".")[2])
        if places <= model.places:
            found.append(text)
    draw.shuffle(found)
    return found


def _stay_distinct(layout: Layout, chosen: Mapping[Fraction, str]) -> bool:
    """Whether different values stay different and keep their order."""
    before = sorted(layout.given)
    after = [reading.numeral_value(chosen[value]) if value in chosen else value for value in before]
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
        value = reading.side_value(_side_text(layout, step.head, texts))
        text = None if value is None else _plain(step, value, old.text, old.places)
        if text is None or results.setdefault(old.value, text) != text:
            return None
        if step is layout.steps[-1] and reading.numeral_value(text) == old.value:
            return None
        texts.update(dict.fromkeys(layout.computed[old.value], text))
    return texts


def _side_text(layout: Layout, side: reading.Side, texts: Mapping[int, str]) -> str:
    pieces, place = "", side.start
    for index, numeral in enumerate(layout.numerals):
        if side.start <= numeral.start < side.end:
            pieces += layout.item[place : numeral.start] + texts.get(index, numeral.text)
            place = numeral.end
    return pieces + layout.item[place : side.end]


def _plain(step: Step, value: Quantity, old: str, places: int) -> str | None:
    """The result in the format of the source's result, with no more digits; None if that is impossible. It must
    be exact if the source's result is exact."""
    source = step.head.value
    if source is None or value.numbers[0] is None or source.numbers[0] is None:
        return None
    before, after = Fraction(source.numbers[0]), Fraction(value.numbers[0])
    if not before * after > 0 or not Fraction(1, _FAR) <= after / before <= _FAR:
        return None
    ten = reading.numeral_value(old) / Fraction(
        reading.decimal_text(reading.numeral_value(old.split("\\")[0].strip()))
    )
    mantissa = abs(after) / ten
    rounded = round(mantissa, places)
    exact = abs(abs(before) - reading.numeral_value(old)) < abs(before) / 10**30
    if (exact and abs(rounded - mantissa) > mantissa / 10**30) or not rounded:
        return None
    text = reading.written_like(rounded * ten, old)
    digits = text.split("\\")[0].replace(".", "").strip().strip("0")
    return text if len(digits) <= max(_DIGITS, len(old)) else None


def _set_options(layout: Layout, chosen: Mapping[Fraction, str], texts: dict[int, str]) -> bool:
    """Sets the text of every option in `texts`. Returns False if two options are equal or one is zero.

    The key becomes the new result. A wrong option repeats its mistake with the new numbers, or keeps its ratio to the key.
    """
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
        value = value if value is not None else wrong.value / key.value * reading.numeral_value(new)
        texts[index] = reading.decimal_text(_shortened(value))
    values = [reading.numeral_value(texts[index]) for index in layout.options]
    return len(set(values)) == len(values) and 0 not in values


def _repeat_mistake(layout: Layout, chosen: Mapping[Fraction, str], wrong: Fraction) -> Fraction | None:
    """The wrong value for the new givens, if `wrong` is a simple combination of two givens; None if it is not."""
    now = {
        stated: reading.numeral_value(chosen[stated]) if stated in chosen else stated
        for stated in layout.given
        if stated
    }
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
        (numeral.start, numeral.end, text)
        for numeral, text in numerals
        if not any(start <= numeral.start < end for start, end, _ in edits)
    ]
    made = layout.item
    for start, end, text in sorted(edits, reverse=True):
        made = made[:start] + text + made[end:]
    return made.strip()


def _is_new(made: str, layout: Layout) -> bool:
    """Whether neither the question nor the solution has the same numbers as in the source."""
    source = layout.item
    return not (
        same_numbers(statement_of(made), statement_of(source))
        or same_numbers(solution_of(made), solution_of(source))
    )


def _holds(made: str, layout: Layout) -> bool:
    """Whether the new item, parsed again, has as many equations, and all of them hold. Its numbers need not be variable again."""
    try:
        return len(Layout(made).steps) == len(layout.steps)
    except reading.UnableError as error:
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
