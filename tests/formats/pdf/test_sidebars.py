"""Sidebars beside a title: they are read before or after the article, whatever the order in which the page is drawn."""

from __future__ import annotations

from typing import Literal

import pymupdf
import pytest

from tests.formats.pdf.samples import lines, pdf

Piece = tuple[float, float, str, float]  # x, y, text, size

TITLE = ["Growth of lichens on", "north walls in towns"]
BODY = [f"Line {n} says how lichens grow on walls that face north and stay wet" for n in range(12)]
DATES = ["Volume 3", "Number 12", "May 2021", "Uppsala", "Sweden"]


def article(x: float) -> list[Piece]:
    title = [(x, 90 + 26 * n, text, 22) for n, text in enumerate(TITLE)]
    return [*title, *((x, 150 + 12 * n, text, 9.0) for n, text in enumerate(BODY))]


def sidebar(x: float, y: float) -> list[Piece]:
    return [(x, y + 10 * n, text, 8) for n, text in enumerate(DATES)]


@pytest.mark.parametrize("order", ["article first", "sidebar first", "from the top down"])
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("top", [60, 90, 112])
def test_a_sidebar_does_not_mix_with_the_title(
    order: str, side: Literal["left", "right"], top: float
) -> None:
    main, aside = (article(200), sidebar(40, top)) if side == "left" else (article(60), sidebar(480, top))
    pieces = {"article first": main + aside, "sidebar first": aside + main}.get(
        order, sorted(main + aside, key=lambda piece: piece[1])
    )

    def draw(page: pymupdf.Page) -> None:
        for x, y, text, size in pieces:
            page.insert_text((x, y), text, fontsize=size)

    parts = ([*TITLE, *BODY], DATES)
    assert lines(pdf(draw)) == [line for part in (parts[::-1] if side == "left" else parts) for line in part]


def test_text_across_the_page_follows_the_sidebar() -> None:
    wide = [
        f"Line {n} says how lichens grow on walls that face north, from one edge to the other"
        for n in range(6)
    ]
    title = [(60.0, 90.0 + 26 * n, text, 22.0) for n, text in enumerate(TITLE)]
    foot = [(60.0, 160.0 + 14 * n, text, 12.0) for n, text in enumerate(wide)]

    def draw(page: pymupdf.Page) -> None:
        for x, y, text, size in sorted([*title, *sidebar(460, 80), *foot], key=lambda piece: piece[1]):
            page.insert_text((x, y), text, fontsize=size)

    assert lines(pdf(draw)) == [*TITLE, *DATES, *wide]


def test_text_beside_the_heading_of_a_column_stays_where_it_is() -> None:
    left = [f"The left column says {n} things about the walls" for n in range(6)]
    right = [f"The right one says {n} things about the lichens" for n in range(9)]

    def draw(page: pymupdf.Page) -> None:
        page.insert_text((320, 100), "Walls that face north", fontsize=16)
        for x, y, column in ((60, 94, left), (320, 130, right)):
            for n, text in enumerate(column):
                page.insert_text((x, y + 12 * n), text, fontsize=9)

    assert lines(pdf(draw)) == [*left, "Walls that face north", *right]
