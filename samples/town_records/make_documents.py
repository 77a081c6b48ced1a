"""Makes the PDF report and the two page images of the town-records corpus from `sources/` and the charts drawn here.

Run from the repository root: `python -m samples.town_records.make_documents`. The minutes, the bylaw and the notices of
the corpus are written by hand and not touched.
"""

from __future__ import annotations

import io
from pathlib import Path

from PIL import Image, ImageChops

from samples.drawing import Axis, Box, bar_chart, diagram, line_chart
from samples.markup import parse
from samples.sheet import render
from samples.typeset import A4, Figure, Typesetter, manual_layout

SOURCES = Path(__file__).parent / "sources"
DOCUMENTS = Path(__file__).parents[2] / "corpora" / "town_records" / "documents"
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

NETWORK = diagram(
    {
        "friars": Box(("Friars' Spring",), 0.02, 0.02, 0.18, 0.24),
        "lady": Box(("Lady Spring",), 0.02, 0.38, 0.18, 0.24),
        "bore": Box(("Priory Field", "borehole, 118 m"), 0.02, 0.74, 0.18, 0.24),
        "house": Box(("Treatment house", "4 lamps"), 0.36, 0.0, 0.18, 1.0),
        "store": Box(("Beacon Hill", "2,400 m³"), 0.64, 0.3, 0.14, 0.4),
        "town": Box(("Town mains", "71.4 km"), 0.86, 0.3, 0.14, 0.4),
    },
    [
        ("friars", "house", "gravity"),
        ("lady", "house", "gravity"),
        ("bore", "house", "pump"),
        ("house", "store", ""),
        ("store", "town", ""),
    ],
)
LEAKAGE = line_chart(
    Axis("Year", (2017, 2018, 2019, 2020, 2021, 2022), grouped=False),
    Axis("Leakage (%)", (0, 5, 10, 15, 20, 25, 30)),
    {"leakage": [(2017, 29.5), (2018, 27.0), (2019, 24.0), (2020, 21.5), (2021, 18.0), (2022, 16.2)]},
)
MONTHLY = bar_chart(
    "Month of 2022",
    MONTHS,
    Axis("Thousand cubic metres", (0, 10, 20, 30, 40, 50, 60)),
    (43, 40, 44, 42, 44, 44, 52, 48, 43, 42, 40, 41),
)
VISITORS = bar_chart(
    "Month of 2022",
    MONTHS[4:9],
    Axis("Visitors", (0, 2000, 4000, 6000, 8000)),
    (1450, 3800, 7200, 7900, 2100),
)
HEIGHTS = bar_chart(
    "Year of the flood",
    ("1764", "1852", "1881", "1947", "1968", "2023"),
    Axis("Height (cm)", (0, 40, 80, 120, 160)),
    (121, 96, 62, 148, 83, 74),
)
FIGURES = {
    "network": Figure(110, NETWORK),
    "leakage": Figure(160, LEAKAGE),
    "monthly": Figure(170, MONTHLY),
    "visitors": Figure(180, VISITORS),
    "heights": Figure(200, HEIGHTS),
}


def typeset(name: str, title: str, date: str, header: str = "", footer: str = "") -> bytes:
    """One source as a PDF; without a header it is a single short page."""
    layout = manual_layout(header, footer, A4 if header else (A4[0], 620.0))
    setter = Typesetter(layout, FIGURES)
    setter.flow(parse((SOURCES / f"{name}.txt").read_text(encoding="utf-8")))
    return setter.finish(title, "Kestwick Town Council", date)


def picture_of(document: bytes, paper: tuple[int, int, int]) -> Image.Image:
    """The first page as a picture on tinted paper."""
    page = Image.open(io.BytesIO(render(document, dots_per_inch=120))).convert("RGB")
    return ImageChops.multiply(page, Image.new("RGB", page.size, paper))


def main() -> None:
    """Writes the report (PDF), the notice (PNG) and the board (JPEG)."""
    documents = DOCUMENTS
    title = "Kestwick Waterworks: Annual Report for 2022"
    report = typeset(
        "water_report_2022", title, "20230221", "Kestwick Waterworks    Annual Report 2022", "page {page}"
    )
    (documents / "water_report_2022.pdf").write_bytes(report)
    notice = picture_of(typeset("bath_notice", "Swimming bath", "20230424"), (255, 255, 255))
    notice.quantize(48).save(documents / "bath_notice.png", optimize=True)
    board = picture_of(typeset("flood_board", "Flood marks", "20230601"), (250, 244, 230))
    board.save(documents / "flood_board.jpg", quality=82)


if __name__ == "__main__":
    main()
