"""The paths and pictures that MuPDF's XML print of a page shows."""

import re
from array import array
from itertools import islice
from typing import NamedTuple

SCALE = 10  # text is printed in whole tenths of a point
_RULE = 2.6  # points; a thinner path counts as a line
_PAD = (2.5, 4.0)  # the least and most points that the library adds around thin strokes of scaled content
_BLOCK = re.compile(rb'<(?:vector|image) bbox="([^"]+)"(?: stroke="(.)" rectangle="(.)".* argb="(..)(.{6}))?')

Rect = tuple[float, float, float, float]
# A painted area: how many lines of text precede it, its box in points, its grey (0 for pictures; None: no opaque rectangle).
Area = tuple[int, Rect, int | None]


class Painted(NamedTuple):
    """The paths and pictures around a page's text: the boxes of thin paths in tenths of a point, and the other areas."""

    rules: list[tuple[int, int, int, int]]
    areas: list[Area]


def painted_on(printed: bytes) -> Painted:
    """The thin paths and the areas, in painting order."""
    blocks = list(_BLOCK.finditer(printed))
    stated = b" ".join([block[1] for block in blocks]).split()
    sides = iter(array("f", map(float, stated)))  # single precision, as in the library
    found, lines, at = Painted([], []), 0, 0
    for block in blocks:
        _, stroke, *style, colour = block.groups()
        x0, y0, x1, y1 = islice(sides, 4)
        short, long = (x1 - x0, y1 - y0) if x1 - x0 < y1 - y0 else (y1 - y0, x1 - x0)
        pad = short / 2
        if stroke == b"1" and _PAD[0] < pad <= _PAD[1] and long > 4 * pad:
            x0, y0, x1, y1 = x0 + pad, y0 + pad, x1 - pad, y1 - pad
            short = min(x1 - x0, y1 - y0)
        if stroke and short <= _RULE:
            found.rules.append((int(x0 * SCALE), int(y0 * SCALE), int(x1 * SCALE), int(y1 * SCALE)))
            continue
        lines += printed.count(b"<line ", at, at := block.start())
        red, green, blue = bytes.fromhex(colour.decode()) if stroke else (0, 0, 0)
        covers = not stroke or (stroke, *style) == (b"0", b"1", b"ff")
        grey = (3 * red + 6 * green + blue) // 10 if covers else None
        found.areas.append((lines, (x0, y0, x1, y1), grey))
    return found
