"""Makes the two-column PDF papers of the research-journal corpus from `sources/` and the figures drawn here.

Run from the repository root: `python -m samples.research_journal.make_documents`. The JATS XML articles of the corpus
are written by hand and not touched.
"""

from __future__ import annotations

import io
import math
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from samples.drawing import Axis, bar_chart, line_chart
from samples.markup import parse
from samples.sheet import Area, Sheet
from samples.typeset import Figure, Typesetter, paper_layout

SOURCES = Path(__file__).parent / "sources"
DOCUMENTS = Path(__file__).parents[2] / "corpora" / "research_journal" / "documents"
JOURNAL = "Annals of the Ostrand Field Station"
WALLS = {
    "W1": (0.60, 0.72),
    "W2": (0.66, 0.50),
    "W3": (0.72, 0.30),
    "W4": (0.78, 0.78),
    "W5": (0.84, 0.56),
    "W6": (0.88, 0.36),
}


def decay(start: float, half: float) -> list[tuple[float, float]]:
    """Excess warmth at each even hour after sunset: half of it is lost in `half` hours."""
    return [(hour, round(start * 0.5 ** (hour / half), 1)) for hour in (0, 2, 4, 6, 8, 10)]


DECAY = line_chart(
    Axis("Hours after sunset", (0, 2, 4, 6, 8, 10)),
    Axis("Core minus grass (°C)", (0, 2, 4, 6, 8, 10)),
    {"W1, dolerite": decay(9.9, 7.9), "W4, sandstone": decay(8.1, 5.8)},
)
LIZARDS = bar_chart(
    "Wall", list(WALLS), Axis("Lizards per evening", (0, 1, 2, 3, 4, 5, 6)), (5.4, 3.8, 3.1, 2.6, 2.0, 1.1)
)
ENERGY = line_chart(
    Axis("Temperature (°C)", (-30, -20, -10, 0, 10, 20)),
    Axis("Absorbed energy (J)", (0, 1, 2, 3, 4, 5)),
    {
        "bell metal": [(-24, 0.8), (-15, 1.2), (-5, 1.7), (0, 2.2), (10, 2.9), (20, 3.4)],
        "reference bronze": [(-24, 3.2), (-15, 3.5), (-5, 3.8), (0, 4.0), (10, 4.3), (20, 4.6)],
    },
)


def relief_picture(side: int = 320) -> bytes:
    """Shaded relief of an invented terrain of 3 km by 3 km, lit from the north-west, as JPEG."""
    x, y = np.meshgrid(np.linspace(0, 1, side), np.linspace(0, 1, side))
    height = 520 * np.exp(-((x - 0.28) ** 2 + (y - 0.45) ** 2) / 0.045)
    height += 180 * np.exp(-((x - 0.45) ** 2 + (y - 0.85) ** 2) / 0.03)
    height -= 90 * np.exp(-((x - 0.75 + 0.12 * np.sin(3 * y)) ** 2) / 0.012)
    chance = np.random.default_rng(340)
    for scale in (3, 5, 8, 13, 21, 34):
        turn, shift = chance.uniform(0, math.pi), chance.uniform(0, 6)
        height += 42 / scale * np.sin(scale * (x * math.cos(turn) + y * math.sin(turn)) * 2 + shift)
    south, east = np.gradient(height, 3000 / side)
    light = (0.5 * east + 0.5 * south + 0.7) / np.sqrt(1 + east**2 + south**2)
    shades = np.clip(np.rint(255 * light), 0, 255).astype(np.uint8)
    target = io.BytesIO()
    Image.fromarray(shades).save(target, "JPEG", quality=80)
    return target.getvalue()


def draw_map(sheet: Sheet, area: Area) -> None:
    """The relief with the walls marked on it."""
    left = area.middle[0] - area.height / 2
    square = Area(left, area.y0, left + area.height, area.y1)
    sheet.picture(square, relief_picture())
    sheet.box(square, width=0.8)
    for name, (share_x, share_y) in WALLS.items():
        x, y = square.x0 + share_x * square.width, square.y0 + share_y * square.height
        sheet.line((x, y), (x + 9, y - 5), (0.8, 0.1, 0.1), 2)
        sheet.text((x - 2, y + 9), name, size=8)
    peak = (square.x0 + 0.24 * square.width, square.y0 + 0.44 * square.height)
    sheet.text(peak, "Mount Kelvan", size=8, anchor=0.5)


def section_picture() -> bytes:
    """A drawing after a micrograph: pale grains in a darker ground, with gas pores, as PNG."""
    chance = np.random.default_rng(1786)
    picture = Image.new("RGB", (480, 280), (150, 128, 104))
    pen = ImageDraw.Draw(picture)
    for _ in range(210):
        x, y, size = chance.uniform(0, 480), chance.uniform(0, 280), chance.uniform(7, 20)
        reach = [size * chance.uniform(0.6, 1.1) for _ in range(8)]
        turns = [turn * math.pi / 4 for turn in range(8)]
        corners = [
            (x + far * math.cos(turn), y + far * math.sin(turn))
            for far, turn in zip(reach, turns, strict=True)
        ]
        pale = 186 + int(chance.integers(0, 15))
        pen.polygon(corners, fill=(222, pale, 140), outline=(120, 96, 74))
    for _ in range(16):
        x, y, size = chance.uniform(20, 460), chance.normal(190, 12), chance.uniform(4, 14)
        pen.ellipse((x - size, y - size, x + size, y + size), fill=(18, 16, 14))
    pen.ellipse((263, 128, 337, 202), fill=(12, 10, 9))
    target = io.BytesIO()
    picture.filter(ImageFilter.GaussianBlur(0.6)).quantize(32).save(target, "PNG", optimize=True)
    return target.getvalue()


def draw_section(sheet: Sheet, area: Area) -> None:
    """Places the micrograph drawing in the figure's box."""
    sheet.picture(area, section_picture())


def main() -> None:
    """Writes both PDF papers."""
    figures = {
        "map": Figure(190, draw_map),
        "decay": Figure(165, DECAY),
        "lizards": Figure(160, LIZARDS),
        "section": Figure(135, draw_section),
        "energy": Figure(165, ENERGY),
    }
    for name, title, authors, date, volume, first_page in (
        (
            "dry_stone_walls",
            "Dry-stone walls as night-time heat stores for upland lizards",
            "Helen Marchetti, Robert Anyanwu, Signe Dahl",
            "20210419",
            "12 (2021)",
            41,
        ),
        (
            "bell_bronze",
            "Why the great bell of Sankt Orm cracked: a metallurgical report",
            "Jonas Wetterholm, Amara Diallo",
            "20221212",
            "14 (2023)",
            5,
        ),
    ):
        setter = Typesetter(paper_layout(f"{JOURNAL} {volume}", "{page}", first_page), figures)
        setter.flow(parse((SOURCES / f"{name}.txt").read_text(encoding="utf-8")))
        (DOCUMENTS / f"{name}.pdf").write_bytes(setter.finish(title, authors, date))


if __name__ == "__main__":
    main()
