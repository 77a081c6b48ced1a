"""Authors of PDFs: what the properties state, and what stands below the title."""

from __future__ import annotations

import pymupdf
import pytest

from tests.formats.pdf.samples import about, parse, pdf, write


@pytest.mark.parametrize(
    ("said", "names"),
    [
        (
            "Ann Author, Bob van der Writer, Eve (translator)",
            ("Ann Author", "Bob van der Writer", "Eve (translator)"),
        ),
        ("Writer, Bob", ("Writer, Bob",)),
        ("user1", ()),
        ("words", ()),
        ("Ann Author, http://mills.example/contact", ()),
        ("[width=5cm]logo Ann Author", ()),
        ("Ovid", ("Ovid",)),
        (
            "Ann Author <ann@mills.example>, Bob Writer[5pt] and Eve Third",
            ("Ann Author", "Bob Writer", "Eve Third"),
        ),
        ("Ann Authorann@mills.example", ()),
        ("Mill Press, a division of the Kest Company", ()),
    ],
)
def test_authors_in_one_string(said: str, names: tuple[str, ...]):
    shown = f"The Art of Mills\nby Ovid\n{said}"
    assert parse(pdf(shown, author=said)).metadata.authors == names


@pytest.mark.parametrize(
    ("below", "names"),
    [
        (
            ["Ann Author^1 and Bob van der Writer^2", "University of Kest"],
            ("Ann Author", "Bob van der Writer"),
        ),
        (["by Ann Author and", "Eve C. Third, author@mills.example"], ("Ann Author", "Eve C. Third")),
        (["Ann Author^(1,2) Bo Wu^3", "University of Kest"], ("Ann Author", "Bo Wu")),
        (["Ann Author Bo Wu", "University of Kest"], ()),
        (["Ann Author", "ann@kest.example", "eve@kest.example"], ()),
        (["Ann Author§", "Kest Consultants", "ann@kest.example"], ("Ann Author",)),
        (["Ann Author", "Mill Engineering", "University of Kest"], ()),
        (["Ann Author^1", "Bob Writer^2", "University of Kest"], ("Ann Author", "Bob Writer")),
        (["Ann Author"], ()),
        (["By Ann Author"], ("Ann Author",)),
        (["Authors: Ann Author, Bob Writer and Cy Third"], ("Ann Author", "Bob Writer", "Cy Third")),
        (["Author: Ann van der Author"], ("Ann van der Author",)),
        (["Ann Authora, Bob Writerb", "aMills of Kest, ann@kest.example; bPonds of Kest"], ()),
        (["Old Mills and New", "10 May 2020"], ()),
        (["Ann Author", "10 May 2020"], ("Ann Author",)),
        (["Ann Author, Bob Writer", "January 11, 2019"], ("Ann Author", "Bob Writer")),
        (["J\u00f6rg Author & Daniel Writer", "23. Dezember 2011"], ("J\u00f6rg Author", "Daniel Writer")),
        (["Ann Author", "Abstract"], ("Ann Author",)),
        (["Mill Services", "May 2020"], ()),
        (["Mill Users Guide", "University of Kest"], ()),
        (["Ann Author Bob Writer", "University of Kest"], ()),
        (["Ann Author", "University of Kest", "Bob Writer", "Institute of Mills"], ()),
    ],
)
def test_authors_below_the_title_are_read_if_something_shows_that_they_are_persons(
    below: list[str], names: tuple[str, ...]
):
    def paper(page: pymupdf.Page) -> None:
        write(page, ["The Art of Mills"], y=60, size=20)
        write(page, below, y=100, size=12)
        write(page, about("the art of mills"), y=260)

    assert parse(pdf(paper)).metadata.authors == names


@pytest.mark.parametrize(
    "maker",
    [
        "Kest Consulting Services",
        "Acme Software",
        "University of Kest",
        "Cy Third",
        "City of Kest; City Clerk",
    ],
)
def test_makers_of_pdfs_and_institutions_in_the_properties_are_no_authors(maker: str):
    assert (
        parse(
            pdf("The Art of Mills\nKest Consulting Services\nCity of Kest, City Clerk", author=maker)
        ).metadata.authors
        == ()
    )
