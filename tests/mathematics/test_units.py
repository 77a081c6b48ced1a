r"""The commands of siunitx are read as the numbers and units that they print."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.latex.amounts import amounts
from qagen_dagster.latex.comparison import same_answer
from qagen_dagster.mathematics.units import written_out

_PRINTED = [
    (r"\SI{300}{cm}", r"300\,\mathrm{cm}"),
    (r"\SI{3e8}{\metre\per\second}", r"3 \times 10^{8}\,\mathrm{m/s}"),
    (r"\qty{9.81}{\meter\per\second\squared}", r"9.81\,\mathrm{m/s^{2}}"),
    (r"\SI[per-mode=symbol]{5}{\kilo\meter\per\hour}", r"5\,\mathrm{km/h}"),
    (r"\qty{25}{\degreeCelsius}", r"25\,^\circ\mathrm{C}"),
    (r"\SI{50}{\percent}", r"50\,\%"),
    (r"\SI{1.6e-19}{\coulomb}", r"1.6 \times 10^{-19}\,\mathrm{C}"),
    (r"\SI{3}{m.s^{-1}}", r"3\,\mathrm{m\,s^{-1}}"),
    (r"3\,\unit{\kilo\gram}", r"3\,\mathrm{kg}"),
    (r"\SI{2}{\joule\per\kilo\gram\per\kelvin}", r"2\,\mathrm{J\,kg^{-1}\,K^{-1}}"),
    (r"\qty{2}{\per\second}", r"2\,\mathrm{s^{-1}}"),
    (r"\SI{7}{\square\centi\meter}", r"7\,\mathrm{cm^2}"),
    (r"\SI{7}{\meter\tothe{3}}", r"7\,\mathrm{m^3}"),
    (r"\num{3e8}", r"3 \times 10^{8}"),
    (r"\ang{30}", r"30^\circ"),
]


@pytest.mark.parametrize(("command", "printed"), _PRINTED)
def test_a_command_is_the_amount_that_it_prints(command: str, printed: str) -> None:
    assert same_answer(f"${command}$", f"${printed}$")
    (mine,), (theirs,) = amounts(f"${command}$"), amounts(f"${printed}$")
    assert mine.same(theirs)
    assert (mine.unit is None) == (theirs.unit is None)


def test_a_quantity_has_its_unit_in_prose() -> None:
    (length,) = amounts(r"The rod is \SI{3}{\meter} long.")
    assert length.unit is not None
    assert length.unit.text == "m"


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (r"$\SI{300}{cm}$", r"$\SI{30}{m}$"),
        (r"$\SI{3}{\meter\per\second}$", r"$\SI{3}{\meter\per\second\squared}$"),
        (r"$\SI{3}{\milli\volt}$", r"$\SI{3}{\mega\volt}$"),
        (r"$\num{3e8}$", r"$\num{3e9}$"),
    ],
)
def test_other_amounts_stay_other_amounts(left: str, right: str) -> None:
    assert same_answer(left, right) is False


@pytest.mark.parametrize(
    "text", [r"\sin x + \sigma", r"$\square$ and \numrange{1}{2}", r"\per cent", r"\SI{3}"]
)
def test_other_commands_stay(text: str) -> None:
    assert written_out(text) == text


@given(st.text(alphabet="\\{}SIqtynumsi[]03e. persecond", max_size=200))
def test_any_text_is_read(text: str) -> None:
    written_out(text)
