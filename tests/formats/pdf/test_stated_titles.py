"""Titles of PDFs: what properties and outlines state."""

from __future__ import annotations

import pymupdf
import pytest

from tests.formats.pdf.samples import BODY, about, title, write
from tests.formats.pdf.samples import title_page as page


@pytest.mark.parametrize(
    "said",
    [
        "PowerPoint Presentation",
        "Slide 1",
        "report_v3.indd",
        "Microsoft Word - Notes.doc",
        "Template of the agency",
    ],
)
def test_a_title_of_the_properties_that_no_page_shows_is_none(said: str) -> None:
    assert title(page("Mills of the Upper Kest"), said=said) == "Mills of the Upper Kest"
    assert title(page(), said=said) is None


def test_a_title_of_the_properties_that_a_page_confirms_goes_before_larger_print() -> None:
    shown = page("KESTWICK", "Mills of the Upper Kest")
    assert title(shown, said="Mills of the Upper Kest") == "Mills of the Upper Kest"


def test_the_only_root_of_the_outline_is_the_title_if_a_line_shows_it() -> None:
    entries: list[list[object]] = [[1, "Mills of the Upper Kest", 1], [2, "Wheels", 1], [2, "Ponds", 2]]
    shown = page("Annual Series No Four", "Mills of the Upper Kest")
    assert title(shown, page(), toc=entries) == "Mills of the Upper Kest"
    assert title(page("Annual Series No Four"), page(), toc=entries) == "Annual Series No Four"
    numbered: list[list[object]] = [[1, "1 Wheels", 1], [2, "Oak", 1]]
    assert title(page("1 Wheels"), toc=numbered) is None


def test_one_word_of_the_properties_is_the_title_if_it_is_a_line_of_the_first_page() -> None:
    shown = page("KestMill", "The handbook for millers")
    assert title(shown) == "KestMill The handbook for millers"
    assert title(shown, said="KestMill") == "KestMill"
    assert title(shown, said="Kest") == "KestMill The handbook for millers"
    second = page("KestMill", "The handbook for millers")
    assert title(page("The KestMill Book"), second, said="KestMill") == "The KestMill Book"


def test_the_print_goes_before_properties_that_name_the_document_in_other_words() -> None:
    shown = page("The Mills of the Kest", "and Their Wheels")
    assert title(shown, said="Mills of the Kest: manual") == "The Mills of the Kest and Their Wheels"
    assert title(shown, said="Most Mills 2.0: text on a page of the wheels") == (
        "The Mills of the Kest and Their Wheels"
    )


def test_words_of_the_running_text_do_not_confirm_properties_that_the_print_names_otherwise() -> None:
    shown = page("A Study of Mills of the Kest and Their Wheels")
    assert title(shown, said="The mills study") == "A Study of Mills of the Kest and Their Wheels"


def test_a_title_of_the_properties_may_be_printed_in_large_lines_around_the_author() -> None:
    def paper(drawn: pymupdf.Page) -> None:
        write(drawn, ["Mills of the Upper Kest and Their"], y=80, size=20)
        write(drawn, ["Ann Author", "Kestwick"], y=110)
        write(drawn, ["Wheels"], y=160, size=20)
        write(drawn, ["Bob Writer", "Kestwick"], y=190)
        write(drawn, about("the mills of the upper Kest"), y=260)

    said = "Mills of the Upper Kest and their wheels"
    assert title(paper, said=said) == said
    assert title(paper) == "Mills of the Upper Kest and Their"


def test_an_identifier_in_the_properties_is_no_title() -> None:
    shown = page("Mills of the Upper Kest", "doi:10.1000/mills")
    assert title(shown, said="doi:10.1000/mills") == "Mills of the Upper Kest"


def test_a_title_of_the_properties_is_confirmed_by_its_letters() -> None:
    printed = page("MILL", "\u00fcberdieM\u00fchlenamKest")
    assert title(printed, said="\u00fcber die M\u00fchlen am Kest") == "\u00fcber die M\u00fchlen am Kest"


def test_the_name_of_a_text_file_is_no_title_although_the_page_shows_it() -> None:
    def printed(drawn: pymupdf.Page) -> None:
        write(drawn, ["Notes on mills.txt"], y=40, size=8)
        write(drawn, about("the mills of the upper Kest"), y=260)

    assert title(printed, said="Notes on mills.txt") is None


def test_properties_that_name_some_words_of_a_title_make_it_more_probable() -> None:
    def sheet(on: pymupdf.Page) -> None:
        write(on, ["Kest Mills Overview"], y=60, size=13)
        write(on, BODY, y=100)

    assert title(sheet) is None
    assert title(sheet, said="Old mills at the Kest") == "Kest Mills Overview"
