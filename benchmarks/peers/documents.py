"""Ten Markdown documents by rule, about the stations of an invented waterworks."""

from __future__ import annotations

import re

from tests.support import waterworks

STATIONS = ("north", "south", "east", "west", "harbour", "bridge", "upper", "lower", "hill", "mill")
QUESTIONS_EACH = 2
FACT = re.compile(r"The (\w+) valve of the (\w+) station opens at a pressure of (\d+) bar\.")
_FILLER = (
    "The keeper of the {station} station inspects the {valve} valve in the spring of each year. The report names the "
    "wear of the seat, the state of the spring and the day of the next visit. A copy goes to the office of the "
    "waterworks, which keeps it for ten years.",
    "A second person is present when the {valve} valve of the {station} station is opened. The water is led into the "
    "basin behind the house. The work takes about an hour, and the line is flushed before it is used again.",
)


def documents() -> dict[str, str]:
    """Text by file name."""
    return {f"{station}.md": _document(station) for station in STATIONS}


def _document(station: str) -> str:
    parts = [f"# Notes on the {station} station", "Written by its keeper."]
    for valve in waterworks.VALVES:
        bar = waterworks.pressure(station, valve)
        parts += [
            f"## The {valve} valve",
            f"The {valve} valve of the {station} station opens at a pressure of {bar} bar.",
            *(filler.format(station=station, valve=valve) for filler in _FILLER),
        ]
    return "\n\n".join(parts) + "\n"


def question_of(valve: str, station: str) -> str:
    return f"At what pressure does the {valve} valve of the {station} station open?"
