"""Draws exam papers from a bank by a blueprint, and keeps a record of them in the store.

A draw is a random walk over choices of items from different families. It ends when the choice has the wanted difficulties and schemas, and
keys that are evenly spread over the letters, or after _STEPS steps. The same bank, blueprint and earlier papers give the same paper.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from typing import TypeVar

from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.exams.duplicates import families
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.embedded import Draw
from qagen_dagster.records.base import Difficulty
from qagen_dagster.records.blind import Letter
from qagen_dagster.records.exams.bank import ExamItem
from qagen_dagster.records.exams.paper import PRINTED, Blueprint, Paper, PaperForm, PaperItem, paper_id

NameT = TypeVar("NameT", bound=str)
_STEPS, _ATTEMPTS = 20_000, 5  # steps of one walk, and attempts at all forms together
_BROKEN, _MISSED = 1_000_000, 100  # cost of each item that a condition lacks, and that a wish lacks
_WORSE = (0, 0, 0, 2, 6)  # a step may raise the cost by at most one of these numbers, drawn at random
_NAMED = re.compile(
    r"\b(?:[Oo]ptions?|[Aa]nswers?|[Cc]hoices?|[Aa]lternatives?)\s+\(?[A-H]\b|(?<!\w)\([A-H]\)|\b[A-H] (?:and|or) [A-H]\b"
    r"|\b(?:[Aa]bove|[Bb]elow)\b|\b(?:[Nn]one|[Aa]ll|[Bb]oth|[Nn]either|[Aa]ny) of (?:the|these|those)\b"
)  # words that are true only while the options keep their letters


@dataclass(frozen=True)
class Wanted:
    """The numbers of items of a form: in all, by difficulty, and by prefix of schema ids."""

    items: int
    by_difficulty: Mapping[Difficulty, int]
    by_prefix: Mapping[str, int]
    is_strict: bool  # whether the difficulties are a condition
    minutes: float  # time that the items take


@dataclass(frozen=True)
class Drawn:
    """A drawn paper, its items by id, and warnings about it."""

    paper: Paper
    items: Mapping[str, ExamItem]
    wanted: Wanted
    warnings: tuple[str, ...]

    def printed(self, form: PaperForm) -> list[ExamItem]:
        """The items of a form, with their options as the form prints them."""
        return [item.printed(self.items[item.item]) for item in form.items]


def draw_paper(
    space: Workspace,
    exam: str,
    items: Sequence[ExamItem],
    blueprint: Blueprint,
    weights: Mapping[Difficulty, float],
) -> Drawn:
    """Draw the forms of a paper from `items` and store its record. `weights` are the exam's weights of difficulties.

    Raises ConfigError for an unusable blueprint, or if the bank has too few items for it, and StoreError for a damaged record of a paper.
    """
    earlier = papers(space, exam)
    used = _used(earlier, blueprint)
    free = [
        one for one in items if one.id not in used and _prefix(one.schema_id, blueprint.schemas) is not None
    ]
    wanted = _wanted(blueprint, weights, free)
    warnings: list[str] = []
    if blueprint.minutes is not None and wanted.minutes > blueprint.minutes:
        warnings.append(f"the items take about {wanted.minutes:g} minutes, more than {blueprint.minutes:g}")
    family = families(free)
    picked = _pick(free, family, wanted, blueprint, f"; {len(used)} used items are left out" if used else "")
    forms = tuple(_forms(picked, blueprint))
    known_items = {item.id: item for item in items}
    for form in forms:
        levels = Counter(known_items[item.item].difficulty for item in form.items)
        warnings += [
            f"form {form.number} has only {levels[level]} of {count} {level} items"
            for level, count in wanted.by_difficulty.items()
            if levels[level] < count
        ]
        warnings += _uneven(form)
    found = paper_id(exam, blueprint, forms)
    known = next((one for one in earlier if one.id == found), None)
    paper = known or Paper(
        id=found, exam=exam, blueprint=blueprint, forms=forms, drawn=datetime.now(UTC).date()
    )
    if known is None:
        space.store.write(Paper.key(exam, found), paper)
    return Drawn(paper, known_items, wanted, tuple(warnings))


def papers(space: Workspace, exam: str) -> list[Paper]:
    """The records of all papers of an exam, the oldest first. Raises StoreError for a damaged record."""
    keys = (key for key in space.store.list(Paper.folder(exam)) if key.endswith(".json"))
    return sorted((space.store.read(key, Paper) for key in keys), key=lambda one: (one.drawn, one.id))


def _used(earlier: Iterable[Paper], blueprint: Blueprint) -> set[str]:
    """The ids of items of papers since the day that the blueprint names, if any. Items of a paper of this blueprint do not count."""
    since = blueprint.unused_since or date.max
    found = (one.item_ids for one in earlier if one.drawn >= since and one.blueprint != blueprint)
    return {item for ids in found for item in ids}


def _prefix(schema: str, schemas: Collection[str]) -> str | None:
    """The longest of the prefixes with which a schema id begins; None if none fits. Without prefixes, the id itself."""
    return (
        max((one for one in schemas if schema.startswith(one)), key=len, default=None) if schemas else schema
    )


def _shares(total: int, weights: Mapping[NameT, float]) -> dict[NameT, int]:
    """Whole numbers with the sum `total`, in proportion to the weights; the largest remainders are rounded up."""
    whole = sum(weights.values())
    exact = {name: total * weight / whole for name, weight in weights.items()}
    found = {name: int(share) for name, share in exact.items()}
    order = sorted(exact, key=lambda name: found[name] - exact[name])
    for name in order[: total - sum(found.values())]:
        found[name] += 1
    return found


def _wanted(blueprint: Blueprint, weights: Mapping[Difficulty, float], free: Sequence[ExamItem]) -> Wanted:
    difficulties = blueprint.difficulties or weights
    if not sum(difficulties.values()) or (blueprint.schemas and not sum(blueprint.schemas.values())):
        raise ConfigError("the weights of a blueprint must not all be 0")

    def counted(items: int) -> tuple[dict[Difficulty, int], float]:
        counts = _shares(items, difficulties)
        return counts, sum(blueprint.minutes_each.get(one, 2) * count for one, count in counts.items())

    items = blueprint.items
    if items is None:
        if blueprint.minutes is None:
            raise ConfigError("say how long the paper is: with --items, with --minutes, or in the blueprint")
        fitting = (count for count in range(len(free), 0, -1) if counted(count)[1] <= blueprint.minutes)
        items = next(fitting, 1)
    by_prefix = _shares(items, blueprint.schemas) if blueprint.schemas else {}
    counts, minutes = counted(items)
    return Wanted(items, counts, by_prefix, bool(blueprint.difficulties), minutes)


def _pick(
    free: Sequence[ExamItem], family: Mapping[str, str], wanted: Wanted, blueprint: Blueprint, note: str
) -> list[list[ExamItem]]:
    """The items of each form; one list if the forms have the same items. Raises ConfigError when there are too few."""
    count = 1 if blueprint.shuffle else blueprint.forms
    lacking = ""
    for attempt in range(_ATTEMPTS):
        picked: list[list[ExamItem]] = []
        left = list(free)
        for number in range(count):
            walk = _Walk(left, family, wanted, Draw(f"{blueprint.seed}/{attempt}/{number}"))
            lacking = walk.run()
            if lacking:
                break
            picked.append(walk.chosen)
            taken = {one.id for one in walk.chosen}
            left = [one for one in left if one.id not in taken]
        else:
            return picked
    many = f" for each of {count} forms" if count > 1 else ""
    raise ConfigError(f"the bank has too few items for this paper: {lacking}{many}{note}")


class _Walk:
    """One form: `chosen` are items of different families, which `run` exchanges until the choice fits."""

    def __init__(
        self, pool: Sequence[ExamItem], family: Mapping[str, str], wanted: Wanted, draw: Draw
    ) -> None:
        self._family, self._wanted, self._draw = family, wanted, draw
        self._pool = sorted(pool, key=lambda one: one.id)
        draw.shuffle(self._pool)
        firsts = {family[one.id]: one for one in self._pool}
        self._families = len(firsts)
        self.chosen = list(firsts.values())[: wanted.items]

    def run(self) -> str:
        """Exchange items. Returns what is lacking for the paper; empty if nothing is."""
        if self._families < self._wanted.items:
            return (
                f"it needs {self._wanted.items} items of different families, and there are {self._families}"
            )
        now = self.chosen
        cost = best = self._cost(now)
        for _ in range(_STEPS):
            if best <= self._least:
                break
            place, other = self._draw.randrange(len(now)), self._draw.choice(self._pool)
            trial = [*now[:place], other, *now[place + 1 :]]
            if len({self._family[one.id] for one in trial}) < len(trial):
                continue
            found = self._cost(trial)
            if found <= cost + self._draw.choice(_WORSE):
                now, cost = trial, found
            if cost < best:
                self.chosen, best = now, cost
        return ", ".join(self._lacking(self.chosen)) if best >= _BROKEN else ""

    @cached_property
    def _least(self) -> int:
        """The cost if nothing is missed, and schemas and letters of keys are as even as they can be."""
        schemas = len({one.schema_id for one in self._pool})
        letters = max(len(one.letters) for one in self._pool)
        return sum(_least_squares(self._wanted.items, parts) for parts in (schemas, letters))

    def _cost(self, items: Sequence[ExamItem]) -> int:
        """The sums of squares of counts, which are smallest for even counts, plus the costs of what is missed."""
        schemas = Counter(item.schema_id for item in items)
        keys = Counter(item.question.correct_option for item in items)
        levels, prefixes = self._missed(items)
        broken = sum(prefixes.values()) + self._wanted.is_strict * sum(levels.values())
        squares = sum(count * count for counts in (schemas, keys) for count in counts.values())
        return squares + broken * _BROKEN + sum(levels.values()) * _MISSED

    def _missed(self, items: Sequence[ExamItem]) -> tuple[Counter[str], Counter[str]]:
        """How many items are missing by difficulty, and by prefix."""
        wanted = self._wanted
        levels = Counter[str](wanted.by_difficulty) - Counter[str](item.difficulty for item in items)
        counted = items if wanted.by_prefix else ()
        found = Counter(_prefix(one.schema_id, wanted.by_prefix) or "" for one in counted)
        return levels, Counter(wanted.by_prefix) - found

    def _lacking(self, items: Sequence[ExamItem]) -> Iterator[str]:
        levels, prefixes = self._missed(items)
        missing = levels + prefixes if self._wanted.is_strict else prefixes
        asked: dict[str, int] = {**self._wanted.by_difficulty, **self._wanted.by_prefix}
        for name, count in missing.items():
            yield f"of {asked[name]} items of {name} it has {asked[name] - count}"


def _least_squares(total: int, parts: int) -> int:
    whole, rest = divmod(total, parts)
    return (parts - rest) * whole**2 + rest * (whole + 1) ** 2


def _forms(picked: Sequence[Sequence[ExamItem]], blueprint: Blueprint) -> Iterator[PaperForm]:
    """The forms: easy items first, options shuffled from form 2 on with `shuffle`, and keys moved to make their letters even."""
    levels = list(Difficulty)
    for number in range(1, blueprint.forms + 1):
        draw = Draw(f"{blueprint.seed}/order/{number}")
        items = sorted(picked[0 if blueprint.shuffle else number - 1], key=lambda one: one.id)
        draw.shuffle(items)
        items.sort(key=lambda one: levels.index(one.difficulty))
        free = [not names_letters(one) for one in items]
        orders = [one.letters for one in items]
        for order, movable in zip(orders, free, strict=True):
            if movable and blueprint.shuffle and number > 1:
                draw.shuffle(order)
        _even_out(items, orders, free)
        printed = (PaperItem.of(item, order) for item, order in zip(items, orders, strict=True))
        yield PaperForm(number=number, items=tuple(printed))


def names_letters(item: ExamItem) -> bool:
    """Whether a text of the item names an option by its letter or its place, so that its options cannot be moved."""
    package = item.question_package
    texts = (
        item.question.stem,
        *item.question.options.values(),
        item.solution_text,
        *package.distractor_map.values(),
    )
    return any(_NAMED.search(text) for text in texts)


def _even_out(items: Sequence[ExamItem], orders: Sequence[list[Letter]], free: Sequence[bool]) -> None:
    """Exchange the key of an item with another option while this makes the letters of the keys more even."""
    keys = [
        PRINTED[order.index(item.question.correct_option)] for item, order in zip(items, orders, strict=True)
    ]
    while True:
        counts = Counter(keys)
        moves = [
            (counts[key] - counts[other], -place, other)
            for place, key in enumerate(keys)
            if free[place]
            for other in items[place].letters
        ]
        gain, place, other = max(moves, default=(0, 0, PRINTED[0]))
        if gain <= 1:
            return
        order, at, to = orders[-place], PRINTED.index(keys[-place]), PRINTED.index(other)
        order[at], order[to] = order[to], order[at]
        keys[-place] = other


def _uneven(form: PaperForm) -> Iterator[str]:
    fewest = min(len(item.order) for item in form.items)
    counts = [sum(item.key == letter for item in form.items) for letter in PRINTED[:fewest]]
    if max(counts) - min(counts) > 1:
        shown = ", ".join(f"{letter} {count}" for letter, count in zip(PRINTED, counts, strict=False))
        yield f"form {form.number}: the letters of the keys are not even ({shown}), because items name options by their letters"
