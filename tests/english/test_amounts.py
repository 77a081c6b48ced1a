from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.english.amounts import Amount, amounts


def read(text: str) -> list[tuple[float, str]]:
    return [(one.value, one.unit) for one in amounts(text)]


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("1,234.5 kg", 1_234_500, "mass"),
        ("6 p.m.", 6, ""),
        ("5 P.M. sharp", 5, ""),
        ("6p", 0.06, "gbp"),
        ("1.2 million", 1_200_000, ""),
        ("US$3bn", 3e9, "usd"),
        ("3.5%", 3.5, "share"),
        ("3.5 per cent", 3.5, "share"),
        ("twelve percent", 12, "share"),
        ("£4.2 million", 4_200_000, "gbp"),
        ("three million pounds", 3_000_000, "gbp"),
        ("twenty-five students", 25, "student"),
        ("two thousand people", 2000, "people"),
        ("17th", 17, "rank"),
        ("seventeenth", 17, "rank"),
        ("1.5 km", 1500, "length"),
        ("-40 °C", -40, "temperature"),
        ("5 decades", 50, "years"),
        ("85€", 85, "eur"),
        ("USD 85", 85, "usd"),
        ("85 US dollars", 85, "usd"),
        ("85 Canadian dollars", 85, "canadian dollar"),
        ("2 euros", 2, "eur"),
        ("$1.2m", 1_200_000, "usd"),
        ("85p", 0.85, "gbp"),
        ("half a million dollars", 500_000, "usd"),
        ("twenty-one", 21, ""),
        ("two hundred and six", 206, ""),
        ("three hundred thousand", 300_000, ""),
        ("one thousand two hundred and thirty-four", 1234, ""),
        ("a hundred and ten people", 110, "people"),
        ("twenty-first", 21, "rank"),
        ("two hundred and third", 203, "rank"),
        ("10M users", 10_000_000, "user"),
        ("12 345 visitors".replace(" ", "\u00a0", 1), 12_345, "visitor"),
    ],
)
def test_amounts_are_read_with_their_measure(text: str, value: float, unit: str) -> None:
    ((found, named),) = read(f"It was {text}.")
    assert found == pytest.approx(value)
    assert named == unit


@given(st.integers(0, 10**12))
def test_separators_do_not_change_a_number(number: int) -> None:
    assert read(f"about {number:,} of them") == read(f"about {number} of them")


@given(st.integers(1, 9999), st.sampled_from(["million", "billion", "thousand"]))
def test_a_scale_is_a_factor(number: int, scale: str) -> None:
    factor = {"million": 10**6, "billion": 10**9, "thousand": 10**3}[scale]
    (short,), (long,) = list(amounts(f"{number} {scale}")), list(amounts(str(number * factor)))
    assert short.same(long)
    assert long.same(short)


@given(st.text(max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    for one in amounts(text):
        assert text[one.start : one.end].strip() == one.text


def test_rounding_is_the_same_only_one_way() -> None:
    rounded, exact, other = (next(amounts(text)) for text in ("1.2 million", "1,234,567", "1.3 million"))
    assert rounded.same(exact)
    assert not exact.same(rounded)
    assert not other.same(exact)


def test_units_of_different_measures_are_not_the_same() -> None:
    metres, kilometres, kilograms = (next(amounts(text)) for text in ("5,000 m", "5 km", "5 kg"))
    assert metres.same(kilometres)
    assert not kilometres.same(kilograms)
    assert not kilometres.comparable(kilograms)


def test_one_as_a_pronoun_is_no_number() -> None:
    assert read("the one who left") == []


def first(text: str) -> Amount:
    return next(amounts(text))


def test_pounds_may_be_money_or_a_mass() -> None:
    assert first("£85").same(first("85 pounds"))
    assert first("85 pounds").same(first("£85"))
    assert first("85 pounds").same(first("85 lb"))
    assert not first("85 pounds").same(first("85 kg"))
    assert not first("£85").same(first("$85"))


def test_a_number_without_a_unit_is_compared_as_written() -> None:
    assert first("85 kg").same(first("85"))
    assert first("85").same(first("85 kg"))
    assert not first("85 kg").same(first("85,000"))


def test_neighbouring_numbers_in_words_stay_apart() -> None:
    assert [value for value, _ in read("between one hundred and two hundred")] == [100, 200]
    assert [value for value, _ in read("two million and three hundred thousand")] == [2_000_000, 300_000]
    assert [value for value, _ in read("a thirty second delay")] == [30]


@pytest.mark.parametrize(
    "text",
    ["W5", "the COVID-19 wave", "an F-16", "a 5G mast", "5W30 oil", "A4 paper", "a quarter of a million"],
)
def test_letters_with_digits_are_names_and_no_numbers(text: str) -> None:
    assert read(text) == []


@pytest.mark.parametrize(
    ("limit", "value", "within"),
    [
        ("more than 80 people", "85 people", True),
        ("more than 85 people", "85 people", False),
        ("at least 85 people", "85 people", True),
        ("less than £90", "85 pounds", True),
        ("under 80 kg", "85 kg", False),
        ("85 or more", "90", True),
        ("85 people or more", "90 people", True),
        ("between 80 and 90", "85", True),
        ("between 80 and 90", "75", False),
        ("up to 20%", "15 percent", True),
        ("no more than 3 doors", "4 doors", False),
        ("more than 80 people", "85 rooms", False),
        ("more than 80", "less than 80", False),
        ("more than 80", "over 80", True),
    ],
)  # fmt: skip
def test_a_comparison_holds_for_what_is_within_it(limit: str, value: str, within: bool) -> None:
    assert first(limit).same(first(value)) == within
