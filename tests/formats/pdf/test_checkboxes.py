"""Boxes of forms in the text: which are ticked, and beside which words."""

from __future__ import annotations

import pymupdf

from tests.formats.pdf.samples import lines, pdf


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

    assert lines(pdf(draw)) == [
        "Vessel insured: | \u2612 yes | \u2610 no",
        "The harbour master signs below.",
    ]


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
