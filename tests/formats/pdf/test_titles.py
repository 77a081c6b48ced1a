"""Titles of PDFs: what is printed like one."""

from __future__ import annotations

import pymupdf
import pytest

from qagen_dagster.formats.base import ParseOptions, Source
from qagen_dagster.formats.pdf.fragments import Font
from qagen_dagster.formats.pdf.reader import opened
from qagen_dagster.formats.pdf.text import PdfText
from qagen_dagster.formats.pdf.titles import title_of
from qagen_dagster.records.document import PageSpan
from tests.formats.pdf.samples import BODY, Draw, about, parse, pdf, title, write
from tests.formats.pdf.samples import title_page as page

TOPIC = about("the mills of the upper Kest")


def title_above_text(large: str, dropped: int = 100) -> str | None:
    """The title of a page with a large line above text, whose first letter may have another size."""
    text_lines = about(large)
    text = PdfText(
        lines=[large, "", *(line.rstrip(".") for line in text_lines)],
        fonts=[Font(200), Font(), Font(dropped), *[Font(100)] * (len(text_lines) - 1)],
        pages=[PageSpan(page=1, start_line=1, end_line=2 + len(text_lines))],
    )
    with opened(Source("mills.pdf", pdf(page())), ParseOptions()) as document:
        return title_of(document, text, "")


def test_a_stamp_at_the_side_is_no_title() -> None:
    def stamped(drawn: pymupdf.Page) -> None:
        drawn.insert_text((30, 600), "arXiv:2101.01234v2 [cs.CL] 5 Jan 2021", fontsize=20, rotate=90)
        write(drawn, ["Mills of the Upper Kest"], y=80, size=15)
        write(drawn, TOPIC, y=160)

    assert title(stamped) == "Mills of the Upper Kest"


def test_a_drop_cap_is_no_title() -> None:
    def dropped(drawn: pymupdf.Page) -> None:
        write(drawn, ["Mills of the Upper Kest"], y=80, size=16)
        write(drawn, ["M"], y=190, size=40)
        write(drawn, TOPIC, x=95, y=180)

    assert title(dropped, page()) is None
    assert title(lambda drawn: (write(drawn, ["M"], y=90, size=40), write(drawn, TOPIC, x=95, y=80))) is None


@pytest.mark.parametrize(
    "large",
    [
        "Contents",
        "Inhaltsverzeichnis",
        "Table of Contents",
        "Tabla de contenidos",
        "\u00cdndice",
        "Sommaire",
        "Chapter 1",
        "Abstract",
        "by Ann Author",
        "1 Wheels",
        "PhD Thesis",
        "Master's thesis",
        "Diplomarbeit",
        "www.kestwick.example",
        "March 2021",
        "5th March 2021",
        "Proceedings of the Third Meeting",
        "Journal of Old Mills",
        "ISSN 1234-5678",
        "Page 1 of 9",
        "2021",
    ],
)
def test_what_is_printed_large_but_names_no_document_is_no_title(large: str) -> None:
    assert title(page(large)) is None


def test_a_part_of_a_sentence_in_large_print_is_no_title() -> None:
    assert title(page(", and so the wheel stood still")) is None


def test_a_line_of_text_that_begins_with_a_large_letter_is_no_title() -> None:
    assert title_above_text("Mills of the Upper Kest", dropped=150) == "Mills of the Upper Kest"


@pytest.mark.parametrize(
    "large",
    [
        "\u041e\u0433\u043b\u0430\u0432\u043b\u0435\u043d\u0438\u0435",
        "\u6458 \u8981",
        "\u672c\u79d1\u6bd5\u4e1a\u8bba\u6587(\u8bbe\u8ba1)",
    ],
)
def test_headings_and_kinds_of_documents_in_other_scripts_are_no_titles(large: str) -> None:
    assert title_above_text(large) is None


def test_a_bold_first_line_above_text_of_its_size_is_a_title() -> None:
    def typed(line: str) -> Draw:
        def draw(drawn: pymupdf.Page) -> None:
            drawn.insert_text((60, 60), line, fontsize=11, fontname="hebo")
            write(drawn, TOPIC, y=100)

        return draw

    assert title(typed("Mills of the Upper Kest"), page()) == "Mills of the Upper Kest"
    assert title(typed("NAME")) is None

    def headed(drawn: pymupdf.Page) -> None:
        drawn.insert_text((60, 30), "Letters of the Kest", fontsize=8, fontname="hebo")
        write(drawn, TOPIC, y=60)

    assert title(headed) is None

    assert title(typed("1 Wheels")) is title(typed("102 | Wheels")) is None
    assert title(lambda drawn: write(drawn, TOPIC)) is None


def test_a_title_page_with_few_lines_has_a_title() -> None:
    def cover(drawn: pymupdf.Page) -> None:
        write(drawn, ["Mills of the Upper Kest"], y=80, size=20)
        write(drawn, ["Version 2 of March"], y=110, size=20)

    assert title(cover, page()) == "Mills of the Upper Kest"


def test_a_bold_title_above_authors_in_the_same_size_ends_with_the_bold_lines() -> None:
    def cover(drawn: pymupdf.Page) -> None:
        for n, line in enumerate(["Mills of the Upper Kest,", "Their Wheels and Ponds"]):
            drawn.insert_text((60, 80 + 20 * n), line, fontsize=15, fontname="hebo")
        write(drawn, ["Ann Author", "Bob Writer", "Cy Third", "Kestwick", "Kest"], y=150, size=15)

    text = "\n".join(about("mills of the upper Kest with their wheels and ponds"))
    assert title(cover, text) == "Mills of the Upper Kest, Their Wheels and Ponds"


def test_the_mark_of_a_footnote_is_no_part_of_a_title() -> None:
    assert (
        title(page("Mills of the Upper Kest *"))
        == title(page("Mills of the Upper Kest*"))
        == "Mills of the Upper Kest"
    )
    assert title_above_text("The Mills\u2217\u2020 of the Kest") == "The Mills of the Kest"


def test_slides_without_running_text_have_a_title() -> None:
    def slide(drawn: pymupdf.Page) -> None:
        write(drawn, ["Mills of the Upper Kest"], y=80, size=30)
        write(drawn, ["Ann Author", "Kestwick", "Kest"], y=200, size=14)

    def other(drawn: pymupdf.Page) -> None:
        write(drawn, ["Mills", "Upper Kest", "Wheels", "Mills", "Upper Kest"], y=80, size=24)

    assert title(slide, other, other) == "Mills of the Upper Kest"


def test_a_line_of_its_size_may_stand_above_the_largest() -> None:
    def cover(drawn: pymupdf.Page) -> None:
        write(drawn, ["MILLS"], y=80, size=20)
        write(drawn, ["of the Upper Kest"], y=140, size=20.2)
        write(drawn, TOPIC, y=260)

    assert title(cover) == "MILLS of the Upper Kest"


def test_a_heading_below_running_text_is_no_title() -> None:
    def untitled(drawn: pymupdf.Page) -> None:
        write(drawn, TOPIC, y=80)
        write(drawn, ["Wheels of the mills"], y=260, size=14)
        write(drawn, TOPIC, y=300)
        for n, heading in enumerate(["Ponds of the mills", "Dams of the mills", "Weirs of the mills"]):
            write(drawn, [heading], y=460 + 60 * n, size=14)
            write(drawn, ["They stand there."], y=490 + 60 * n)

    assert title(untitled) is None


def test_a_long_word_is_a_title() -> None:
    def cover(word: str) -> Draw:
        def draw(drawn: pymupdf.Page) -> None:
            write(drawn, [word], y=80, size=20)
            write(drawn, ["Mills of the Upper Kest"], y=120, size=16)
            write(drawn, about(word), y=260)

        return draw

    assert title(cover("Wassermuehlenverzeichnis")) == "Wassermuehlenverzeichnis"


@pytest.mark.parametrize("mark", ["^1", "*"])
def test_note_marks_at_its_end_are_no_part_of_a_title(mark: str) -> None:
    assert title(page(f"The Mills of KESTWICK{mark}")) == "The Mills of KESTWICK"
    assert title(page("Search with A*")) == "Search with A*"


def test_a_word_above_its_subtitle_is_a_title_although_an_author_is_printed_larger_than_the_text() -> None:
    def manual(drawn: pymupdf.Page) -> None:
        write(drawn, ["Grist"], y=80, size=20)
        write(drawn, ["A program that draws mills"], y=98, size=10)
        write(drawn, ["Ann Author"], y=300, size=14)

    assert title(manual, page(), "\n".join(["Grist draws mills"] * 9)) == "Grist"


@pytest.mark.parametrize("large", ["T h e M i l l s", "The M\ufffdlls of the Kest"])
def test_a_title_without_readable_words_is_none(large: str) -> None:
    assert title_above_text(large) is None
    assert title_above_text("The Mills") == "The Mills"


def test_a_logo_that_begins_the_last_line_of_a_title_does_not_cut_off_the_others() -> None:
    def cover(drawn: pymupdf.Page) -> None:
        write(drawn, ["Information Systems", "for Mills of the Kest with"], y=80, size=20)
        write(drawn, ["TeX Classes"], y=104 + 24, size=22)
        write(drawn, TOPIC, y=260)

    assert title(cover) == "Information Systems for Mills of the Kest with TeX Classes"


def test_a_title_ends_above_a_named_heading_of_its_size() -> None:
    assert title(page("Mills of the Upper Kest", "Introduction")) == "Mills of the Upper Kest"


def test_a_bold_title_may_stand_directly_above_its_author() -> None:
    def paper(drawn: pymupdf.Page) -> None:
        drawn.insert_text((60, 80), "Survey of the Upper Kest", fontsize=11, fontname="hebo")
        write(drawn, ["Ann Author"], y=94, size=11)
        write(drawn, TOPIC, y=130)

    assert title(paper) == "Survey of the Upper Kest"


def test_the_head_of_a_table_is_no_title() -> None:
    def listed(drawn: pymupdf.Page) -> None:
        for n, cell in enumerate(["Miller", "Given name", "Wheel", "Pond"]):
            drawn.insert_text((60 + 120 * n, 80), cell, fontsize=13, fontname="hebo")
        write(drawn, TOPIC, y=260)

    assert title(listed, page()) is None


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Progress Report on Operating Systems and", "Laboratory"),
        ("Relazione del Progetto di Sistemi e", "Laboratorio"),
        ("The Repair of the Mills for", "Selby Quay and Orford Bridge"),
        ("A Study of the Wheels at the", "Department of Mills"),
    ],
)
def test_a_line_that_ends_with_a_short_word_goes_on(first: str, second: str) -> None:
    assert title(page(first, second)) == f"{first} {second}"


@pytest.mark.parametrize("blank", ["_" * 60, "_____ _____", "- - - - -"])
def test_the_blanks_of_a_form_are_no_title(blank: str) -> None:
    def form(drawn: pymupdf.Page) -> None:
        write(drawn, ["Child Information"], y=80, size=18)
        write(drawn, [f"Name: {blank}", "", blank, "", blank, *about("Child Information")], y=140)

    assert title(form) == "Child Information"


@pytest.mark.parametrize("kind", ["DATA SHEET", "Product Data", "User Manual"])
def test_the_kind_of_a_document_alone_is_no_title(kind: str) -> None:
    assert title(page(kind)) is None

    def headed(drawn: pymupdf.Page) -> None:
        write(drawn, [kind], y=60, size=24)
        write(drawn, ["Turntable System of the Kest"], y=120, size=20)
        write(drawn, about("the turntable system of the Kest"), y=260)

    assert title(headed) == "Turntable System of the Kest"


def test_a_bold_title_in_print_a_little_smaller_than_the_text_may_have_two_lines() -> None:
    def paper(drawn: pymupdf.Page) -> None:
        for n, line in enumerate(["GUIDE TO MILLS OF THE KEST", "AND THEIR WHEELS"]):
            drawn.insert_text((60, 60 + 14 * n), line, fontsize=10.7, fontname="hebo")
        write(drawn, ["Ann Author"], y=110, size=9)
        write(drawn, TOPIC, y=150)

    assert title(paper) == "GUIDE TO MILLS OF THE KEST AND THEIR WHEELS"


def test_a_title_does_not_end_with_a_comma() -> None:
    assert title(page("Mills   of the Kest")) == "Mills of the Kest"
    assert title(page("Mills of the Upper Kest,", "Version 2")) == "Mills of the Upper Kest"


def test_the_properties_of_a_page_without_text_are_not_confirmed() -> None:
    drawing = pdf(lambda drawn: drawn.draw_circle((200, 200), 50), title="Graphics of a program")
    assert parse(drawing).metadata.title is None


def cover(*parts: tuple[str, float]) -> Draw:
    """A title page: each text in its size, one far below the other."""

    def draw(drawn: pymupdf.Page) -> None:
        for n, (line, size) in enumerate(parts):
            write(drawn, line.split("\n"), y=80 + 90 * n, size=size)

    return draw


@pytest.mark.parametrize(
    "above",
    [
        "University of Kestwick",
        "Kest Institute of Milling",
        "Ministry of Water and Wheels",
        "In the High Court of Selby",
        "Fakult\u00e4t f\u00fcr M\u00fchlenbau",
        "Universidad de Kestwick",
        "Bachelor Thesis in Milling",
        "A dissertation submitted to the millers",
        "Diplomarbeit",
    ],
)
def test_an_organisation_or_a_kind_of_thesis_in_larger_print_is_no_title(above: str) -> None:
    shown = cover((above, 22), ("Mills of the Upper Kest", 17), ("Ann Author", 12), ("Kestwick, 2021", 14))
    assert title(shown, page()) in {None, "Mills of the Upper Kest"}
    assert title(cover((above, 22), ("Kestwick - 2021", 20)), page()) is None


@pytest.mark.parametrize(
    "line", ["Kestwick, 2021", "Old Town - 2021", "Kestwick, May 2021", "2021-03-05: first", "Page 3 of 9"]
)
def test_places_dates_and_stamps_in_large_print_are_no_titles(line: str) -> None:
    assert title(page(line)) is None


def test_the_names_below_a_title_in_its_print_are_no_part_of_it() -> None:
    def paper(drawn: pymupdf.Page) -> None:
        write(drawn, ["Mills of the Upper Kest", "Ann Author, Bob Writer and Cy Third"], y=80, size=20)
        write(drawn, TOPIC, y=260)

    assert title(paper) == "Mills of the Upper Kest"


@pytest.mark.parametrize(
    "heading",
    ["Article I: Name and Purpose", "I. MILLS BEFORE 1726", "Status: Draft", "Contact Us", "Section 1 Mills"],
)
def test_a_heading_of_a_part_or_a_state_is_no_title(heading: str) -> None:
    assert title(page(heading)) is None


def test_candidates_that_are_as_probable_give_no_title() -> None:
    equal = cover(("Mills of the Kest", 18), ("Ponds of the Kest", 19), ("Dams of the Kest", 20))
    assert title(equal, page()) is None
    assert title(page("Mill Survey")) == "Mill Survey"


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([("Kest Mill Society", 24), ("Bylaws", 20)], "Kest Mill Society Bylaws"),
        ([("Constitution of", 18), ("The Kest Mill Society", 24)], "Constitution of The Kest Mill Society"),
        ([("BYLAWS OF", 24), ("KEST FOUNDATION", 24)], "BYLAWS OF KEST FOUNDATION"),
        ([("Bylaws of", 24)], None),
    ],
)
def test_the_kind_of_a_document_belongs_to_its_name(
    parts: list[tuple[str, float]], expected: str | None
) -> None:
    def drawn(on: pymupdf.Page) -> None:
        y = 80.0
        for line, size in parts:
            write(on, [line], y=y, size=size)
            y += size * 1.4

    assert title(drawn, page()) == expected


def test_a_first_line_that_names_the_kind_of_a_document_is_a_title_in_smaller_print() -> None:
    def headed(line: str) -> Draw:
        return lambda on: (write(on, [line], y=60, size=13), write(on, BODY, y=100))

    assert title(headed("Terms of Service")) == "Terms of Service"
    assert title(headed("Mills of the Kest")) is None


def test_a_colon_in_large_print_goes_on() -> None:
    def assigned(on: pymupdf.Page) -> None:
        write(on, ["Survey Assignment:"], y=80, size=20)
        on.insert_text((60, 106), "Wheels of the Kest", fontsize=20, fontname="hebo")
        write(on, TOPIC, y=200)

    assert title(assigned) == "Survey Assignment: Wheels of the Kest"


@pytest.mark.parametrize(("text", "expected"), [(BODY, None), (TOPIC, "Mills of the Upper Kest")])
def test_a_bold_line_is_a_title_if_the_text_repeats_its_words(text: list[str], expected: str | None) -> None:
    def typed(on: pymupdf.Page) -> None:
        on.insert_text((60, 60), "Mills of the Upper Kest", fontsize=11, fontname="hebo")
        write(on, text, y=100)

    assert title(typed, "\n".join(text)) == expected


def test_a_label_ends_a_title_in_its_print() -> None:
    def typed(on: pymupdf.Page) -> None:
        for n, line in enumerate(["Mills of the Upper Kest", "Head of mills : Ann Author"]):
            on.insert_text((60, 60 + 14 * n), line, fontsize=11, fontname="hebo")
        write(on, TOPIC, y=100)

    assert title(typed, page()) == "Mills of the Upper Kest"
    large = "Mills of the Upper Kest", "Their wheels: a survey"
    assert title(page(*large)) == " ".join(large)


def test_a_document_of_one_page_needs_more_to_have_a_title() -> None:
    def sheet(on: pymupdf.Page) -> None:
        write(on, ["Mills of the Kest"], y=60, size=13)
        write(on, BODY, y=100)

    assert title(sheet) is None
    assert title(sheet, "\n".join(BODY)) == "Mills of the Kest"


def test_print_that_a_later_page_has_is_less_probably_a_title() -> None:
    def headed(on: pymupdf.Page) -> None:
        write(on, ["Mills of Kestwick"], y=60, size=13)
        write(on, BODY, y=100)

    def later(on: pymupdf.Page) -> None:
        write(on, ["Wheels", "Ponds", "Dams"], y=60, size=13)
        write(on, BODY, y=160)

    assert title(headed, later) is None
    assert title(headed, "\n".join(BODY)) == "Mills of Kestwick"


@pytest.mark.parametrize("large", ["Table of Content", "Running head: MILLS", "Date: Wheel: Pond:"])
def test_labels_and_heads_in_large_print_are_no_titles(large: str) -> None:
    text = "\n".join(BODY)
    assert title(lambda on: (write(on, [large], y=60, size=13), write(on, BODY, y=100)), text) is None


def test_large_lines_of_which_one_is_bold_are_one_title() -> None:
    def poster(on: pymupdf.Page) -> None:
        on.insert_text((60, 80), "Mills and Ponds", fontsize=30, fontname="hebo")
        write(on, ["Upper Kest"], y=116, size=30)
        write(on, TOPIC, y=260)

    assert title(poster) == "Mills and Ponds Upper Kest"


def test_instructions_below_the_name_of_an_exam_are_no_part_of_it() -> None:
    def exam(on: pymupdf.Page) -> None:
        write(on, ["Mills Exam"], y=60, size=15)
        write(on, ["Instructions"], y=110, size=12.8)
        write(on, about("the mills exam"), y=150)

    assert title(exam) == "Mills Exam"
