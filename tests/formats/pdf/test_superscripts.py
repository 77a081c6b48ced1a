"""Powers of ten and square units on a page, written with a "^"; other raised letters and plain numbers as they are."""

from __future__ import annotations

import pymupdf
import pytest

from tests.formats.pdf.samples import Draw, lines, pdf, write

PROSE = [f"Line {n} of a page that is set in ordinary letters of one size." for n in range(6)]


def with_raised(base: str, raised: str, after: str = "", up: float = 5) -> Draw:
    """A page with one line of which a part is smaller and stands higher."""

    def draw(page: pymupdf.Page) -> None:
        write(page, PROSE, y=80)
        page.insert_text((60, 200), base, fontsize=11)
        x = 60 + pymupdf.get_text_length(base, fontsize=11)
        page.insert_text((x, 200 - up), raised, fontsize=7)
        x += pymupdf.get_text_length(raised, fontsize=7)
        page.insert_text((x, 200), after, fontsize=11)
        write(page, PROSE, y=240)

    return draw


@pytest.mark.parametrize(
    ("base", "raised", "after", "shown"),
    [
        ("It took 10", "5", " steps to the end of it", "It took 10^5 steps to the end of it"),
        ("A rate of 2.5 \u00d7 10", "-3", " per run", "A rate of 2.5 \u00d7 10^-3 per run"),
        ("An area of 12 km", "2", " of forest", "An area of 12 km^2 of forest"),
        ("As others said before", "12", " in their work", "As others said before12 in their work"),
    ],
)
def test_raised_numbers(base: str, raised: str, after: str, shown: str):
    assert lines(pdf(with_raised(base, raised, after)))[6] == shown


def test_plain_numbers_stay():
    text = "It took 105 steps, and 10-12 of them on page 103, in 1072 days over 12 m2."
    assert lines(pdf("\n".join([*PROSE, text, *PROSE])))[6] == text


def test_a_mark_after_other_numbers_does_not_change_them():
    assert (
        lines(pdf(with_raised("In the year 2017", "3", " it was over")))[6] == "In the year 20173 it was over"
    )
