from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.grounding.dates import Date, dates

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
