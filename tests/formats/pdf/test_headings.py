"""Headings of PDFs: what is taken for one beside the outline and the size of letters, and what is not."""

from __future__ import annotations

import pymupdf
import pytest

from tests.formats.pdf.samples import Draw, parse, pdf, write

BODY = "Most of what stands on a page is such a line of running text as this one here."


def page(*parts: str | tuple[str, str], gap: float = 26) -> Draw:
    """A page of paragraphs; a tuple is a line and its font."""

    def draw(drawn: pymupdf.Page) -> None:
        y = 80.0
        for part in parts:
            text, font = (part, "helv") if isinstance(part, str) else part
            lines = [BODY] * 3 if text == BODY else [text]
            for line in lines:
                drawn.insert_text((60, y), line, fontsize=11, fontname=font)
                y += 14
            y += gap - 14

    return draw


def titles(*pages: Draw, toc: list[list[object]] | None = None) -> list[str]:
    document = pymupdf.open("pdf", pdf(*pages))
    if toc:
        document.set_toc(toc)
    return [one.title for one in parse(document.tobytes()).sections]


def test_a_short_line_of_another_font_between_paragraphs_is_a_heading() -> None:
    parts = [BODY, ("Wheels", "hebo"), BODY, ("Of ponds", "tiit"), BODY, "the sluices", BODY, BODY]
    assert titles(page(*parts)) == ["Wheels", "Of ponds"]


@pytest.mark.parametrize(
    "line",
    [
        "Note: the wheel is wet",
        "Wheels turn and so do all the heavy stones that lie in the upper mill of the Kest.",
        "and then the wheel",
        "Figure 3 A wheel",
        "A wheel of oak,",
        "1999 2000 2001 2002",
    ],
)
def test_bold_lines_that_are_no_headings(line: str) -> None:
    assert titles(page(BODY, (line, "hebo"), BODY, BODY)) == []


def test_bold_numbered_lines_that_end_in_a_full_stop_are_headings() -> None:
    parts = [BODY, ("1. Open the sluice.", "hebo"), BODY, ("2. Turn the wheel.", "hebo"), BODY]
    assert titles(page(*parts)) == ["1. Open the sluice.", "2. Turn the wheel."]


def test_a_bold_line_below_the_end_of_a_paragraph_is_a_heading_without_a_gap() -> None:
    assert titles(page(BODY, ("Wheels", "hebo"), BODY, BODY, gap=14)) == ["Wheels"]


def test_chinese_headings_have_two_letters_and_no_full_stop() -> None:
    large = [("\u6458\u8981", 15), ("\u6c34\u8f66\u8f6c\u52a8\u3002", 15)]

    def chinese(drawn: pymupdf.Page) -> None:
        for n, (line, size) in enumerate(large):
            drawn.insert_text((60, 80 + 120 * n), line, fontsize=size, fontname="china-s")
            write(drawn, [BODY] * 3, y=110 + 120 * n)

    assert titles(page(BODY, BODY), chinese) == ["\u6458\u8981"]


def test_labels_that_occur_often_are_no_headings() -> None:
    labelled = [part for _ in range(5) for part in (BODY, ("Returns", "hebo"))]
    assert titles(page(*labelled, BODY), page(*labelled, BODY, ("Wheels", "hebo"), BODY)) == ["Wheels"]


def test_headings_that_the_outline_omits_are_added() -> None:
    entries: list[list[object]] = [[1, "Wheels", 1], [1, "Ponds", 2]]
    first = page(BODY, ("Wheels", "hebo"), BODY, ("Paddles", "hebo"), BODY, ("a note", "tiit"), BODY)
    second = page(BODY, ("Ponds", "hebo"), BODY, ("References", "hebo"), "[1] A book.")
    assert titles(first, second, toc=entries) == ["Wheels", "Paddles", "Ponds", "References"]


def test_captions_in_the_outline_are_no_headings() -> None:
    entries: list[list[object]] = [[1, "Figure 1: A wheel", 1], [1, "Table 2: Ponds", 1]]
    assert titles(page(BODY, ("Wheels", "hebo"), BODY), toc=entries) == ["Wheels"]


def test_a_cover_has_no_headings() -> None:
    def cover(drawn: pymupdf.Page) -> None:
        write(drawn, ["Mills of the Upper Kest"], y=100, size=24)
        write(drawn, ["Ann Author"], y=300, size=18)
        write(drawn, ["June"], y=500, size=11)

    assert titles(cover, page(BODY, ("Wheels", "hebo"), BODY), page(BODY, BODY)) == ["Wheels"]


def test_lines_in_capitals_between_paragraphs_are_headings_in_any_print() -> None:
    parts = [BODY, "THE UPPER MILL", BODY, "the lower mill", BODY, "THE PONDS", BODY]
    assert titles(page(*parts)) == ["THE UPPER MILL", "THE PONDS"]


def test_a_line_is_a_heading_if_others_in_its_print_are() -> None:
    doubtful = (
        "Wheels that turn in the stream of the upper mill of the Kest, and of 12 other mills in spring",
        "tiit",
    )
    sure = [part for name in ("Wheels", "Ponds", "Mills") for part in (BODY, (name, "tiit"))]
    assert titles(page(BODY, doubtful, BODY, BODY)) == []
    assert titles(page(*sure, BODY, doubtful, BODY)) == ["Wheels", "Ponds", "Mills", doubtful[0]]


def test_bold_beginnings_of_paragraphs_are_no_headings() -> None:
    begun = f"Wheels {BODY[:60]}"
    parts = [part for _ in range(3) for part in ((begun, "hebo"), BODY)]
    assert titles(page(*parts, gap=14)) == []


def test_lines_of_a_font_that_mostly_prints_something_else_are_no_headings() -> None:
    code = [("set the wheel", "cour"), ("Turn", "cour"), ("open sluice", "cour"), ("close it, then", "cour")]
    assert titles(page(BODY, *code, BODY, gap=14)) == []
    assert titles(page(BODY, ("Turn", "cour"), BODY)) == ["Turn"]
    numbered = [("2.1 Sluices", "cobo"), ("shut it", "cobo"), ("open it", "cobo"), ("leave", "cobo")]
    assert titles(page(BODY, *numbered, BODY, gap=40)) == ["2.1 Sluices"]


def test_large_lines_without_running_text_below_are_no_headings() -> None:
    def table(drawn: pymupdf.Page) -> None:
        for row in range(12):
            write(drawn, [f"Mill {'ABCDEFGHIJKL'[row]} of the Kest"], y=80 + 40 * row, size=15)
            write(drawn, ["9:30 to 10:15"], y=98 + 40 * row)

    assert titles(page(BODY, BODY), table) == []


def test_the_size_of_listings_is_not_that_of_the_running_text() -> None:
    def listing(drawn: pymupdf.Page) -> None:
        write(drawn, ["while (level > 3) { turn(wheel, 7); print(level, depth); } // 12"] * 60, y=60, size=8)

    assert titles(page(BODY, ("Wheels", "hebo"), BODY, BODY), listing) == ["Wheels"]


def test_running_heads_are_no_headings() -> None:
    def headed(number: int) -> Draw:
        def draw(drawn: pymupdf.Page) -> None:
            drawn.insert_text((60, 40), f"{number} Mills", fontsize=11, fontname="hebo")
            page(BODY, (f"Wheel {'ABC'[number]}", "hebo"), BODY)(drawn)

        return draw

    assert titles(headed(0), headed(1), headed(2)) == ["Wheel A", "Wheel B", "Wheel C"]


def test_entries_of_the_outline_with_one_title_stand_at_one_line_each() -> None:
    entries: list[list[object]] = [
        [1, "Wheels", 1],
        [2, "Results", 1],
        [1, "Ponds", 1],
        [2, "Results", 1],
        [1, "Wheels", 1],  # of a list that repeats the outline
    ]
    drawn = page("1 Wheels", BODY, "1.1 Results", BODY, "2 Ponds", BODY, "2.1 Results", BODY)
    document = pymupdf.open("pdf", pdf(drawn))
    document.set_toc(entries)
    found = parse(document.tobytes())
    lines = found.text.split("\n")
    shown = [(one.title, lines[one.start_line - 1]) for one in found.sections]
    assert shown == [
        ("Wheels", "1 Wheels"),
        ("Results", "1.1 Results"),
        ("Ponds", "2 Ponds"),
        ("Results", "2.1 Results"),
    ]


def test_paragraphs_that_open_like_a_heading_are_none() -> None:
    opens = ("Section 5: The adviser and the officers who leave the chapter shall train", "hebo")
    parts = [BODY, opens, "the new officers of the year.", BODY]
    assert titles(page(*parts, gap=14)) == []


def test_long_numbered_lines_with_a_full_stop_are_sentences() -> None:
    line = "3. The committee closes the sluices of the upper mill in spring."
    assert titles(page(BODY, (line, "hebo"), BODY)) == []
    assert titles(page(BODY, (line[:-1], "hebo"), BODY)) == [line[:-1]]


def test_numbers_of_pages_are_no_headings() -> None:
    lines = [part for line in ("Wheels", "Page 6 of 10", "Sluices") for part in (BODY, (line, "hebo"))]
    assert titles(page(*lines, BODY)) == ["Wheels", "Sluices"]


def test_an_entry_of_the_outline_stands_at_its_title_in_capitals() -> None:
    shown = page(("A paper", "hebo"), BODY, ("1 WHEELS AND SLUICES", "hebo"), BODY, gap=14)
    document = pymupdf.open("pdf", pdf(shown))
    document.set_toc([[1, "Wheels and Sluices", 1], [1, "Ponds", 1]])
    assert [one.start_line for one in parse(document.tobytes()).sections if one.title.startswith("W")] == [5]
