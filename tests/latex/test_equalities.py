"""Numeric equalities of solutions: false ones are found, right and rounded ones are kept."""

from __future__ import annotations

import pytest

from qagen_dagster.latex.equalities import ends_at, false_equalities, reached

HOLD = [
    r"$a = \frac{F}{m} = \frac{20}{4} = \boxed{5\,\mathrm{m\,s^{-2}}}$",
    r"$Q = 0.5 \times 0.48 = 0.24\,\mathrm{C} = 240\,\mathrm{mC}$",
    r"$a = \frac{532}{196} = 2.714\,\mathrm{m\,s^{-2}}$; $T = 140 \times 2.714 = \boxed{380\,\mathrm{N}}$",
    r"$T \times 4.0 \sin 42^\circ = 8.0 \times 9.8 \times 2.0$, so $T = \frac{156.8}{2.677} = \boxed{59\,\mathrm{N}}$",
    r"$\sin 30^\circ = 0.5$, $\sin 30 = 0.5$ and $180^\circ - 30^\circ = 150^\circ$",
    r"$72\,\mathrm{km/h} = 72\times\frac{1000}{3600} = 20\,\mathrm{m\,s^{-1}}$",
    r"$F = 4\,\mathrm{kg} \times 5\,\mathrm{m\,s^{-2}} = 20\,\mathrm{N}$ and $\frac{20}{4\,\mathrm{kg}} = 5\,\mathrm{m\,s^{-2}}$",
    r"$\frac{11}{25} = 44\%$, $\frac{11}{25}\times100 = 44\%$, $50\% \times 80 = 40$",
    r"$E = 2\,\mathrm{kW}\times 3\,\mathrm{h} = 6\,\mathrm{kWh}$, $I = 12/4 = 3\,\mathrm{mA}$",
    r"$\tan^{-1}(4/3) = 53^\circ$, $\frac{\pi}{6} = 30^\circ$, $T = 2\pi\sqrt{\frac{1}{9.8}} = 2.0\,\mathrm{s}$",
    r"$1\,\mathrm{cm} = 5\,\mathrm{N}$ on the scale, $v = 300$ m $= 0.3$ km",
    r"$5! = 120$, $\log_2 8 = 3$, $|-3| = 3$, $2\frac{1}{2} = 2.5$, $1{,}500 + 500 = 2{,}000$",
    r"$101_2 = 5$, $17 = 2 \pmod 5$, $f(2)=4$, $3 = 3x$, $\int_0^2 3t^2\,dt = 8$, $\begin{pmatrix}1=2\end{pmatrix}$",
    r"$x=3 \\ y = 4$, $0.5 \approx 0.51$, $2 \neq 3$, $m = 1, 2, 3$",
    "2*5 = 10 and 3 + 4 = 7.",
    r"$\lambda = 3\times10^8/6\times10^{14} = 500\,\mathrm{nm}$, $20/2\times10^2 = 1000$",
    r"$10:5 = 2:1$, $3\frac12 = 3.5$, $20\,\mathrm{k}\Omega = 2\times10^4\,\Omega$",
    r"$\int_0^2 3t^2\,dt = \left[t^3\right]_0^2 = 8$, $[\tfrac{x^2}{2} - x]_{1}^{3} = 2$, $[k x^2]_0^3 = 9$, $[e^x]_0^1 = 7$, $[2, 5]$",
    r"$80\%$ of $50 = 40$, and three quarters of $16 = 12$",
    r"$1500\,\mathrm{rpm} = 50\pi\,\mathrm{rad\,s^{-1}}$, $1500\,\mathrm{rpm} = 25\,\mathrm{Hz}$",
    "5 x 4 = 20 J, 3 \u00d7 2 = 6, X/20 = 500, 1.04x+2 = 72.72, 24 = 8t, 12 = 12C3, 1/24 of 3, 4, 7 = 105, 2x \u2013 15 = 0",
]
FALSE = [
    r"$a = \frac{42}{6} = 8$",
    r"$v = gt = 10 \times 4 = \boxed{80\,\mathrm{m\,s^{-1}}}$",
    r"$0.5\times0.48 = 0.2\,\mathrm{C}$",
    r"$0.24\,\mathrm{C} = 24\,\mathrm{mC}$",
    r"$56+140=195$",
    r"$s = \left[t^3\right]_0^2 = \boxed{12\,\mathrm{m}}$",
    r"$\Big[\frac{x^2}{2} - x\Big]_{1}^{3} = 4$",
    r"$\frac{20}{6}=3$",
    r"$\sin 30^\circ = 0.6$ and $\sqrt{900} = 31$",
    r"$4\,\mathrm{kg} \times 5\,\mathrm{m\,s^{-2}} = 25\,\mathrm{N}$",
    r"$5\,\Omega + 10\,\Omega = 16\,\Omega$",
    r"\[\begin{aligned} x &= 3\times 4 \\ &= 13\end{aligned}\]",
    r"\begin{align} x &= 3\times 4 \\ &= 13\end{align}",
    r"$\lambda = \frac{3\times10^8}{6\times10^{14}} = 5\times10^{-6}\,\mathrm{m}$",
    r"$72\,\mathrm{km/h} = 200\,\mathrm{m\,s^{-1}}$",
    "3*4 = 13 and so on",
    "It gives 5 x 4 = 25 J, as 360-323 = 27",
    r"$20-8 = 14$",
    r"$20\,\mathrm{k}\Omega \times 2 = 60\,\mathrm{k}\Omega$",
    r"$20\,\mu\mathrm{C} = 2\times10^{-6}\,\mathrm{C}$",
    r"a speed of $\frac{72}{3.6} = 25$",
]


@pytest.mark.parametrize("text", HOLD)
def test_equalities_that_hold_or_say_nothing_are_kept(text: str) -> None:
    assert list(false_equalities(text)) == []


@pytest.mark.parametrize("text", FALSE)
def test_false_equalities_are_found(text: str) -> None:
    assert list(false_equalities(text)) != []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"$v = \frac{30}{2} = 15$, so it is $\boxed{30}$", 30.0),
        (r"The sum is $4 + 3 = 7$", 7.0),
        (r"With $x = 4$ the greatest value is $14$ m.", 14.0),
        (r"$36$ J of $144$ J are left.", None),
    ],
)
def test_where_a_solution_ends(text: str, value: float | None) -> None:
    found = ends_at(text)
    assert (found.plain if found else None) == value


@pytest.mark.parametrize(
    ("unit", "name"),
    [("m/s", "m / s"), ("km/h.", "km / h"), ("m/s^2", "m / s ^ 2"), ("cm^2", "cm ^ 2"), ("J of it", "J")]
    + [(one, None) for one in ("m/s$^2$", "m$^3$", "J/(kg K)", "m³", "m/miles", "of it")],
)
def test_the_unit_behind_a_formula_is_read_whole_or_not_at_all(unit: str, name: str | None) -> None:
    found = ends_at(f"So it moves $s = 3$ {unit}")
    assert found is not None
    assert (found.plain, found.unit.text if found.unit else None) == (3.0, name)


def test_values_that_are_reached_have_their_units() -> None:
    (one,) = [each for each in reached(r"$E = 2\,\mathrm{kWh}$") if each.united]
    assert (one.plain, one.factor) == (2.0, 3_600_000.0)
