from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.english.dates import Date, dates

DAYS = st.dates(datetime.date(1400, 1, 1), datetime.date(2099, 12, 31))
FORMATS = ("%d %B %Y", "%B %d, %Y", "%Y-%m-%d", "%d %b %Y", "%b %d, %Y", "%B %d %Y")


def only(text: str) -> Date:
    (found,) = dates(text)
    return found


@given(DAYS, st.sampled_from(FORMATS), st.sampled_from(FORMATS))
def test_every_spelling_of_a_day_is_the_same_day(day: datetime.date, one: str, other: str) -> None:
    left, right = (only(f"It was {day.strftime(form)} then.") for form in (one, other))
    assert (left.year, left.month, left.day) == (day.year, day.month, day.day)
    assert left.agrees(right)


@given(DAYS, DAYS)
def test_different_days_do_not_agree(one: datetime.date, other: datetime.date) -> None:
    left, right = only(f"on {one:%d %B %Y}"), only(f"on {other:%d %B %Y}")
    assert left.agrees(right) == (one == other)


@pytest.mark.parametrize(
    ("text", "year", "month", "day"),
    [
        ("in 1844", 1844, None, None),
        ("March 2020", 2020, 3, None),
        ("on 5 May", None, 5, 5),
        ("the 2nd of June 1999", 1999, 6, 2),
    ],
)
def test_a_date_is_read_as_far_as_it_is_told(
    text: str, year: int | None, month: int | None, day: int | None
) -> None:
    found = only(text)
    assert (found.year, found.month, found.day) == (year, month, day)


def test_less_told_agrees_with_more_told() -> None:
    assert only("in 2020").agrees(only("on 12 March 2020"))
    assert only("in the 1990s").agrees(only("in 1994"))
    assert not only("in the 1990s").agrees(only("in 2004"))


@pytest.mark.parametrize(
    "text", ["2,020 people", "1500 m", "$1999", "model X-2000", "12.2010", "you may 3 times", "1990%"]
)
def test_what_only_looks_like_a_date_is_none(text: str) -> None:
    assert list(dates(text)) == []


@given(st.text(max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    for one in dates(text):
        assert text[one.start : one.end].strip() == one.text


@pytest.mark.parametrize(
    "text", ["the 1960s", "in the '60s", "the 60s", "the sixties", "mid-sixties", "the nineteen-sixties"]
)
def test_every_spelling_of_a_decade_is_the_same_decade(text: str) -> None:
    assert only(text).decade
    assert only(text).agrees(only("in 1964"))
    assert only(text).agrees(only("the 1960s"))
    assert not only(text).agrees(only("in 1974"))


def test_an_age_is_no_decade() -> None:
    assert list(dates("a man in his sixties")) == []


def test_a_first_decade_may_be_the_century() -> None:
    assert only("the 1900s").agrees(only("in 1950"))
    assert not only("the 1910s").agrees(only("in 1950"))


@pytest.mark.parametrize(
    ("limit", "date", "within"),
    [
        ("prior to 1967", "in 1966", True),
        ("prior to 1967", "in 1967", False),
        ("before 1967", "in May 1967", False),
        ("before May 1967", "in 1967", True),
        ("by 1967", "in 1967", True),
        ("since 1967", "in 1990", True),
        ("no later than May 1966", "on 3 June 1966", False),
        ("after the 1960s", "in 1965", False),
        ("before 1967", "after 1967", False),
    ],
)
def test_a_comparison_holds_for_dates_within_it(limit: str, date: str, within: bool) -> None:
    assert only(limit).agrees(only(date)) == within
