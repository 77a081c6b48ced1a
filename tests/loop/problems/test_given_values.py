r"""A context variant keeps its numbers with the scale of their units, and the signs of what is given; names may change."""

from __future__ import annotations

import pytest

from qagen_dagster.loop.problems.properties import variant_breaches
from qagen_dagster.records.problems.item import VariantKind


def made(statement: str) -> str:
    return f"\\item {statement}\n\\begin{{solution}}\nWith the law of motion $s = \\boxed{{7}}$.\n\\end{{solution}}"


def said(source: str, variant: str) -> list[tuple[int, str]]:
    broken = variant_breaches(
        VariantKind.CONTEXT, made(f"A cart on a road. {source}"), made(f"A swan in a lake. {variant}")
    )
    return [(one.property, one.detail) for one in broken]


@pytest.mark.parametrize(
    ("source", "variant"),
    [
        ("It goes 5 km.", "It swims 5 m."),
        ("It goes $5$ km.", "It swims $5$~m."),
        (r"It goes $5\,\mathrm{km}$.", r"It swims $5\,\text{m}$."),
        (r"It goes \SI{5}{\kilo\metre}.", r"It swims 5 metres."),
        (r"It goes at $36\,\mathrm{km\,h^{-1}}$.", r"It swims at $36\,\mathrm{m/s}$."),
        ("It goes at 36 km/h.", r"It swims at $36\,\mathrm{m\,s^{-1}}$."),
        ("A 2 kg load for 3 minutes.", "A 2 kg fish for 3 seconds."),
        (r"It turns by $30^\circ$.", r"It turns by $30\,\mathrm{rad}$."),
    ],
)
def test_a_value_in_a_unit_of_another_scale_is_another_value(source: str, variant: str) -> None:
    ((number, detail),) = said(source, variant)
    assert number == 8
    assert "in the source; here it is in" in detail


@pytest.mark.parametrize(
    ("source", "variant"),
    [
        ("Its place is $x = 3t + 2t^2$.", "Its place is $y = 3s - 2s^2$."),
        ("Its place is $x(t) = 5 - 3t$.", "Its height is $h = 5 + 3 \\tau$."),
        (
            r"\[ \vec v = 3\hat i + 4\hat j \]",
            r"\begin{equation} \vec u = 3\hat{i} - 4\hat{j} \end{equation}",
        ),
        ("It holds for $t > 4$.", "It holds for $s < 4$."),
        (r"It holds for $t \leq 4 t_0$.", r"It holds for $\tau \ge 4\tau_0$."),
    ],
)
def test_a_given_relation_keeps_its_signs(source: str, variant: str) -> None:
    ((number, detail),) = said(source, variant)
    assert number == 8
    assert detail.startswith("a given relation has another sign: ")


@pytest.mark.parametrize(
    ("source", "variant"),
    [
        ("It goes 5 km.", r"It swims $5\,\mathrm{kilometres}$."),
        (r"It goes at $36\,\mathrm{m\,s^{-1}}$.", "It swims at 36 m/s, like others."),
        (r"It goes at 36 m s$^{-1}$.", r"It swims at $36\,\mathrm{m/s}$."),
        ("A mass of $2m$ and one of 3 kg.", "A mass of $2M$ and one of 3 kg."),
        ("Loads 3 kg A and 5 g B move.", "Fish 5 g P and 3 kg Q swim."),
        ("First 5 m, then 5 cm.", "First 5 cm, then 5 m."),
        (r"A force $F = 5\,\mathrm{N}$.", "A force of 5 newtons."),
        ("Its place is $x = 3t + 2t^2$.", r"Its place is \( y(s) = 3 s + 2 s^{2} \)."),
        ("Its place is $x = 3t + 2t^2$.", "Its place is $2s^2+3s$."),
        ("$x = 3t + 2$ and $y = 3t - 2$.", "$u = 3s - 2$ and $w = 3s + 2$."),
        ("It holds for $t > 4$.", "It holds for $4 < s$."),
        ("Charges $+3q$ and $-3q$.", "Charges $-3Q$ and $+3Q$."),
        (r"Masses $m_1 + m_2$ at $4\,\mathrm{s}$.", r"Masses at $4\,\mathrm{s}$, $M_2 - M_1$ apart."),
        (r"A field of $10^{-3}\,\mathrm{T}$.", r"A field of $10^{-3}$ T."),
        (r"It is $20^\circ\mathrm{C}$ warm.", r"It is at $20\,^{\circ}\text{C}$."),
        (r"A tenth: 10\% of it.", r"A part: $10\,\%$ of it."),
    ],
)  # fmt: skip
def test_the_same_values_and_relations_may_be_written_and_named_otherwise(source: str, variant: str) -> None:
    assert said(source, variant) == []
    assert said(variant, source) == []


WORKED = "Forces balance: $F = m g \\sin 30^\\circ = 10 \\cdot 9.8 \\cdot 0.5$, $s = \\boxed{7}$."
NAMED = "Here $g = 10\\,\\mathrm{m\\,s^{-2}}$, so $F = 10 \\cdot 10 \\cdot 0.5$ and $s = \\boxed{7}$."


@pytest.mark.parametrize(
    ("solution", "more", "kept"),
    [
        (WORKED, r"Take $g = 9.8\,\mathrm{m\,s^{-2}}$.", True),
        (WORKED, r"Take \( g \approx 9.8\,\mathrm{m/s^2} \).", True),
        (NAMED, r"Take $g = 10\,\mathrm{m\,s^{-2}}$.", True),
        (NAMED, r"Take $g=10$ and $g = 10$.", False),
        (WORKED, r"Take $g = 10\,\mathrm{m\,s^{-2}}$.", False),
        (WORKED, r"Take $g = 9.81\,\mathrm{m\,s^{-2}}$.", False),
        (WORKED, r"Its length is $l = 9.8\,\mathrm{m}$.", False),
        (WORKED, r"Its speed is 9.8 m/s.", False),
    ],
)
def test_a_constant_of_the_solution_may_be_named(solution: str, more: str, kept: bool) -> None:
    def item(statement: str) -> str:
        return f"\\item {statement}\n\\begin{{solution}}\n{solution}\n\\end{{solution}}"

    source = item("A cart of $10$ kg on a slope of $30^\\circ$. What holds it?")
    variant = item(f"A sledge of $10$ kg on a hill of $30^\\circ$. {more} What holds it there?")
    broken = variant_breaches(VariantKind.CONTEXT, source, variant)
    assert [one.property for one in broken] == ([] if kept else [8])


def test_numbers_are_told_as_people_write_them() -> None:
    found = said("It goes 2.5 km and 7 km.", r"It swims 0.1 km and $\frac{1}{3}$ km and 7 km.")
    assert found[0][1].endswith(
        "those of the source: 2.5 of the source is not there, and 0.1, 1/3 is not in the source"
    )
