"""The numerals of an item by role: which are given, which are results, and which must not change.

Every number of the solution must be explained; otherwise the item cannot be varied.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from qagen_dagster.latex.structure import PICTURES, environments, options_of
from qagen_dagster.models.embedded.problems.chains import Chain, Side, agrees, chains_of
from qagen_dagster.models.embedded.problems.numerals import Numeral, numerals_of
from qagen_dagster.models.embedded.problems.prompt_fields import UnableError
from qagen_dagster.records.problems.item import DIAGRAM_MARK

_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_CONSTANT = re.compile(
    r"(?:(?<![A-Za-z])[gcGheR]|k_B|N_A|\\(?:epsilon|varepsilon|mu)_0|\\pi)\s*(?:=|\\approx)\s*$"
)
_ANGLE = re.compile(r"\s*(?:\^\s*\{?\s*\\circ|\\%|%|\\degree|°|degrees)")
_CONVERSIONS = frozenset(Fraction(one) for one in (60, 100, 1000, 3600, 180, 360))
_OF_NATURE = frozenset(
    Fraction(one) for one in ("9.8", "9.81", "8.314", "8.31", "6.67e-11", "3e8", "9e9", "1.6e-19", "6.63e-34")
)
_SMALL = frozenset(Fraction(one) for one in range(5))


@dataclass(frozen=True)
class Step:
    """One computed equation: its first numeric side and the numeral of its last, as indices into the numerals."""

    chain: Chain
    leaves: tuple[int, ...]
    result: int

    @property
    def head(self) -> Side:
        return self.chain.numeric[0]

    @property
    def last(self) -> Side:
        return self.chain.numeric[-1]


@dataclass(frozen=True)
class Layout:
    """`given` and `computed` map current values to indices of numerals; `free` holds the values that may change."""

    item: str
    numerals: tuple[Numeral, ...]
    given: dict[Fraction, tuple[int, ...]]
    computed: dict[Fraction, tuple[int, ...]]
    steps: tuple[Step, ...]
    options: tuple[int, ...]  # the numeral of each option
    right: int | None
    free: tuple[Fraction, ...]


def layout_of(item: str) -> Layout:
    """The layout of the item. Raises UnableError with the reason why its numbers cannot change."""
    return _Reader(item).layout()


class _Reader:
    def __init__(self, item: str) -> None:
        solutions = environments(item, "solution")
        if len(solutions) != 1:
            raise UnableError("the item has no single solution to compute again")
        self.solution = solutions[0]
        self.item = item[: self.solution[1]]
        self.tasks = environments(self.item, "tasks")
        self.drawn = [span for name in PICTURES for span in environments(self.item, name)]
        self.numerals = numerals_of(self.item)
        self.fixed: set[Fraction] = set()
        self.given: dict[Fraction, list[int]] = {}
        self.computed: dict[Fraction, list[int]] = {}
        self.used: set[Fraction] = set()

    def layout(self) -> Layout:
        if r"\includegraphics" in self.item or any(
            line.strip() == DIAGRAM_MARK for line in self.item.splitlines()
        ):
            raise UnableError("its figure cannot be seen and may show the numbers")
        self._read_givens()
        steps = tuple(self._steps(chains_of(self.item, *self.solution)))
        if not steps:
            raise UnableError("its solution has no equation in numbers that could be computed again")
        options, right = self._options(self.numerals[steps[-1].result].value)
        free = tuple(sorted(self.used - self.fixed))
        if not free:
            raise UnableError(
                "no number of its statement can be told apart safely from the constants of its solution"
            )
        return Layout(
            self.item,
            self.numerals,
            {value: tuple(places) for value, places in self.given.items()},
            {value: tuple(places) for value, places in self.computed.items()},
            steps,
            options,
            right,
            free,
        )

    def _inside(self, index: int, spans: tuple[tuple[int, int], ...] | list[tuple[int, int]]) -> bool:
        return any(start <= self.numerals[index].start < end for start, end in spans)

    def _read_givens(self) -> None:
        for index, one in enumerate(self.numerals):
            if one.start >= self.solution[0] or self._inside(index, self.tasks):
                continue
            if self._inside(index, self.drawn):
                if self.item[one.start - 1] in "{=$" or self.item[one.end : one.end + 1] in ("}", "$", "\\"):
                    self.fixed.add(one.value)  # a label may show it
                continue
            self.given.setdefault(one.value, []).append(index)
            before, after = self.item[max(0, one.start - 30) : one.start], self.item[one.end : one.end + 12]
            if (
                _CONSTANT.search(before)
                or _ANGLE.match(after)
                or before.rstrip().endswith("-")
                or not one.value
            ):
                self.fixed.add(one.value)
        said = self.item[self.solution[0] : self.solution[1]].lower()
        self.fixed.update(Fraction(n) for n, word in enumerate(_WORDS) if re.search(rf"\b{word}\b", said))

    def _steps(self, chains: tuple[Chain, ...]) -> Iterator[Step]:
        """The computed equations in order; the solution's other numbers are explained on the way."""
        place = self.solution[0]
        for chain in chains:
            head, last = chain.numeric[0], chain.numeric[-1]
            self._explain_rest(place, head.start, chain)
            leaves = self._within(head)
            self._explain_head(leaves, chain)
            if len(chain.numeric) > 1:
                yield self._step(chain, leaves)
            place = last.end
        self._explain_rest(place, self.solution[1], None)

    def _step(self, chain: Chain, leaves: tuple[int, ...]) -> Step:
        head, last = chain.numeric[0], chain.numeric[-1]
        results = self._within(last)
        if len(results) != 1 or head.value is None or last.value is None:
            raise UnableError("an equation of its solution does not end at one number")
        if not agrees(head.value, last.value):
            raise UnableError(
                f"computed again, {' '.join(head.text.split())} is not {' '.join(last.text.split())}"
            )
        value = self.numerals[results[0]].value
        self.computed.setdefault(value, []).append(results[0])
        return Step(chain, leaves, results[0])

    def _explain_head(self, leaves: tuple[int, ...], chain: Chain) -> None:
        counts = Counter(self.numerals[one].value for side in chain.symbolic for one in self._within(side))
        for index in leaves:
            value = self.numerals[index].value
            if value in self.given and value in self.computed:
                raise UnableError(f"{self.numerals[index].text} is both given and a result")
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
                raise UnableError(
                    f"where {self.numerals[index].text} in its solution comes from cannot be told"
                )

    def _explain_rest(self, start: int, end: int, chain: Chain | None) -> None:
        """Explain numbers in words and in sides with symbols, up to the next numeric side."""
        symbolic = [] if chain is None else [(one.start, one.end) for one in chain.symbolic]
        for index, one in enumerate(self.numerals):
            if not start <= one.start < end or self._inside(index, self.drawn):
                continue
            formula = (
                self._inside(index, symbolic) or self.item[self.solution[0] : one.start].count("$") % 2 == 1
            )
            if one.value in self.computed:
                if one.value in self.given or formula:
                    raise UnableError(f"what {one.text} stands for in its solution cannot be told")
                self.computed[one.value].append(index)
            elif one.value in self.given:
                self.given[one.value].append(index)
                if formula:
                    self.fixed.add(one.value)
            elif one.value not in _SMALL and one.value not in _OF_NATURE:
                raise UnableError(f"where {one.text} in its solution comes from cannot be told")

    def _within(self, side: Side) -> tuple[int, ...]:
        return tuple(i for i, one in enumerate(self.numerals) if side.start <= one.start < side.end)

    def _options(self, answer: Fraction) -> tuple[tuple[int, ...], int | None]:
        options = options_of(self.item)
        if not options:
            return (), None
        found = tuple(i for i in range(len(self.numerals)) if self._inside(i, self.tasks))
        rights = [number for number, one in enumerate(options) if one.right]
        if len(found) != len(options) or len(rights) != 1:
            raise UnableError("its options are not one number each with one of them right")
        if self.numerals[found[rights[0]]].value != answer:
            raise UnableError("the right option is not what its solution ends at")
        return found, rights[0]
