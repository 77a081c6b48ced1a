"""The catalogue of all families, and the question of a slot: its numbers and its options."""

from __future__ import annotations

from functools import lru_cache

from qagen_dagster.mathematics.values import Quantity, equal, value_of
from qagen_dagster.models.embedded.draw import Draw
from qagen_dagster.models.embedded.exams.families.m1_proportionality import FAMILIES as M1
from qagen_dagster.models.embedded.exams.families.m2_reverse_algebra import FAMILIES as M2
from qagen_dagster.models.embedded.exams.families.m3_functions import FAMILIES as M3
from qagen_dagster.models.embedded.exams.families.m4_geometry import FAMILIES as M4
from qagen_dagster.models.embedded.exams.families.m5_trigonometry import FAMILIES as M5
from qagen_dagster.models.embedded.exams.families.m6_counting import FAMILIES as M6
from qagen_dagster.models.embedded.exams.families.m7_constraints import FAMILIES as M7
from qagen_dagster.models.embedded.exams.families.p1_method_choice import FAMILIES as P1
from qagen_dagster.models.embedded.exams.families.p2_scaling import FAMILIES as P2
from qagen_dagster.models.embedded.exams.families.p3_graphs import FAMILIES as P3
from qagen_dagster.models.embedded.exams.families.p4_circuits import FAMILIES as P4
from qagen_dagster.models.embedded.exams.families.p5_limiting_cases import FAMILIES as P5
from qagen_dagster.models.embedded.exams.families.p6_waves import FAMILIES as P6
from qagen_dagster.models.embedded.exams.families.p7_equilibrium import FAMILIES as P7
from qagen_dagster.models.embedded.exams.family import Draft, Family

FAMILIES = (*M1, *M2, *M3, *M4, *M5, *M6, *M7, *P1, *P2, *P3, *P4, *P5, *P6, *P7)
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
