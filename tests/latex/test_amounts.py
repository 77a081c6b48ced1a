"""The amounts of a text with their units."""

from __future__ import annotations

from fractions import Fraction

import pytest

from qagen_dagster.latex.amounts import amounts
from qagen_dagster.mathematics.value_reading import read_unit


@pytest.mark.parametrize(
    ("text", "unit", "factor"),
    [
        (r"$20\,\mathrm{k}\Omega$ in all", "ohm", 1000),
        (r"$20$ k$\Omega$ in all", "ohm", 1000),
        (r"$5$ $\Omega$ in all", "ohm", 1),
        (r"$12$ kg m s$^{-1}$ in all", "kg m s^-1", 1),
        (r"$2$ kW h a day", "J", 3_600_000),
        ("6 metres per second squared", "m/s^2", 1),
    ],
)
def test_units_in_several_pieces(text: str, unit: str, factor: int) -> None:
    (one,) = amounts(f"It has {text}.")
    assert one.unit is not None
    assert one.unit.comparable(read_unit(unit))
    assert one.unit.factor == Fraction(factor)


@pytest.mark.parametrize("text", ["an area of 2 cm2", r"after $2$ s A stops", "the $3$ lamps"])
def test_what_is_no_such_unit(text: str) -> None:
    assert [one.unit and one.unit.text for one in amounts(text)] in ([None], ["s"])
