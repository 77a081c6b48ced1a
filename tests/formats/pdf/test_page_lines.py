"""Lettering of figures: out of the text's way, on the line above the caption; tables, listings and prose as they are."""

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


def test_labels_stand_on_one_line_above_the_caption():
    data = pdf(page_with(*LABELS))
    found = lines(data)
    assert found[:4] == TEXT
    assert found[4] == "Parser \u00b7 Planner \u00b7 Store \u00b7 Loop \u00b7 End"
    assert found[5] == "Figure 1: How it works."
    assert found[6:] == TEXT


def test_the_figure_begins_with_the_line_of_its_lettering():
    data = pdf(page_with(*LABELS))
    (figure,) = FORMAT.visuals(source(data), None, OPTIONS)
    shown = parse(data).text.split("\n")
    assert figure.label == "Figure 1"
    assert figure.start_line is not None
    assert figure.end_line is not None
    assert shown[figure.start_line - 1].startswith("Parser")
    assert shown[figure.end_line - 1].startswith("Figure 1")


def test_ticks_of_an_axis_are_lettering():
    ticks = [(80, 180 + 20 * n, str(10 - 2 * n)) for n in range(5)]
    below = [(100 + 50 * n, 290, str(n)) for n in range(6)]
    assert lines(pdf(page_with(*ticks, *below)))[4] == " \u00b7 ".join(
        ["10", "8", "6", "4", "2", "0", "1", "2", "3", "4", "5"]
    )


def test_a_table_called_a_figure_stays_a_table():
    rows = [[f"row {r}", str(r), str(r * r), f"{r}.5"] for r in range(5)]
    cells = [(90 + 90 * c, 180 + 20 * r, cell) for r, row in enumerate(rows) for c, cell in enumerate(row)]
    assert lines(pdf(page_with(*cells)))[4:9] == [" | ".join(row) for row in rows]


@pytest.mark.parametrize(
    "listing",
    [
        [
            "def sieve(n):",
            "    for k in range(n):",
            "        if k in seen:",
            "            break",
            "    return n",
        ],
        [
            "The first of some long lines of smaller print",
            "that a box holds, which are to be read one",
            "by one",
        ],
    ],
)
def test_listings_and_texts_in_boxes_stay(listing: list[str]):
    shown = [
        (90 + 5 * (len(line) - len(line.lstrip())), 180 + 14 * n, line.strip())
        for n, line in enumerate(listing)
    ]
    assert lines(pdf(page_with(*shown)))[4 : 4 + len(listing)] == [line.strip() for line in listing]


def test_the_end_of_a_paragraph_and_a_heading_are_no_lettering():
    def draw(page: pymupdf.Page) -> None:
        write(page, [*TEXT, "It ends here"], y=80)
        page.insert_text((60, 160), "2 Methods", fontsize=11, fontname="hebo")
        for x, y, label in LABELS:
            page.insert_text((x, y + 20), label, fontsize=9)
        page.insert_text((60, 340), "Figure 1: How it works.", fontsize=10)

    assert lines(pdf(draw))[3:8] == [
        TEXT[3],
        "It ends here",
        "2 Methods",
        "Parser \u00b7 Planner \u00b7 Store \u00b7 Loop \u00b7 End",
        "Figure 1: How it works.",
    ]


def test_a_mention_of_a_figure_moves_nothing():
    words = ["short", "words", "here"]
    text = "\n".join([*words, "Figure 2 shows how it goes on from there.", *words])
    assert lines(pdf(text)) == text.split("\n")


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


def test_rows_of_a_ruled_table_above_a_figure_are_no_lettering():
    def draw(page: pymupdf.Page) -> None:
        page_with(*LABELS[2:])(page)
        for y in (150, 166, 214):
            page.draw_line((60, y), (300, y), width=0.6)
        for n, row in enumerate([("Gauge", "Depth"), ("Port", "12.0"), ("Pier", "14.5"), ("Sill", "16.0")]):
            page.insert_text((66, 161 + 16 * n), row[0], fontsize=9)
            page.insert_text((220, 161 + 16 * n), row[1], fontsize=9)

    assert "Gauge | Depth\nPort | 12.0\nPier | 14.5\nSill | 16.0" in parse(pdf(draw)).text


def test_rows_of_sentences_above_a_caption_are_no_lettering() -> None:
    rows = [
        ("Question", "Which of the two keepers winds the clock of the harbour gate every week?"),
        ("Answer", "The one who lives in the house beside it."),
    ]

    def draw(page: pymupdf.Page) -> None:
        for number, cells in enumerate(rows):
            for x, cell in zip((60, 200), cells, strict=True):
                page.insert_text((x, 100 + 30 * number), cell, fontsize=9)
        page.insert_text((60, 200), "Figure 1: How it works.", fontsize=10)

    assert [line for line in lines(pdf(draw)) if " | " in line] == [" | ".join(row) for row in rows]
