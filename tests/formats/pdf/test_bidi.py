"""Lines of Hebrew and Arabic as they are read, from letters as they stand on the page."""

from __future__ import annotations

import pymupdf
import pytest

from qagen_dagster.formats.pdf.bidi import logical, with_brackets
from qagen_dagster.formats.pdf.fragments import RTL
from tests.formats.pdf.samples import lines, pdf

TOWER = "\u05de\u05d2\u05d3\u05dc"
YEAR = "\u05d1\u05e9\u05e0\u05ea"
BY = "\u05e2\u05dc \u05d9\u05d3\u05d9"
IN = "\u05d1"


def seen(*runs: str) -> list[str]:
    """The letters of a line from left to right on the page; the runs are given as they are read, from the right."""
    shown: list[str] = []
    for run in reversed(runs):
        shown += list(run) if run.isascii() and run[0].isalnum() else list(reversed(run))
    return shown


@pytest.mark.parametrize(
    "runs",
    [
        (TOWER, " ", "1911", " ", BY),
        (TOWER, " ", "485,000", " ", YEAR, "."),
        (BY, " ", "Holm", " ", YEAR, " ", "2008"),
        (BY, " ", "Holm & Berg Ltd", " ", YEAR),
        (IN, "-", "4", " ", YEAR),
        (TOWER, " (", YEAR, ") ", "5%"),
        (TOWER, " ", "3.5", ", ", "12/05/2008"),
        ("\u0628\u0631\u062c ", "\u0662\u0660\u0660\u0668"[::-1], " \u0628\u0631\u062c"),
    ],
)
def test_a_line_is_read_from_the_right_and_its_numbers_and_names_from_the_left(runs: tuple[str, ...]) -> None:
    wanted = "".join(runs).replace("\u0668\u0660\u0660\u0662", "\u0662\u0660\u0660\u0668")
    assert logical(seen(*runs), rtl=True) == wanted


def test_words_from_the_right_within_a_line_from_the_left_are_turned() -> None:
    shown = [*"The word ", *reversed(f"{TOWER} {YEAR}"), *" of 1911 is old"]
    assert logical(shown, rtl=False) == f"The word {TOWER} {YEAR} of 1911 is old"


def test_accents_stay_with_their_letters() -> None:
    assert logical(["c", "b\u064b", "\u05d0\u05b8"], rtl=True)[:2] == "\u05d0\u05b8"


def test_lines_of_hebrew_on_a_page_are_read_from_the_right_and_cells_apart() -> None:
    def draw(page: pymupdf.Page) -> None:
        for y, step, runs in (
            (60, 0, (f"{TOWER} {YEAR}", "1911", BY, "Holm", "485,000", YEAR)),
            (90, 60, (TOWER, "18", "6")),
        ):
            right = 500.0
            for run in runs:
                wide = 7.0 * len(run)
                page.insert_htmlbox(
                    (right - wide, y, right, y + 20), f"<p style='font-size:12px;text-align:right'>{run}</p>"
                )
                right -= wide + step

    said, row = lines(pdf(draw))
    assert (said.replace(" |", ""), row) == (
        f"{TOWER} {YEAR} 1911 {BY} Holm 485,000 {YEAR}",
        f"{TOWER} | 18 | 6",
    )


def test_codes_without_a_character_are_marked() -> None:
    def draw(page: pymupdf.Page) -> None:
        page.insert_htmlbox(
            (60, 60, 500, 80), f"<p style='text-align:right'>{TOWER} {TOWER} {TOWER} 12 {YEAR}</p>"
        )

    document = pymupdf.open(stream=pdf(draw))
    for xref in range(1, document.xref_length()):
        if document.xref_is_stream(xref) and b"begincmap" in (stream := document.xref_stream(xref)):
            document.update_stream(xref, stream.replace(b"<05d1>", b"<0001>"))  # the letter of `IN`
    assert lines(document.tobytes()) == [f"{TOWER} {TOWER} {TOWER} 12 {YEAR}".replace(IN, "\ufffd")]


def test_brackets_that_are_named_by_their_looks_are_turned() -> None:
    assert with_brackets(f"{BY} ){TOWER} 2008({YEAR}") == f"{BY} ({TOWER} 2008){YEAR}"
    assert with_brackets(f"{BY} ({TOWER}) {YEAR}") == f"{BY} ({TOWER}) {YEAR}"
    assert with_brackets("f (x) )y(") == "f (x) )y("


def test_a_letter_that_shares_its_width_with_an_accent_keeps_its_place() -> None:
    document = pymupdf.open(stream=pdf("A page of codes"))
    page = document[0]
    font, content = document.get_new_xref(), document.get_new_xref()
    names = "97/uni064F/uni0628/uni0646/uni064A"  # the first one is an accent
    stated = f"/FirstChar 97/LastChar 100/Widths[0 600 600 600]/Encoding<</Differences[{names}]>>"
    document.update_object(font, f"<</Type/Font/Subtype/Type1/BaseFont/Own{stated}>>")
    document.update_object(content, "<<>>")
    shown = b"(dc) Tj /Span<</ActualText<FEFF0628064F>>>BDC 14.4 0 Td (a) Tj (b) Tj EMC (c) Tj"
    document.update_stream(content, b"BT /Own 12 Tf 60 700 Td %b ET" % shown)
    document.xref_set_key(page.xref, "Resources", f"<</Font<</Own {font} 0 R>>>>")
    document.xref_set_key(page.xref, "Contents", f"{content} 0 R")
    assert lines(document.tobytes()) == ["\u0646\u0628\u064f\u0646\u064a"]


def test_the_variants_of_signs_are_no_right_to_left_letters() -> None:
    assert RTL.search("\u26a0\ufe0f \U0001d4aa\ufe00") is None
