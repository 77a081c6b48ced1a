"""Draws charts and block diagrams with vector lines on a sheet.

Shared by the `make_documents.py` scripts of the sample corpora. Knows nothing of text flow (`typeset.py`) or of any
corpus's data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from samples.sheet import BLACK, Area, Color, Point, Sheet, text_width

BLUE: Color = (0.12, 0.33, 0.58)
RUST: Color = (0.72, 0.30, 0.12)
GREEN: Color = (0.20, 0.48, 0.28)
GREY: Color = (0.82, 0.82, 0.82)
PALE: Color = (0.94, 0.96, 0.99)
PALETTE = (BLUE, RUST, GREEN)
Draw = Callable[[Sheet, Area], None]


@dataclass(frozen=True)
class Axis:
    """One axis: label with unit, and the tick values (first and last are the ends)."""

    label: str
    ticks: Sequence[float]
    grouped: bool = True

    def share(self, value: float) -> float:
        """Where `value` lies between the ends, 0 to 1."""
        low, high = self.ticks[0], self.ticks[-1]
        return (value - low) / (high - low)

    def name(self, tick: float) -> str:
        """The tick as written: with a true minus, thousands grouped unless they are years."""
        return (f"{tick:,}" if self.grouped else f"{tick}").replace("-", "\N{MINUS SIGN}")


def _plot_area(area: Area) -> Area:
    """The part of a figure's box that the axes enclose."""
    return Area(area.x0 + 40, area.y0 + 18, area.x1 - 10, area.y1 - 30)


def _value_axis(sheet: Sheet, plot: Area, axis: Axis) -> None:
    for tick in axis.ticks:
        y = plot.y1 - axis.share(tick) * plot.height
        sheet.line((plot.x0, y), (plot.x1, y), GREY, 0.5)
        sheet.text((plot.x0 - 4, y + 2.5), axis.name(tick), anchor=1)
    sheet.line((plot.x0, plot.y0), (plot.x0, plot.y1))
    sheet.line((plot.x0, plot.y1), (plot.x1, plot.y1))
    sheet.upright((plot.x0 - 27, plot.middle[1]), axis.label)


def _legend(sheet: Sheet, plot: Area, names: Sequence[str]) -> None:
    x = plot.x0 + 6
    for name, color in zip(names, PALETTE, strict=False):
        sheet.box(Area(x, plot.y0 - 14, x + 8, plot.y0 - 7), color, color)
        sheet.text((x + 11, plot.y0 - 8), name)
        x += 24 + text_width(name, "sans", 7.5)


def line_chart(across: Axis, up: Axis, series: Mapping[str, Sequence[Point]]) -> Draw:
    """A drawer of lines with point markers, one colour a series, and a legend above."""

    def draw(sheet: Sheet, area: Area) -> None:
        plot = _plot_area(area)
        _value_axis(sheet, plot, up)
        for tick in across.ticks:
            x = plot.x0 + across.share(tick) * plot.width
            sheet.line((x, plot.y1), (x, plot.y1 + 3))
            sheet.text((x, plot.y1 + 11), across.name(tick), anchor=0.5)
        sheet.text((plot.middle[0], plot.y1 + 23), across.label, anchor=0.5)
        for points, color in zip(series.values(), PALETTE, strict=False):
            places = [
                (plot.x0 + across.share(x) * plot.width, plot.y1 - up.share(y) * plot.height)
                for x, y in points
            ]
            sheet.path(places, color)
            for place in places:
                sheet.dot(place, color=color)
        if len(series) > 1:
            _legend(sheet, plot, list(series))

    return draw


def bar_chart(label: str, groups: Sequence[str], up: Axis, values: Sequence[float]) -> Draw:
    """A drawer of one bar a group with the value written above it."""

    def draw(sheet: Sheet, area: Area) -> None:
        plot = _plot_area(area)
        _value_axis(sheet, plot, up)
        slot = plot.width / len(groups)
        for index, (group, value) in enumerate(zip(groups, values, strict=True)):
            x = plot.x0 + slot * (index + 0.5)
            top = plot.y1 - up.share(value) * plot.height
            sheet.box(Area(x - slot * 0.34, top, x + slot * 0.34, plot.y1), BLUE, BLUE)
            sheet.text((x, top - 3), f"{value:,}", size=7, anchor=0.5)
            sheet.text((x, plot.y1 + 11), group, anchor=0.5)
        sheet.text((plot.middle[0], plot.y1 + 23), label, anchor=0.5)

    return draw


@dataclass(frozen=True)
class Box:
    """A labelled box of a diagram; position and size as shares (0 to 1) of the figure."""

    text: Sequence[str]
    x: float
    y: float
    width: float
    height: float

    def place(self, area: Area) -> Area:
        """Where the box stands in a figure."""
        x, y = area.x0 + self.x * area.width, area.y0 + self.y * area.height
        return Area(x, y, x + self.width * area.width, y + self.height * area.height)


def diagram(boxes: Mapping[str, Box], arrows: Sequence[tuple[str, str, str]]) -> Draw:
    """A drawer of boxes joined by arrows (from, to, label) that point right."""

    def draw(sheet: Sheet, area: Area) -> None:
        places = {name: box.place(area) for name, box in boxes.items()}
        for name, box in boxes.items():
            place = places[name]
            sheet.box(place, BLUE, PALE, 1)
            x, y = place.middle
            for number, line in enumerate(box.text):
                sheet.text((x, y + 3 + (number - (len(box.text) - 1) / 2) * 10), line, size=8, anchor=0.5)
        for start, end, label in arrows:
            _arrow(sheet, places[start], places[end], label)

    return draw


def _arrow(sheet: Sheet, start: Area, end: Area, label: str) -> None:
    y = (max(start.y0, end.y0) + min(start.y1, end.y1)) / 2
    if label:
        sheet.text(((start.x1 + end.x0) / 2, y - 4), label, size=7, anchor=0.5)
    sheet.line((start.x1, y), (end.x0, y), width=1)
    sheet.polygon([(end.x0 - 6, y - 3), (end.x0, y), (end.x0 - 6, y + 3)], fill=BLACK)
