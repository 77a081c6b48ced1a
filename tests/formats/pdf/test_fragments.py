"""Letters of a page as text: raised and lowered ones, signs of symbol fonts, and boxes of forms."""

from __future__ import annotations

import pymupdf
import pytest

from qagen_dagster.formats.pdf.fragments import clean
from tests.formats.pdf.samples import Draw, coded, lines, pdf, write


def box(page: pymupdf.Page, name: str, x: float, y: float, *, ticked: bool, shown: bool = True) -> None:
    field = pymupdf.Widget()
    field.field_name, field.field_type = name, pymupdf.PDF_WIDGET_TYPE_CHECKBOX
    field.rect, field.field_value = pymupdf.Rect(x, y - 9, x + 9, y), ticked
    field.field_display = int(not shown)
    page.add_widget(field)


def test_ticked_and_empty_boxes_stand_before_their_labels() -> None:
    def draw(page: pymupdf.Page) -> None:
        page.insert_text((60, 100), "Vessel insured:", fontsize=10)
        for x, label, ticked in ((150, "yes", True), (200, "no", False)):
            box(page, label, x, 100, ticked=ticked)
            page.insert_text((x + 14, 100), label, fontsize=10)
        page.insert_text((60, 120), "The harbour master signs below.", fontsize=10)

    assert lines(pdf(draw)) == ["Vessel insured: | \u2612 yes | \u2610 no", "The harbour master signs below."]


def test_a_box_at_the_end_of_a_line_stands_after_it() -> None:
    def draw(page: pymupdf.Page) -> None:
        page.insert_text((60, 100), "I have read the harbour rules", fontsize=10)
        box(page, "rules", 200, 100, ticked=True)

    assert lines(pdf(draw)) == ["I have read the harbour rules \u2612"]


def test_hidden_boxes_and_boxes_without_text_beside_them_are_not_shown() -> None:
    def draw(page: pymupdf.Page) -> None:
        page.insert_text((60, 100), "Name of the vessel", fontsize=10)
        box(page, "hidden", 40, 100, ticked=True, shown=False)
        box(page, "alone", 40, 300, ticked=False)

    assert lines(pdf(draw)) == ["Name of the vessel"]


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
        ("As others said before", "12", " in their work", "As others said before^12 in their work"),
        ("There are 2", "64", " keys in all", "There are 2^64 keys in all"),
        ("The energy is mc", "2", " for a body at rest", "The energy is mc^2 for a body at rest"),
        ("A sum of 2", "n-1", " terms", "A sum of 2^(n-1) terms"),
        ("It grows with 2x", "n", " only", "It grows with 2x^n only"),
        ("On the 21", "st", " of May", "On the 21st of May"),
        ("At 25", "o", " C it melts", "At 25\u00b0 C it melts"),
        ("The word ", "2", " stands alone", "The word 2 stands alone"),
    ],
)
def test_raised_numbers(base: str, raised: str, after: str, shown: str):
    assert lines(pdf(with_raised(base, raised, after)))[6] == shown


@pytest.mark.parametrize(
    ("base", "raised", "after", "up", "shown"),
    [
        ("It took 10", "5", " steps", 4, "It took 10^5 steps"),
        ("A number 101", "2", " of base two", -2, "A number 101_2 of base two"),
        ("It takes 2", "3", "/4 mg", 4, "It takes 2 3/4 mg"),
    ],
)
def test_scripts_that_do_not_make_their_line_taller(
    base: str, raised: str, after: str, up: float, shown: str
):
    assert lines(pdf(with_raised(base, raised, after, up)))[6] == shown


def test_plain_numbers_stay():
    text = "It took 105 steps, and 10-12 of them on page 103, in 1072 days over 12 m2."
    assert lines(pdf("\n".join([*PROSE, text, *PROSE])))[6] == text


def test_a_mark_after_a_number_does_not_change_it():
    assert (
        lines(pdf(with_raised("In the year 2017", "3", " it was over")))[6]
        == "In the year 2017^3 it was over"
    )


@pytest.mark.parametrize(
    ("base", "lowered", "after", "shown"),
    [
        ("A litre of H", "2", "O weighs one kilogram", "A litre of H_2O weighs one kilogram"),
        ("At 3m a vector of d", "model", " numbers", "At 3m a vector of d_model numbers"),
        ("A firm called A", "CME", " in small capitals", "A firm called ACME in small capitals"),
        ("The sum of f(x", "i+1", ") is zero", "The sum of f(x_(i+1)) is zero"),
        ("The answer is 2", " or", " 3 of them", "The answer is 2 or 3 of them"),
    ],
)
def test_lowered_letters(base: str, lowered: str, after: str, shown: str):
    assert lines(pdf(with_raised(base, lowered, after, up=-2)))[6] == shown


def test_the_mark_of_a_footnote_stands_apart_from_its_first_word():
    def draw(page: pymupdf.Page) -> None:
        with_raised("It stood still for 2", "4")(page)
        page.insert_text((60, 703), "4", fontsize=6)
        page.insert_text((64, 706), "As the millers said, 10", fontsize=9)
        page.insert_text(
            (64 + pymupdf.get_text_length("As the millers said, 10", fontsize=9), 703), "-9", fontsize=6
        )

    assert lines(pdf(draw))[-1] == "^4 As the millers said, 10^-9"


def test_a_small_digit_before_a_decimal_point_is_no_mark() -> None:
    def draw(page: pymupdf.Page) -> None:
        with_raised("It stood still for 2", "4")(page)
        page.insert_text((60, 706), "1", fontsize=6)
        page.insert_text((63.4, 706), ".6 on the scale", fontsize=9)

    assert lines(pdf(draw))[-1] == "1.6 on the scale"


@pytest.mark.parametrize(
    ("font", "letters", "shown"),
    [
        ("MathematicalPi-One", "5", "="),
        ("MathematicalPi-One", "6", "\u00b1"),
        ("SymbolMT", "m", "\u03bc"),
        ("Wingdings-Regular", "x", "\u2612"),
        ("Garamond", "m", "m"),
    ],
)
def test_signs_of_symbol_fonts(font: str, letters: str, shown: str):
    def draw(page: pymupdf.Page) -> None:
        page.insert_text((60, 200), "A value of p ", fontsize=11)
        page.insert_text((130, 200), letters, fontsize=11, fontname="cour")
        page.insert_text((140, 200), " 5 metres", fontsize=11)

    document = pymupdf.open("pdf", pdf(draw))
    xref = next(one[0] for one in document.get_page_fonts(0) if one[3] == "Courier")
    document.xref_set_key(xref, "BaseFont", f"/{font}")
    assert lines(document.tobytes()) == [f"A value of p {shown} 5 metres"]


def test_codes_are_the_signs_of_their_fonts_and_others_are_marked() -> None:
    page = coded(
        ("It is ", "CMSY10", b"\x00"),
        ("It is ", "Unheard", b"\x03"),
        ("", "CMSY8", b"\x06"),
        ("di", "CMR10", b"\x0b"),
        ("Angle ", "CMMI10", b"\x0b"),
        ("It is ", "Unheard", b"\x00"),
        ("S", "SFRM1000", b"\x1c"),
        ("Half a ", "CMEX10", b"X0h"),
        ("Not in ", "txsyc", b"<"),
        ("Below ", "SymbolMT", b"<"),
        ("Maps to ", "CMSY10", b"7"),
    )
    assert lines(page)[1:] == [
        "It is \u22120.5 m",
        "It is \ufffd0.5 m",
        "\u00b10.5 m",
        "diff0.5 m",
        "Angle \u03b10.5 m",
        "It is \ufffd0.5 m",
        "Sfi0.5 m",
        "Half a \u2211\u239b[0.5 m",
        "Not in \u22090.5 m",
        "Below <0.5 m",
        "Maps to 0.5 m",
    ]


def with_hanging(page: pymupdf.Page, x: float, y: float, letter: str) -> bytes:
    """The document of a page, with a letter of a font whose signs hang below their baseline."""
    page.insert_text((x, y), letter, fontsize=11, fontname="cour")
    document = page.parent
    xref = next(one[0] for one in page.get_fonts() if one[3] == "Courier")
    document.xref_set_key(xref, "BaseFont", "/CMEX10")
    return document.tobytes()


def test_a_root_stands_in_the_line_of_its_operand() -> None:
    page = pymupdf.open("pdf", coded(("It is ", "Unheard", b"\x03")))[0]
    page.insert_text((60, 200), "The side is", fontsize=11)
    page.insert_text((126.6, 200), "2 metres long", fontsize=11)
    assert lines(with_hanging(page, 120, 191, "p"))[-1] == "The side is \u221a2 metres long"


def test_a_number_raised_after_a_hanging_bracket_is_an_exponent() -> None:
    page = pymupdf.open("pdf", pdf("A page of numbers"))[0]
    data = with_hanging(page, 60, 190, ")")
    page = pymupdf.open("pdf", data)[0]
    page.insert_text((66, 193), "2", fontsize=7)
    page.insert_text((71, 199), " = 4 m", fontsize=11)
    assert lines(page.parent.tobytes())[-1] == ")^2 = 4 m"


@pytest.mark.parametrize("start", ["Pay 3 or (", "A sum of -", "A set of {"])
def test_small_numbers_above_each_other_are_a_fraction(start: str) -> None:
    def draw(page: pymupdf.Page) -> None:
        page.insert_text((108 - pymupdf.get_text_length(start, fontsize=11), 100), start, fontsize=11)
        page.insert_text((108, 95), "1", fontsize=7)
        page.insert_text((60, 200), "Another line of the page stands here.", fontsize=11)
        page.insert_text((108, 104), "2", fontsize=7)
        page.insert_text((113, 100), ", 10) to each", fontsize=11)

    assert lines(pdf(draw))[0] == f"{start}1/2, 10) to each"


def test_a_line_that_begins_with_a_lowered_letter_is_compared_with_its_first_large_letter() -> None:
    def draw(page: pymupdf.Page) -> None:
        page.insert_text((60, 103), "2", fontsize=7)
        page.insert_text((66, 100), "L", fontsize=11)
        page.insert_text((73, 102), "1", fontsize=7)
        page.insert_text((78, 100), " = U", fontsize=11)
        page.insert_text((99, 96), "5", fontsize=7)
        page.insert_text((103, 100), " is a lower triangle of the matrix", fontsize=11)

    assert lines(pdf(draw)) == ["_2 L_1 = U^5 is a lower triangle of the matrix"]


def test_a_soft_hyphen_beside_a_digit_or_sign_is_a_hyphen() -> None:
    text = "2018\xad04\xad17 \xad5 db\xad>x role\xadplaying 6pm-\xad\u20107pm a\xad\xada\xad"
    assert clean(text) == "2018-04-17 -5 db->x roleplaying 6pm-\u20107pm a-a-"


def test_signs_of_two_characters_become_one() -> None:
    assert clean("x\u0338 = y, z /\u2208 U, voc\u02c6e, \u02c6e") == "x\u2260 y, z \u2209 U, voc\xea, \u02c6e"
