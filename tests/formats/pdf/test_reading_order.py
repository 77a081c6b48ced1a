"""Reading order: columns, tables, turned text, running heads, scripts from right to left."""

from __future__ import annotations

from collections.abc import Iterable

import pymupdf
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.formats.pdf.fragments import Font, Fragments, clean, fragments_of
from qagen_dagster.formats.pdf.mupdf import Pdf
from qagen_dagster.formats.pdf.page_lines import lines_of_page
from qagen_dagster.formats.pdf.reading_order import rows_in_order
from tests.formats.pdf.samples import LEFT, RIGHT, columns, lines, parse, pdf, write


def test_columns_drawn_one_after_the_other():
    found = lines(pdf(columns))
    assert found[0].startswith("A heading that runs")
    assert found[1:] == [*LEFT, *RIGHT, "17"]


def test_columns_whose_heading_and_foot_are_drawn_last():
    def draw(page: pymupdf.Page) -> None:
        write(page, RIGHT, x=320, y=100)
        write(page, LEFT, x=60, y=100)
        write(page, ["17"], x=290, y=800)
        write(page, ["A running head from edge to edge of the page, drawn after all the rest of it"], y=50)

    found = lines(pdf(draw))
    assert found[0].startswith("A running head")
    assert found[1:] == [*LEFT, *RIGHT, "17"]


def test_a_full_width_line_parts_what_is_above_it_from_what_is_below():
    def draw(page: pymupdf.Page) -> None:
        write(page, ["The end of it all is drawn first, and it stands at the very foot of this page"], y=700)
        for x, side in ((320, RIGHT), (60, LEFT)):
            write(page, side[:5], x=x, y=100)
            write(page, side[5:], x=x, y=300)
        write(page, ["Here a heading runs across both of the columns from edge to edge of the page"], y=230)

    found = lines(pdf(draw))
    assert found[:10] == [*LEFT[:5], *RIGHT[:5]]
    assert found[10].startswith("Here a heading")
    assert found[11:-1] == [*LEFT[5:], *RIGHT[5:]]


def test_three_columns():
    texts = [[f"column {c} says line {n}" for n in range(8)] for c in range(3)]

    def draw(page: pymupdf.Page) -> None:
        for c in (2, 0, 1):
            write(page, texts[c], x=50 + 180 * c, y=100)

    assert lines(pdf(draw)) == [*texts[0], *texts[1], *texts[2]]


@pytest.mark.parametrize("by_row", [True, False])
def test_rows_of_a_table_stay_on_one_line(by_row):
    cells = [["Year", "Rain", "Sun"], ["1999", "12", "40"], ["2000", "15", "38"], ["2001", "11", "44"]]

    def draw(page: pymupdf.Page) -> None:
        places = [(r, c) for r in range(4) for c in range(3)]
        for r, c in places if by_row else sorted(places, key=lambda place: place[1]):
            page.insert_text((80 + 120 * c, 100 + 16 * r), cells[r][c], fontsize=11)

    assert lines(pdf(draw)) == [" | ".join(row) for row in cells]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        (["Grants outstanding at the end of", "the first year in Torvik"], ["17.4", "20"]),
        (["The lamp of the harbour gate and", "its house by the old quay"], ["3", "9.5 m", "1862"]),
    ],
)
def test_a_row_with_one_wrapped_cell_stays_on_one_line(name: list[str], values: list[str]) -> None:
    def draw(page: pymupdf.Page) -> None:
        for top in (100, 150, 200):
            write(page, name, x=60, y=top)
        for number, value in enumerate(values):
            for top in (100, 150, 200):
                write(page, [value], x=330 + 80 * number, y=top + 14)

    assert [line for line in lines(pdf(draw)) if line] == 3 * [name[0], " | ".join([name[1], *values])]


def test_paragraphs_side_by_side_are_read_one_after_the_other() -> None:
    left, right = (
        ["The keeper winds the clock", "once in every week"],
        ["The pilot reads the gauge", "at each tide"],
    )

    def draw(page: pymupdf.Page) -> None:
        for top in (100, 150, 200):
            write(page, left, x=60, y=top)
            write(page, right, x=330, y=top)

    assert [line for line in lines(pdf(draw)) if line] == 3 * [*left, *right]


def test_pieces_of_one_row_that_are_near_are_joined_by_a_space():
    def draw(page: pymupdf.Page) -> None:
        page.insert_text((80, 100), "3.", fontsize=11)
        page.insert_text((100, 100), "Methods", fontsize=11, fontname="hebo")

    assert lines(pdf(draw)) == ["3. Methods"]


def test_text_drawn_twice_to_make_it_bold_is_read_once():
    def draw(page: pymupdf.Page) -> None:
        page.insert_text((80, 100), "Title", fontsize=20)
        page.insert_text((80.4, 100), "Title", fontsize=20)

    assert "".join(lines(pdf(draw))).count("Title") == 1


def test_a_wide_gap_gives_a_blank_line():
    def draw(page: pymupdf.Page) -> None:
        write(page, ["one", "two"], y=100)
        write(page, ["three"], y=180)

    assert parse(pdf(draw)).text == "one\ntwo\n\nthree"


def test_a_gap_inside_a_sentence_gives_no_blank_line():
    said = [
        "The miller of the upper mill moved his wheel",
        "to the other bank, which had stayed dry then.",
        "all",
    ]

    def draw(page: pymupdf.Page) -> None:
        for number, line in enumerate(said):
            write(page, [line], y=100 + 30 * number)

    assert parse(pdf(draw)).text == "\n".join([*said[:2], "", said[2]])


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_a_rotated_page_is_read_as_displayed(rotation):
    def draw(page: pymupdf.Page) -> None:
        page.set_rotation(rotation)
        turned = page.derotation_matrix
        for number in range(6):
            place = pymupdf.Point(60, 100 + 20 * number) * turned
            page.insert_text(place, f"Line number {number} of the page", rotate=rotation)

    assert lines(pdf(draw)) == [f"Line number {number} of the page" for number in range(6)]


@pytest.mark.parametrize("rotate", [90, 270])
def test_text_turned_on_the_page_is_read_in_its_own_order(rotate):
    def draw(page: pymupdf.Page) -> None:
        order = range(5) if rotate == 90 else range(4, -1, -1)
        for place, number in enumerate(order):
            page.insert_text((100 + 20 * place, 400), f"Sideways line {number} here", rotate=rotate)
        write(page, ["Upright text above"], y=60)

    assert lines(pdf(draw)) == [
        "Upright text above",
        *(f"Sideways line {number} here" for number in range(5)),
    ]


def test_a_stamp_at_the_margin_does_not_mix_with_the_columns():
    def draw(page: pymupdf.Page) -> None:
        page.insert_text((30, 500), "arXiv:2305.03393v1 [cs.CV] 5 May 2023", fontsize=18, rotate=90)
        columns(page)

    found = lines(pdf(draw))
    assert found[1:-2] == [*LEFT, *RIGHT]
    assert found[-1].startswith("arXiv:2305.03393v1")


def fragments(*boxes: tuple[int, int, int, int, str], rtl: bool = False) -> Fragments:
    x0, y0, x1, y1, texts = (list(one) for one in zip(*boxes, strict=True))
    count = len(boxes)
    return Fragments(
        x0, y0, x1, y1, [Font(100)] * count, [100] * count, [], texts, [*range(count)], rtl=rtl, upright=True
    )


def test_right_to_left_rows_begin_at_the_right():
    found = lines_of_page(
        fragments(
            (100, 100, 300, 220, "\u05d3\u05d4"),
            (320, 100, 600, 220, "\u05d0\u05d1\u05d2"),
            (300, 240, 600, 360, "\u05d5\u05d6"),
            rtl=True,
        ),
        [],
    )
    assert [text for text, _ in found.lines] == ["\u05d0\u05d1\u05d2 \u05d3\u05d4", "\u05d5\u05d6"]


def test_right_to_left_columns_begin_at_the_right():
    rows = range(6)
    right = [(1000, 100 + 150 * n, 1900, 220 + 150 * n, "\u05d0" * 20 + str(n)) for n in rows]
    left = [(0, 100 + 150 * n, 800, 220 + 150 * n, "\u05d1" * 20 + str(n)) for n in rows]
    found = lines_of_page(fragments(*left, *right, rtl=True), [])
    assert [text[0] for text, _ in found.lines if text] == ["\u05d0"] * 6 + ["\u05d1"] * 6


@given(
    st.lists(
        st.tuples(st.integers(0, 6000), st.integers(0, 8000), st.integers(1, 3000), st.integers(1, 400)),
        max_size=40,
    )
)
def test_every_fragment_is_in_exactly_one_row(boxes):
    page = (
        fragments_of(b'{"blocks":[]}')
        if not boxes
        else fragments(*((x, y, x + w, y + h, f"text {n}") for n, (x, y, w, h) in enumerate(boxes)))
    )
    _, rows = rows_in_order(page)
    assert sorted(n for row in rows for n in row) == list(range(len(boxes)))


def test_letters_are_repaired():
    assert clean("o\ufb03ce\xa0hours\nsoft\xadware\nhyphen\xad") == "office hours\nsoftware\nhyphen-"
    assert clean("bell\x07 zero\u200bwidth\ufeff lone \ud800") == "bell\ufffd zerowidth lone \ufffd"
    assert clean("\uf0b7 item\na\uf0eb b\uf8eb\n\uf0a7") == "\u2022 item\na\ufffd b\u239b\n\u2022"
    assert clean("a\x1by, \x1cne and su\x1ecient\x1f") == "affy, fine and sufficientffl"  # of TeX's fonts
    assert (
        clean("L\xa8oh, Cap\xb4\u0131tulo, informa\xb8c\u02dcao") == "L\xf6h, Cap\xedtulo, informa\xe7\xe3o"
    )  # as above
    assert (
        clean("it\xb4s at ftp.kest.example/\u02dcann, \xa8 and \xb8b")
        == "it\xb4s at ftp.kest.example/\u02dcann, \xa8 and \xb8b"
    )
    assert clean("\ufefb") == "\u0644\u0627"  # an Arabic ligature


def page_of(lines: Iterable[str]) -> bytes:
    """The print of a page with these lines."""
    return f'{{"blocks":[{{"type":"text","lines":[{",".join(lines)}]}}]}}'.encode()


def test_a_letter_that_is_no_unicode_does_not_lose_the_page():
    """A file may map a glyph to half of a pair of surrogates, and the library prints it."""
    line = (
        b'{"wmode":0,"bbox":{"x":1,"y":100,"w":300,"h":120,"flags":0},"font":{"name":"A","family":"serif",'
        b'"weight":"normal","style":"normal","size":100},"x":1,"y":200,"text":"half \xed\xa0\x80 pair"}'
    )
    (text,) = fragments_of(b'{"blocks":[{"type":"text","lines":[%b]}]}' % line).text
    assert (text[:5], text[-5:]) == ("half ", " pair")


@pytest.mark.parametrize(
    ("name", "bold"), [("ABCDEF+CMBX12", True), ("SFBX1440", True), ("CMBXTI10", True), ("CMR10", False)]
)
def test_bold_fonts_of_tex_are_bold_even_if_the_file_does_not_say_so(name: str, bold: bool):
    line = (
        '{"wmode":0,"bbox":{"x":1,"y":100,"w":300,"h":120,"flags":0},"font":{"name":"%s","family":"serif",'
        '"weight":"normal","style":"normal","size":100},"x":1,"y":200,"text":"Abstract"}'
    )
    assert [font.bold for font in fragments_of(page_of([line % name])).font] == [bold]


def test_escapes_of_the_print_are_undone():
    line = (
        '{"wmode":0,"bbox":{"x":%d,"y":100,"w":300,"h":120,"flags":0},"font":{"name":"A\\"B","family":"serif",'
        '"weight":"bold","style":"normal","size":100},"x":100,"y":200,"text":"%s"}'
    )
    texts = [
        r"say \"x\": {\"a\"},",
        r"back\\slash\\",
        r"tab\tand\u0007bell\u00e9",
        r"\"both\"\t\\\u0001",
        " ",
    ]
    page = page_of(line % (100 + 400 * n, text) for n, text in enumerate(texts))
    found = fragments_of(page)
    assert found.text == ['say "x": {"a"},', "back\\slash\\", "tab and\ufffdbell\xe9", '"both" \\\ufffd']
    assert [(font.size, font.bold) for font in found.font] == [(100, True)] * 4
    assert found.x0 == [100, 500, 900, 1300]


def test_a_formula_whose_letters_hang_below_their_baseline_is_not_turned():
    """TeX's signs for large brackets do, and a digit alone is taller than wide."""
    line = (
        '{"wmode":0,"bbox":{"x":%d,"y":%d,"w":%d,"h":120,"flags":0},"font":{"name":"A","family":"serif",'
        '"weight":"normal","style":"normal","size":100},"x":100,"y":%d,"text":"%s"}'
    )
    shown = [(100, 100, 300, 200, "so that"), (500, 100, 60, 200, "1"), (600, 100, 300, 110, "(n+k)")]
    f, rows = rows_in_order(fragments_of(page_of(line % one for one in shown)))
    assert [[f.text[n] for n in row] for row in rows] == [["so that", "1", "(n+k)"]]


def test_a_print_has_nothing_of_the_one_before_it():
    document = Pdf(pdf(columns, lambda page: write(page, ["short"])))
    long, short = (document.print_text(n).json for n in (0, 1))
    assert len(short) < len(long)
    assert fragments_of(short).text == ["short"]
    document.close()


def table(rows: list[list[str]], after: str = "") -> list[str]:
    """The lines of a page that shows these rows, "" for an empty cell."""

    def draw(page: pymupdf.Page) -> None:
        for r, cells in enumerate(rows):
            for c, cell in enumerate(cells):
                if cell:
                    page.insert_text((60 + 100 * c, 100 + 16 * r), cell, fontsize=11)
        write(page, [after], y=120 + 16 * len(rows))

    return lines(pdf(draw))


def test_a_head_without_its_first_cell_keeps_its_columns():
    rows = [["", "Rain", "Sun", "Wind"], ["1999", "12", "40", "3"], ["2000", "15", "38", "4"]]
    assert table(rows) == ["| Rain | Sun | Wind", "1999 | 12 | 40 | 3", "2000 | 15 | 38 | 4"]


def test_empty_cells_between_others_are_shown():
    rows = [
        ["Year", "Rain", "Sun", "Wind"],
        ["1999", "", "40", "3"],
        ["", "15", "38", "4"],
        ["2001", "7", "", ""],
    ]
    assert table(rows) == ["Year | Rain | Sun | Wind", "1999 | | 40 | 3", "| 15 | 38 | 4", "2001 | 7"]


def test_a_head_over_two_columns_stays_as_it_is():
    rows = [["", "Both of them at once", "", "Wind"], ["1999", "12", "40", "3"], ["2000", "15", "38", "4"]]
    assert table(rows)[0] == "Both of them at once | Wind"


def test_a_sign_of_currency_belongs_to_its_number():
    rows = [["", "", "2015", "", "2016"], ["Sales", "$", "100", "$", "120"], ["Costs", "", "80", "", "70"]]
    assert table(rows) == ["| 2015 | 2016", "Sales | $ 100 | $ 120", "Costs | 80 | 70"]


def test_rows_that_grow_wider_one_after_the_other():
    rows = [
        ["a", "b", "c", "", ""],
        ["", "d", "e", "", ""],
        ["", "f", "g", "h", ""],
        ["i", "j", "k", "l", "m"],
    ]
    assert table(rows) == ["a | b | c", "| d | e", "| f | g | h", "i | j | k | l | m"]


def test_rows_of_cells_with_space_between_them_stay_together():
    def draw(page: pymupdf.Page) -> None:
        page.insert_text((60, 60), "What the keeper read on the first days of the month:", fontsize=10)
        for n, row in enumerate([("Day", "Depth"), ("1", "12.0"), ("2", "14.5"), ("3", "16.0")]):
            page.insert_text((60, 100 + 28 * n), row[0], fontsize=10)
            page.insert_text((200, 100 + 28 * n), row[1], fontsize=10)

    assert parse(pdf(draw)).text.endswith("\n\nDay | Depth\n1 | 12.0\n2 | 14.5\n3 | 16.0")
