"""All families, and which one belongs to a slot. Drawing numbers and lettering options is here; the wording is in the families."""

from __future__ import annotations

from qagen_dagster.mathematics.values import Quantity, equal, value_of
from qagen_dagster.models.embedded.exam import m1, m2, m3, m4, m5, m6, m7, p1, p2, p3, p4, p5, p6, p7
from qagen_dagster.models.embedded.exam.family import Draw, Family, Made

FAMILIES: tuple[Family, ...] = tuple(
    family
    for module in (m1, m2, m3, m4, m5, m6, m7, p1, p2, p3, p4, p5, p6, p7)
    for family in module.FAMILIES
)
SCHEMAS = tuple(dict.fromkeys(family.schema for family in FAMILIES))
MOST_OPTIONS = 6
_LEAST_WRONG = 3
_TRIES = 400


def family_of(schema: str, difficulty: str) -> Family | None:
    """The family of a schema and difficulty; None where there is none."""
    return next((one for one in FAMILIES if (one.schema, one.difficulty) == (schema, difficulty)), None)


def question_of(family: Family, seed: int, slot: int, attempt: int) -> tuple[Made, list[tuple[str, str]]]:
    """The question of a slot with its wrong options and their paths, all of different values.

    The setting follows from seed and slot, so that neighbouring slots differ in more than numbers; an attempt draws other
    numbers in the same setting. Raises ValueError if no numbers fit, which no family of the catalogue does.
    """
    draw = Draw(f"{family.schema}/{family.difficulty}/{seed}/{slot}/{attempt}")
    context = (seed + slot) % family.contexts
    for _ in range(_TRIES):
        made = family.make(draw, context)
        if made is None:
            continue
        wrong = _distinct(made, family.paths)
        if len(wrong) >= _LEAST_WRONG:
            return made, wrong[: MOST_OPTIONS - 1]
    raise ValueError(f"no numbers fit {family.schema} {family.difficulty}")


def _distinct(made: Made, paths: tuple[str, ...]) -> list[tuple[str, str]]:
    """The wrong options whose value no other option has."""
    taken: list[Quantity] = [value_of(made.key)]
    kept: list[tuple[str, str]] = []
    for text, path in zip(made.wrong, paths, strict=False):
        if text is None:
            continue
        value = value_of(text)
        if not any(equal(value, other) for other in taken):
            taken.append(value)
            kept.append((text, path))
    return kept
