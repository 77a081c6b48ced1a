"""Makes the PDF documents of the instrument-manuals corpus from `sources/` and the figures drawn here.

Run from the repository root: `python -m corpora.instrument_manuals.make_documents`. The Markdown and plain-text
documents of the corpus are written by hand and not touched.
"""

from __future__ import annotations

import io
import math
import random
from pathlib import Path

import pymupdf
from PIL import Image, ImageDraw, ImageFilter

from corpora.drawing import BLACK, BLUE, GREY, RUST, Axis, Box, diagram, line_chart, write
from corpora.typeset import Figure, Typesetter, manual_layout, parse

HERE = Path(__file__).parent
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
        "without correction": [(-30, -9), (-20, -7), (-10, -5), (0, -3), (10, -1), (20, 1), (30, 5), (40, 9), (50, 14)],
        "with correction": [(-30, -2), (-20, -1), (-10, -1), (0, 0), (10, 0), (20, 0), (30, 1), (40, 1), (50, 2)],
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


def draw_mounting(page: pymupdf.Page, rect: pymupdf.Rect) -> None:
    """The quay wall in section with bracket, horn and the widening beam."""
    wall = pymupdf.Rect(rect.x0 + 60, rect.y0 + 40, rect.x0 + 140, rect.y1)
    water = rect.y1 - 30
    horn = (wall.x1 + 70, rect.y0 + 34)
    spread = (water - horn[1]) * math.tan(math.radians(8))
    page.draw_rect(pymupdf.Rect(wall.x1, water, rect.x1 - 120, rect.y1), color=BLUE, fill=(0.85, 0.91, 0.97), width=0)
    page.draw_rect(wall, color=BLACK, fill=GREY)
    page.draw_polyline(
        [horn, (horn[0] - spread, water), (horn[0] + spread, water)],
        color=RUST, fill=(0.98, 0.90, 0.84), closePath=True, dashes="[3] 0", width=0.7,
    )  # fmt: skip
    page.draw_line((wall.x1 - 30, rect.y0 + 22), (horn[0] + 12, rect.y0 + 22), color=BLACK, width=4)
    page.draw_line((wall.x1 - 30, rect.y0 + 22), (wall.x1 - 30, wall.y0), color=BLACK, width=4)
    page.draw_rect(pymupdf.Rect(horn[0] - 8, rect.y0 + 22, horn[0] + 8, horn[1]), color=BLACK, fill=BLUE)
    page.draw_line((wall.x1, rect.y0 + 80), (horn[0], rect.y0 + 80), color=BLACK, width=0.7)
    write(page, (wall.x1 + horn[0]) / 2 - 8, rect.y0 + 76, "clearance", anchor=0.5)
    write(page, wall.x0 + 16, wall.y0 + 60, "quay wall")
    write(page, horn[0] + 18, rect.y0 + 32, "horn, looking straight down")
    write(page, wall.x1 + 4, rect.y0 + 14, "bracket")
    write(page, horn[0] + spread + 12, water - 5, "footprint on the water")
    write(page, horn[0], water + 18, "sea", anchor=0.5)


def fouling_picture() -> bytes:
    """A photograph-like picture of a clean and a salt-crusted horn, seen from below, as JPEG."""
    noise = random.Random(40)
    picture = Image.new("RGB", (640, 280), (196, 208, 216))
    pen = ImageDraw.Draw(picture)
    for middle, crusted in ((165, False), (475, True)):
        for radius in range(118, 0, -2):
            shade = 210 - radius if radius > 60 else 40 + radius
            box = (middle - radius, 140 - radius, middle + radius, 140 + radius)
            pen.ellipse(box, fill=(shade, shade, min(255, shade + 8)))
        for _ in range(2600 if crusted else 25):
            angle = noise.uniform(0.1 * math.pi, 0.9 * math.pi)
            distance = noise.gauss(104, 9)
            x, y = middle + distance * math.cos(angle), 140 + distance * math.sin(angle)
            size, white = noise.uniform(1, 3.5), noise.randint(214, 255)
            pen.ellipse((x - size, y - size, x + size, y + size), fill=(white, white, white - 10))
    target = io.BytesIO()
    picture.filter(ImageFilter.GaussianBlur(0.9)).save(target, "JPEG", quality=82)
    return target.getvalue()


def draw_fouling(page: pymupdf.Page, rect: pymupdf.Rect) -> None:
    """Places the picture in the middle of the figure's box."""
    page.insert_image(rect, stream=fouling_picture())


def main() -> None:
    """Writes both PDF documents."""
    figures = {
        "chain": Figure(80, SIGNAL_PATH),
        "mounting": Figure(190, draw_mounting),
        "drift": Figure(190, DRIFT),
        "fouling": Figure(170, draw_fouling),
        "catch": Figure(190, CATCH),
    }
    for name, title, date, header in (
        ("tg40_tide_gauge_manual", "TG-40 Radar Tide Gauge: Manual", "20220314", "TG-40 manual, edition 3"),
        ("rg2_rain_gauge_datasheet", "RG-2 Weighing Rain Gauge: Data Sheet", "20231102", "RG-2 data sheet 118"),
    ):
        setter = Typesetter(manual_layout(f"{MAKER}    {header}", "page {page}"), figures)
        setter.flow(parse((HERE / "sources" / f"{name}.txt").read_text(encoding="utf-8")))
        (HERE / "documents" / f"{name}.pdf").write_bytes(setter.finish(title, MAKER, date))


if __name__ == "__main__":
    main()
