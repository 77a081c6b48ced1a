"""Draws charts and block diagrams with vector lines on a page.

Shared by the `make_documents.py` scripts of the sample corpora. Knows nothing of text flow (`typeset.py`) or of any
corpus's data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pymupdf

Color = tuple[float, float, float]
BLUE: Color = (0.12, 0.33, 0.58)
RUST: Color = (0.72, 0.30, 0.12)
GREEN: Color = (0.20, 0.48, 0.28)
GREY: Color = (0.82, 0.82, 0.82)
BLACK: Color = (0.1, 0.1, 0.1)
PALETTE = (BLUE, RUST, GREEN)
SANS = pymupdf.Font("helv")


@dataclass(frozen=True)
class Axis:
    """One axis: label with unit, and the tick values (first and last are the ends)."""

    label: str
    ticks: Sequence[float]

    def share(self, value: float) -> float:
        """Where `value` lies between the ends, 0 to 1."""
        low, high = self.ticks[0], self.ticks[-1]
        return (value - low) / (high - low)


def write(page: pymupdf.Page, x: float, y: float, text: str, size: float = 7.5, anchor: float = 0.0, turn: int = 0) -> None:
    """Puts `text` with its baseline at y; `anchor` 0 starts it at x, 0.5 centres it, 1 ends it there."""
    shift = SANS.text_length(text, size) * anchor
    point = (x, y + shift) if turn == 90 else (x - shift, y)
    writer = pymupdf.TextWriter(page.rect)
    writer.append(point, text, font=SANS, fontsize=size)
    morph = (pymupdf.Point(point), pymupdf.Matrix(turn)) if turn else None
    writer.write_text(page, color=BLACK, morph=morph)


def plot_area(rect: pymupdf.Rect) -> pymupdf.Rect:
    """The part of a figure's box that the axes enclose."""
    return pymupdf.Rect(rect.x0 + 40, rect.y0 + 18, rect.x1 - 10, rect.y1 - 30)


def _value_axis(page: pymupdf.Page, area: pymupdf.Rect, axis: Axis) -> None:
    for tick in axis.ticks:
        y = area.y1 - axis.share(tick) * area.height
        page.draw_line((area.x0, y), (area.x1, y), color=GREY, width=0.5)
        write(page, area.x0 - 4, y + 2.5, f"{tick:,}", anchor=1)
    page.draw_line((area.x0, area.y0), (area.x0, area.y1), color=BLACK, width=0.8)
    page.draw_line((area.x0, area.y1), (area.x1, area.y1), color=BLACK, width=0.8)
    write(page, area.x0 - 27, (area.y0 + area.y1) / 2, axis.label, anchor=0.5, turn=90)


def _legend(page: pymupdf.Page, area: pymupdf.Rect, names: Sequence[str]) -> None:
    x = area.x0 + 6
    for name, color in zip(names, PALETTE, strict=False):
        page.draw_rect(pymupdf.Rect(x, area.y0 - 13, x + 8, area.y0 - 6), color=color, fill=color)
        write(page, x + 11, area.y0 - 7, name)
        x += 24 + SANS.text_length(name, 7.5)


def line_chart(
    across: Axis, up: Axis, series: Mapping[str, Sequence[tuple[float, float]]]
) -> Callable[[pymupdf.Page, pymupdf.Rect], None]:
    """A drawer of lines with point markers, one colour a series, and a legend above."""

    def draw(page: pymupdf.Page, rect: pymupdf.Rect) -> None:
        area = plot_area(rect)
        _value_axis(page, area, up)
        for tick in across.ticks:
            x = area.x0 + across.share(tick) * area.width
            page.draw_line((x, area.y1), (x, area.y1 + 3), color=BLACK, width=0.8)
            write(page, x, area.y1 + 11, f"{tick:g}", anchor=0.5)
        write(page, (area.x0 + area.x1) / 2, area.y1 + 23, across.label, anchor=0.5)
        for points, color in zip(series.values(), PALETTE, strict=False):
            places = [(area.x0 + across.share(x) * area.width, area.y1 - up.share(y) * area.height) for x, y in points]
            page.draw_polyline(places, color=color, width=1.4)
            for place in places:
                page.draw_circle(place, 2.2, color=color, fill=color)
        _legend(page, area, list(series))

    return draw


def bar_chart(
    label: str, groups: Sequence[str], up: Axis, series: Mapping[str, Sequence[float]]
) -> Callable[[pymupdf.Page, pymupdf.Rect], None]:
    """A drawer of grouped bars with the value written above each."""

    def draw(page: pymupdf.Page, rect: pymupdf.Rect) -> None:
        area = plot_area(rect)
        _value_axis(page, area, up)
        slot = area.width / len(groups)
        wide = slot * 0.7 / len(series)
        for index, group in enumerate(groups):
            left = area.x0 + slot * (index + 0.15)
            write(page, left + slot * 0.35, area.y1 + 11, group, anchor=0.5)
            for number, values in enumerate(series.values()):
                x, top = left + number * wide, area.y1 - up.share(values[index]) * area.height
                color = PALETTE[number]
                page.draw_rect(pymupdf.Rect(x, top, x + wide - 1, area.y1), color=color, fill=color, width=0.4)
                write(page, x + wide / 2, top - 3, f"{values[index]:,}", size=7, anchor=0.5)
        write(page, (area.x0 + area.x1) / 2, area.y1 + 23, label, anchor=0.5)
        if len(series) > 1:
            _legend(page, area, list(series))

    return draw


@dataclass(frozen=True)
class Box:
    """A labelled box of a diagram; position and size as shares (0 to 1) of the figure."""

    text: Sequence[str]
    x: float
    y: float
    width: float
    height: float


def diagram(
    boxes: Mapping[str, Box], arrows: Sequence[tuple[str, str, str]]
) -> Callable[[pymupdf.Page, pymupdf.Rect], None]:
    """A drawer of boxes joined by arrows (from, to, label): left to right where they stand side by side, else down."""

    def draw(page: pymupdf.Page, rect: pymupdf.Rect) -> None:
        places = {name: _place(rect, box) for name, box in boxes.items()}
        for name, box in boxes.items():
            place = places[name]
            page.draw_rect(place, color=BLUE, fill=(0.94, 0.96, 0.99), width=1)
            middle = (place.y0 + place.y1) / 2 - (len(box.text) - 1) * 5 + 3
            for number, line in enumerate(box.text):
                write(page, (place.x0 + place.x1) / 2, middle + number * 10, line, size=8, anchor=0.5)
        for start, end, label in arrows:
            _arrow(page, places[start], places[end], label)

    return draw


def _place(rect: pymupdf.Rect, box: Box) -> pymupdf.Rect:
    x, y = rect.x0 + box.x * rect.width, rect.y0 + box.y * rect.height
    return pymupdf.Rect(x, y, x + box.width * rect.width, y + box.height * rect.height)


def _arrow(page: pymupdf.Page, start: pymupdf.Rect, end: pymupdf.Rect, label: str) -> None:
    level = max(start.y0, end.y0) < min(start.y1, end.y1)
    if level:
        y = (max(start.y0, end.y0) + min(start.y1, end.y1)) / 2
        tail, tip = (start.x1, y), (end.x0, y)
        head = [(tip[0] - 6, y - 3), tip, (tip[0] - 6, y + 3)]
        write(page, (tail[0] + tip[0]) / 2, y - 4, label, size=7, anchor=0.5)
    else:
        x = (max(start.x0, end.x0) + min(start.x1, end.x1)) / 2
        tail, tip = (x, start.y1), (x, end.y0)
        head = [(x - 3, tip[1] - 6), tip, (x + 3, tip[1] - 6)]
        write(page, x + 5, (tail[1] + tip[1]) / 2 + 2, label, size=7)
    page.draw_line(tail, tip, color=BLACK, width=1)
    page.draw_polyline(head, color=BLACK, fill=BLACK, closePath=True, width=0.5)
