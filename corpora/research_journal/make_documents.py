"""Makes the two-column PDF papers of the research-journal corpus from `sources/` and the figures drawn here.

Run from the repository root: `python -m corpora.research_journal.make_documents`. The JATS XML articles of the corpus
are written by hand and not touched.
"""

from __future__ import annotations

import io
import math
import random
from pathlib import Path

import pymupdf
from PIL import Image, ImageDraw, ImageFilter

from corpora.drawing import BLACK, Axis, bar_chart, line_chart, write
from corpora.typeset import Figure, Typesetter, paper_layout, parse

HERE = Path(__file__).parent
JOURNAL = "Annals of the Ostrand Field Station"
WALLS = {"W1": (0.60, 0.72), "W2": (0.66, 0.50), "W3": (0.72, 0.30), "W4": (0.78, 0.78), "W5": (0.84, 0.56), "W6": (0.88, 0.36)}


def decay(start: float, half: float) -> list[tuple[float, float]]:
    """Excess warmth at each even hour after sunset: half of it is lost in `half` hours."""
    return [(hour, round(start * 0.5 ** (hour / half), 1)) for hour in (0, 2, 4, 6, 8, 10)]


DECAY = line_chart(
    Axis("Hours after sunset", (0, 2, 4, 6, 8, 10)),
    Axis("Core minus grass (°C)", (0, 2, 4, 6, 8, 10)),
    {"W1, dolerite": decay(9.9, 7.9), "W4, sandstone": decay(8.1, 5.8)},
)
LIZARDS = bar_chart(
    "Wall",
    list(WALLS),
    Axis("Lizards per evening", (0, 1, 2, 3, 4, 5, 6)),
    {"mean count": (5.4, 3.8, 3.1, 2.6, 2.0, 1.1)},
)
ENERGY = line_chart(
    Axis("Temperature (°C)", (-30, -20, -10, 0, 10, 20)),
    Axis("Absorbed energy (J)", (0, 1, 2, 3, 4, 5)),
    {
        "bell metal": [(-24, 0.8), (-15, 1.2), (-5, 1.7), (0, 2.2), (10, 2.9), (20, 3.4)],
        "reference bronze": [(-24, 3.2), (-15, 3.5), (-5, 3.8), (0, 4.0), (10, 4.3), (20, 4.6)],
    },
)


def height_at(x: float, y: float) -> float:
    """Height in metres of the invented terrain; x and y run from 0 to 1, eastward and southward."""
    peak = 520 * math.exp(-((x - 0.28) ** 2 + (y - 0.45) ** 2) / 0.045)
    shoulder = 180 * math.exp(-((x - 0.45) ** 2 + (y - 0.85) ** 2) / 0.03)
    valley = -90 * math.exp(-((x - 0.75 + 0.12 * math.sin(3 * y)) ** 2) / 0.012)
    ripples = 9 * math.sin(31 * x + 5 * y) * math.sin(27 * y - 4 * x) + 5 * math.sin(60 * x * y + 9 * y)
    return 320 + peak + shoulder + valley + ripples


def relief_picture(side: int = 320) -> bytes:
    """Shaded relief of the terrain, lit from the north-west, as JPEG."""
    picture = Image.new("L", (side, side))
    step = 1 / side
    for row in range(side):
        for column in range(side):
            x, y = column * step, row * step
            east = (height_at(x + step, y) - height_at(x - step, y)) / (2 * step * 3000)
            south = (height_at(x, y + step) - height_at(x, y - step)) / (2 * step * 3000)
            light = (0.5 * east + 0.5 * south + 0.7) / math.sqrt(1 + east**2 + south**2)
            picture.putpixel((column, row), max(0, min(255, round(255 * light))))
    target = io.BytesIO()
    picture.save(target, "JPEG", quality=80)
    return target.getvalue()


def draw_map(page: pymupdf.Page, rect: pymupdf.Rect) -> None:
    """The relief with the walls marked on it."""
    left = (rect.x0 + rect.x1 - rect.height) / 2
    area = pymupdf.Rect(left, rect.y0, left + rect.height, rect.y1)
    page.insert_image(area, stream=relief_picture())
    page.draw_rect(area, color=BLACK, width=0.8)
    for name, (x, y) in WALLS.items():
        place = pymupdf.Point(area.x0 + x * area.width, area.y0 + y * area.height)
        page.draw_line(place, place + (9, -5), color=(0.8, 0.1, 0.1), width=2)
        write(page, place.x - 2, place.y + 9, name, size=8)
    write(page, area.x0 + 0.27 * area.width, area.y0 + 0.47 * area.height, "Mount Kelvan", size=8, anchor=0.5)


def section_picture() -> bytes:
    """A drawing after a micrograph: pale grains in a darker ground, with gas pores, as PNG."""
    pick = random.Random(1786)
    picture = Image.new("RGB", (480, 280), (150, 128, 104))
    pen = ImageDraw.Draw(picture)
    for _ in range(210):
        x, y, size = pick.uniform(0, 480), pick.uniform(0, 280), pick.uniform(7, 20)
        corners = [
            (x + size * pick.uniform(0.6, 1.1) * math.cos(turn * math.pi / 4), y + size * pick.uniform(0.6, 1.1) * math.sin(turn * math.pi / 4))
            for turn in range(8)
        ]
        pen.polygon(corners, fill=(222, 186 + pick.randint(0, 14), 140), outline=(120, 96, 74))
    for _ in range(16):
        x, y, size = pick.uniform(20, 460), pick.gauss(190, 12), pick.uniform(4, 14)
        pen.ellipse((x - size, y - size, x + size, y + size), fill=(18, 16, 14))
    pen.ellipse((263, 128, 337, 202), fill=(12, 10, 9))
    target = io.BytesIO()
    picture.filter(ImageFilter.GaussianBlur(0.6)).quantize(32).save(target, "PNG", optimize=True)
    return target.getvalue()


def draw_section(page: pymupdf.Page, rect: pymupdf.Rect) -> None:
    """Places the micrograph drawing in the figure's box."""
    page.insert_image(rect, stream=section_picture())


def main() -> None:
    """Writes both PDF papers."""
    figures = {
        "map": Figure(190, draw_map),
        "decay": Figure(165, DECAY),
        "lizards": Figure(160, LIZARDS),
        "section": Figure(135, draw_section),
        "energy": Figure(165, ENERGY),
    }
    for name, title, authors, date, volume in (
        (
            "dry_stone_walls",
            "Dry-stone walls as night-time heat stores for upland lizards",
            "Helen Marchetti, Robert Anyanwu, Signe Dahl",
            "20210419",
            "12 (2021)",
        ),
        (
            "bell_bronze",
            "Why the great bell of Sankt Orm cracked: a metallurgical report",
            "Jonas Wetterholm, Amara Diallo",
            "20221212",
            "14 (2023)",
        ),
    ):
        setter = Typesetter(paper_layout(f"{JOURNAL} {volume}", "{page}"), figures)
        setter.flow(parse((HERE / "sources" / f"{name}.txt").read_text(encoding="utf-8")))
        (HERE / "documents" / f"{name}.pdf").write_bytes(setter.finish(title, authors, date))


if __name__ == "__main__":
    main()
