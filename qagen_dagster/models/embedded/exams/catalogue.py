"""The catalogue of all families, and the question of a slot: its numbers and its options."""

from __future__ import annotations

from functools import lru_cache

from qagen_dagster.mathematics.values import Quantity, equal, value_of
from qagen_dagster.models.embedded.draw import Draw
from qagen_dagster.models.embedded.exams.families import (
    m1_proportionality,
    m2_reverse_algebra,
    m3_functions,
    m4_geometry,
    m5_trigonometry,
    m6_counting,
    m7_constraints,
    p1_method_choice,
    p2_scaling,
    p3_graphs,
    p4_circuits,
    p5_limiting_cases,
    p6_waves,
    p7_equilibrium,
)
from qagen_dagster.models.embedded.exams.family import (
    Draft,
    Family,
)

FAMILIES: tuple[Family, ...] = tuple(
    family
    for module in (
        m1_proportionality,
        m2_reverse_algebra,
        m3_functions,
        m4_geometry,
        m5_trigonometry,
        m6_counting,
        m7_constraints,
        p1_method_choice,
        p2_scaling,
        p3_graphs,
        p4_circuits,
        p5_limiting_cases,
        p6_waves,
        p7_equilibrium,
    )
    for family in module.FAMILIES
)
SCHEMAS = tuple(dict.fromkeys(family.schema for family in FAMILIES))
MOST_OPTIONS = 6
_LEAST_WRONG = 3
_TRIES_OF_A_SETTING = 200
_TRIES = 6 * _TRIES_OF_A_SETTING  # the last round accepts numbers used before
_LOOKED_BACK = 100  # slots; beyond these no family has new numbers


def family_of(schema: str, difficulty: str) -> Family | None:
    """The family of a schema and difficulty, or None."""
    return next((one for one in FAMILIES if (one.schema, one.difficulty) == (schema, difficulty)), None)


def question_of(family: Family, seed: int, slot: int, attempt: int) -> tuple[Draft, list[tuple[str, str]]]:
    """The question of a slot (from 1), and its wrong options with their paths; all values differ.

    The setting follows from seed and slot, so that neighbouring slots differ in more than numbers. Another attempt
    draws other numbers in the same setting. A computation of an earlier slot is avoided as long as this setting or
    the next ones have others. Raises ValueError if no numbers fit; this happens for no family of the catalogue.
    """
    draw = Draw(f"{family.schema}/{family.difficulty}/{seed}/{slot}/{attempt}")
    setting = (seed + slot) % family.contexts
    earlier = range(1, slot if slot <= _LOOKED_BACK else 1)  # all earlier slots, unless there are too many
    taken = {_computation(_first(family, seed, one)[0]) for one in earlier}
    if attempt > 1:
        taken.add(_computation(_first(family, seed, slot)[0]))
    for tried in range(_TRIES):
        made = family.make(draw, (setting + tried // _TRIES_OF_A_SETTING) % family.contexts)
        if made is None or (tried < _TRIES - _TRIES_OF_A_SETTING and _computation(made) in taken):
            continue
        wrong = _distinct(made, family.paths)
        if len(wrong) >= _LEAST_WRONG:
            return made, wrong[: MOST_OPTIONS - 1]
    raise ValueError(f"no numbers fit {family.schema} {family.difficulty}")


def _first(family: Family, seed: int, slot: int) -> tuple[Draft, list[tuple[str, str]]]:
    return _first_of(family.schema, family.difficulty, seed, slot)


@lru_cache(maxsize=4_096)
def _first_of(schema: str, difficulty: str, seed: int, slot: int) -> tuple[Draft, list[tuple[str, str]]]:
    family = family_of(schema, difficulty)
    if family is None:
        raise ValueError(f"there is no family for {schema} {difficulty}")
    return question_of(family, seed, slot, 1)


def _computation(made: Draft) -> tuple[str, ...]:
    return (made.expression, *(f"{name}={value}" for name, value in sorted(made.givens.items())))


def _distinct(made: Draft, paths: tuple[str, ...]) -> list[tuple[str, str]]:
    """The wrong options whose value differs from all other options."""
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
