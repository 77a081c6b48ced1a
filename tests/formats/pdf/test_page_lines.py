"""The lines of pages with figures and tables."""

from __future__ import annotations

import pymupdf
import pytest

from tests.formats.pdf.samples import FORMAT, OPTIONS, Draw, lines, parse, pdf, source, write

TEXT = [f"Line {n} of a paragraph that runs over most of the width of the page." for n in range(4)]
LABELS = [
    (90, 180, "Parser"),
    (260, 185, "Planner"),
    (150, 230, "Store"),
    (380, 250, "Loop"),
    (300, 290, "End"),
]


def page_with(*labels: tuple[float, float, str]) -> Draw:
    def draw(page: pymupdf.Page) -> None:
        write(page, TEXT, y=80)
        for x, y, label in labels:
            page.draw_oval(pymupdf.Rect(x - 12, y - 16, x + 50, y + 8))
            page.draw_line((x, y), (250, 240))
            page.insert_text((x, y), label, fontsize=9)
        page.insert_text((60, 330), "Figure 1: How it works.", fontsize=10)
        write(page, TEXT, y=370)

    return draw


def test_the_lines_of_a_figure_are_those_of_its_lettering_and_its_caption():
    data = pdf(page_with(*LABELS))
    (figure,) = FORMAT.visuals(source(data), None, OPTIONS)
    shown = parse(data).text.split("\n")
    assert figure.label == "Figure 1"
    assert figure.start_line is not None
    assert figure.end_line is not None
    assert shown[figure.start_line - 1].startswith("Parser")
    assert shown[figure.end_line - 1].startswith("Figure 1")


def test_a_table_called_a_figure_stays_a_table():
    rows = [[f"row {r}", str(r), str(r * r), f"{r}.5"] for r in range(5)]
    cells = [(90 + 90 * c, 180 + 20 * r, cell) for r, row in enumerate(rows) for c, cell in enumerate(row)]
    assert lines(pdf(page_with(*cells)))[4:9] == [" | ".join(row) for row in rows]


def test_looking_for_tables_prints_nothing(capfd: pytest.CaptureFixture[str]):
    def draw(page: pymupdf.Page) -> None:
        for n in range(5):
            page.draw_line((60, 100 + 20 * n), (360, 100 + 20 * n))
            page.draw_line((60 + 75 * n, 100), (60 + 75 * n, 180))
        for r in range(4):
            for c in range(4):
                page.insert_text((65 + 75 * c, 115 + 20 * r), f"{r}.{c}", fontsize=9)

    FORMAT.visuals(source(pdf(draw)), None, OPTIONS)
    assert capfd.readouterr() == ("", "")


def test_a_ruled_table_above_a_figure_is_shown_as_rows():
    def draw(page: pymupdf.Page) -> None:
        page_with(*LABELS[2:])(page)
        for y in (150, 166, 214):
            page.draw_line((60, y), (300, y), width=0.6)
        for n, row in enumerate([("Gauge", "Depth"), ("Port", "12.0"), ("Pier", "14.5"), ("Sill", "16.0")]):
            page.insert_text((66, 161 + 16 * n), row[0], fontsize=9)
            page.insert_text((220, 161 + 16 * n), row[1], fontsize=9)

    assert "Gauge | Depth\nPort | 12.0\nPier | 14.5\nSill | 16.0" in parse(pdf(draw)).text
