"""Makes the PDF documents of the instrument-manuals corpus from `sources/` and the figures drawn here.

Run from the repository root: `python -m samples.instrument_manuals.make_documents`. The Markdown and plain-text
documents of the corpus are written by hand and not touched.
"""

from __future__ import annotations

import io
import math
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from samples.drawing import BLUE, GREY, RUST, Axis, Box, diagram, line_chart
from samples.markup import parse
from samples.sheet import BLACK, Area, Paper, Sheet, render
from samples.typeset import Figure, Typesetter, manual_layout

SOURCES = Path(__file__).parent / "sources"
DOCUMENTS = Path(__file__).parents[2] / "corpora" / "instrument_manuals" / "documents"
MAKER = "Hollis Marine Instruments"

SIGNAL_PATH = diagram(
    {
        "horn": Box(("Horn", "26 GHz, 8° beam"), 0.02, 0.3, 0.19, 0.4),
        "timer": Box(("Echo timer", "16 pulses/s"), 0.30, 0.3, 0.17, 0.4),
        "mean": Box(("Averager", "64 s"), 0.56, 0.3, 0.15, 0.4),
        "log": Box(("DL-8 logger", "every 6 min"), 0.80, 0.3, 0.18, 0.4),
    },
    [("horn", "timer", "echo"), ("timer", "mean", "time"), ("mean", "log", "level")],
)
DRIFT = line_chart(
    Axis("Circuit temperature (°C)", (-30, -20, -10, 0, 10, 20, 30, 40, 50)),
    Axis("Mean error (mm)", (-10, -5, 0, 5, 10, 15)),
    {
        "without correction": [
            (-30, -9),
            (-20, -7),
            (-10, -5),
            (0, -3),
            (10, -1),
            (20, 1),
            (30, 5),
            (40, 9),
            (50, 14),
        ],
        "with correction": [
            (-30, -2),
            (-20, -1),
            (-10, -1),
            (0, 0),
            (10, 0),
            (20, 0),
            (30, 1),
            (40, 1),
            (50, 2),
        ],
    },
)
CATCH = line_chart(
    Axis("Wind speed (m/s)", (0, 1, 2, 3, 4, 5, 6, 7, 8)),
    Axis("Catch ratio (%)", (0, 20, 40, 60, 80, 100)),
    {
        "RG-2B, no shield": [(0, 100), (2, 84), (4, 65), (6, 46), (8, 31)],
        "RG-2C, single fence": [(0, 100), (2, 93), (4, 82), (6, 67), (8, 54)],
        "RG-2D, double fence": [(0, 100), (2, 98), (4, 94), (6, 86), (8, 77)],
    },
)


def draw_mounting(sheet: Sheet, area: Area) -> None:
    """The quay wall in section with bracket, horn and the widening beam."""
    wall = Area(area.x0 + 60, area.y0 + 40, area.x0 + 140, area.y1)
    water = area.y1 - 30
    horn = (wall.x1 + 70, area.y0 + 34)
    spread = (water - horn[1]) * math.tan(math.radians(4))
    sheet.box(Area(wall.x1, water, area.x1 - 120, area.y1), BLUE, (0.85, 0.91, 0.97), 0)
    sheet.box(wall, BLACK, GREY)
    beam = [horn, (horn[0] - spread, water), (horn[0] + spread, water)]
    sheet.polygon(beam, RUST, (0.98, 0.90, 0.84))
    arm = area.y0 + 22
    sheet.line((wall.x1 - 30, arm), (horn[0] + 12, arm), width=4)
    sheet.line((wall.x1 - 30, arm), (wall.x1 - 30, wall.y0), width=4)
    sheet.box(Area(horn[0] - 8, arm, horn[0] + 8, horn[1]), BLACK, BLUE)
    sheet.line((wall.x1, area.y0 + 100), (horn[0], area.y0 + 100), width=0.7)
    sheet.text(((wall.x1 + horn[0]) / 2 - 4, area.y0 + 96), "clearance", anchor=0.5)
    sheet.text((wall.middle[0], wall.middle[1]), "quay wall", anchor=0.5)
    sheet.text((horn[0] + 18, area.y0 + 34), "horn, looking straight down")
    sheet.text((wall.x1 + 4, area.y0 + 14), "bracket")
    sheet.text((horn[0] + spread + 8, water - 5), "footprint on the water")
    sheet.text((horn[0], water + 18), "sea", anchor=0.5)


def fouling_picture() -> bytes:
    """A photograph-like picture of a clean and a salt-crusted horn, seen from below, as JPEG."""
    chance = np.random.default_rng(40)
    picture = Image.new("RGB", (640, 280), (196, 208, 216))
    pen = ImageDraw.Draw(picture)
    for middle, crystals in ((165, 25), (475, 2600)):
        for radius in range(118, 0, -2):
            shade = 210 - radius if radius > 60 else 40 + radius
            box = (middle - radius, 140 - radius, middle + radius, 140 + radius)
            pen.ellipse(box, fill=(shade, shade, min(255, shade + 8)))
        for _ in range(crystals):
            angle, distance = chance.uniform(0.1, 0.9) * math.pi, chance.normal(104, 9)
            x, y = middle + distance * math.cos(angle), 140 + distance * math.sin(angle)
            size, white = chance.uniform(1, 3.5), int(chance.integers(214, 256))
            pen.ellipse((x - size, y - size, x + size, y + size), fill=(white, white, white - 10))
    target = io.BytesIO()
    picture.filter(ImageFilter.GaussianBlur(0.9)).save(target, "JPEG", quality=82)
    return target.getvalue()


def draw_fouling(sheet: Sheet, area: Area) -> None:
    """Places the picture in the figure's box."""
    sheet.picture(area, fouling_picture())


def cell_picture() -> bytes:
    """The section of the CT-15 cell with its measures, as PNG."""
    paper = Paper(430, 240)
    sheet = paper.sheet()
    sheet.text((215, 26), "CT-15 conductivity cell, section", "sans-bold", 12, anchor=0.5)
    for top in (90, 158):
        sheet.box(Area(65, top, 365, top + 18), BLACK, GREY)
    sheet.box(Area(65, 108, 365, 158), (0.85, 0.91, 0.97), (0.85, 0.91, 0.97))
    for x, color in ((105, RUST), (170, BLUE), (250, BLUE), (315, RUST)):
        sheet.box(Area(x, 102, x + 10, 108), color, color)
        sheet.box(Area(x, 158, x + 10, 164), color, color)
    for x, name in (
        (110, "current ring 1"),
        (320, "current ring 2"),
        (175, "voltage ring 1"),
        (255, "voltage ring 2"),
    ):
        level = 62 if name.startswith("current") else 76
        sheet.line((x, level + 4), (x, 101), width=0.5)
        sheet.text((x, level), name, size=8.5, anchor=0.5)
    sheet.text((215, 137), "seawater, bore 8 mm", size=9, anchor=0.5)
    for left, right, y, name in ((65, 365, 218, "tube length 48 mm"), (180, 250, 196, "gap 11 mm")):
        sheet.line((left, y), (right, y), width=0.6)
        for x in (left, right):
            sheet.line((x, y - 4), (x, y + 4), width=0.6)
        sheet.text(((left + right) / 2, y - 4), name, size=8.5, anchor=0.5)
    return render(paper.save("CT-15 cell", MAKER, "20180301"), dots_per_inch=130)


def main() -> None:
    """Writes both PDF documents and the picture of the calibration guide."""
    images = DOCUMENTS / "images"
    images.mkdir(exist_ok=True)
    (images / "ct15_cell.png").write_bytes(cell_picture())
    figures = {
        "chain": Figure(80, SIGNAL_PATH),
        "mounting": Figure(200, draw_mounting),
        "drift": Figure(190, DRIFT),
        "fouling": Figure(170, draw_fouling),
        "catch": Figure(190, CATCH),
    }
    for name, title, date, header in (
        ("tg40_tide_gauge_manual", "TG-40 Radar Tide Gauge: Manual", "20220314", "TG-40 manual, edition 3"),
        (
            "rg2_rain_gauge_datasheet",
            "RG-2 Weighing Rain Gauge: Data Sheet",
            "20231102",
            "RG-2 data sheet 118",
        ),
    ):
        setter = Typesetter(manual_layout(f"{MAKER}    {header}", "page {page}"), figures)
        setter.flow(parse((SOURCES / f"{name}.txt").read_text(encoding="utf-8")))
        (DOCUMENTS / f"{name}.pdf").write_bytes(setter.finish(title, MAKER, date))


if __name__ == "__main__":
    main()
