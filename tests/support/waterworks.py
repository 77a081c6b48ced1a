"""Documents about an invented waterworks, and a model that asks and answers about them by rule.

What it says depends on nothing but the request, so that calls can be counted and runs compared. A
document is a station; its facts are the pressures of its valves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import pymupdf

from tests.support.models import CRITERIA
from tests.support.wire_reader import Asked, read
from tests.support.wire_server import Call, Reply, Seen, Step

VALVES = ("intake", "outlet", "bypass", "drain", "relief", "purge")
CORPUS = """\
name: Waterworks
corpus_context: Notes on the stations of an invented waterworks.
scenarios:
  facts: {{name: Facts, description: Single facts., target_count: {target}, modes: [{modes}], text_control: false, closed_book: false}}
"""
_FACT = re.compile(r"(\d+)\| (The (\w+) valve of the (\w+) station opens at a pressure of (\d+) bar\.)")
_ROW = re.compile(r"(\d+)\| (\w+) \| (\d+)$", re.MULTILINE)
_ASKED = re.compile(r"At what pressure does the (\w+) valve of the (\w+) station open\?")
_LABEL = re.compile(r"^- (Table \d+) \| type: table \| page: (\d+)", re.MULTILINE)
_READ = re.compile(r"lines 1-\d+ of \d+")
_STATION = re.compile(r"file: (\w+)\.")


def corpus(target: int = 2, modes: str = "textual") -> str:
    return CORPUS.format(target=target, modes=modes)


def pressure(station: str, valve: str, *, alike: bool = False) -> int:
    """`alike`: one of two, for all valves of a station. Questions with other answers are told apart without a model;
    about these the deduplicator is asked."""
    return 40 + 2 * (sum(map(ord, station)) % 2) if alike else 10 + sum(map(ord, station + valve)) % 80


def notes(station: str, valves: Iterable[str] = VALVES, *, alike: bool = False) -> str:
    """A text document."""
    lines = [f"Notes on the {station} station", "", "Written by its keeper."]
    for valve in valves:
        lines += [
            "",
            f"The {valve} valve of the {station} station opens at a pressure of "
            f"{pressure(station, valve, alike=alike)} bar.",
        ]
    return "\n".join(lines) + "\n"


def sheet(station: str, valves: Iterable[str] = VALVES[:3], *, alike: bool = False) -> bytes:
    """A PDF of one page with a captioned table and a captioned figure."""
    file: Any = pymupdf.open()
    page = file.new_page(width=420, height=595)
    page.insert_text((50, 60), f"Valves of the {station} station", fontsize=16)
    page.insert_textbox(
        pymupdf.Rect(50, 80, 370, 140),
        "The stations of the waterworks hold several valves. Each of them was set in the spring of the "
        "year and is inspected by the keeper.",
        fontsize=10,
    )
    page.insert_text(
        (50, 165), f"Table 1. Opening pressure of the valves of the {station} station, in bar.", fontsize=9
    )
    rows = [("valve", "pressure"), *((valve, str(pressure(station, valve, alike=alike))) for valve in valves)]
    for number, row in enumerate(rows):
        top = 175 + 18 * number
        for column, text in enumerate(row):
            left = 50 + 140 * column
            page.draw_rect(pymupdf.Rect(left, top, left + 140, top + 18), width=0.7)
            page.insert_text((left + 6, top + 13), text, fontsize=9)
    page.draw_rect(pymupdf.Rect(60, 320, 120, 420), fill=(0.2, 0.4, 0.7))
    page.draw_rect(pymupdf.Rect(140, 360, 200, 420), fill=(0.7, 0.4, 0.2))
    page.draw_circle((280, 370), 40, fill=(0.1, 0.6, 0.3))
    page.insert_text((50, 440), f"Figure 1. Water lifted by the {station} station in two years.", fontsize=9)
    data: bytes = file.tobytes()
    file.close()
    return data


def is_probe(seen: Seen) -> bool:
    """Whether a run tries its model before it begins."""
    return "Reply with the word: ready" in str(seen.body)


def answer(seen: Seen, number: int) -> Step:
    """A step for `WireServer`: play whichever role is asked."""
    del number
    if is_probe(seen):
        return Reply(text="ready")
    return play(read(seen))


def play(asked: Asked) -> Reply:
    """The next turn of a role that reads, then submits."""
    if asked.role == "comparer":
        checks = dict.fromkeys(CRITERIA, True)
        return call("submit_comparisons", **checks, explanation="Both name the same pressure.")
    if asked.role == "deduplicator":
        return _compare(asked)
    if asked.role == "guesser":
        return call("submit_closed_book_answer", answer="unknown", confidence=0)
    told = "\n".join(asked.results)
    tables = _LABEL.findall(told)
    if "list_visual_content" in asked.tools and not tables:
        return call("list_visual_content")
    if not _READ.search(told) and "read_lines" in asked.tools:
        looks = [Call("view_page", {"page_number": int(page), "visual": label}) for label, page in tables[:1]]
        return Reply(calls=(*looks, Call("read_lines", {"start_line": 1})))
    return propose(asked) if asked.role == "generator" else _answer(asked)


def call(name: str, **arguments: object) -> Reply:
    return Reply(calls=(Call(name, arguments),))


def asked_about(question: str) -> tuple[str, str]:
    """The valve and the station of a question."""
    return _ASKED.findall(question)[0]


def stations(asked: Asked, known: Iterable[str]) -> set[str]:
    """Which documents a request is about: one, or several when sets of questions are compared."""
    return {
        station
        for station in known
        if f"{station} station" in asked.whole or f"file: {station}." in asked.whole
    }


def _facts(asked: Asked) -> list[tuple[int, str, str, str, str]]:
    """Line, quote, valve, station and pressure of every fact that was read."""
    told = "\n".join((*asked.results, asked.user))
    found = [(int(n), quote, valve, station, bar) for n, quote, valve, station, bar in _FACT.findall(told)]
    station = _STATION.findall(asked.user)[0]
    return found or [
        (int(line), f"{valve} | {bar}", valve, station, bar) for line, valve, bar in _ROW.findall(told)
    ]


def propose(asked: Asked, *, backwards: bool = False) -> Reply:
    """A question about the first valve that was not asked about, or about the last one."""
    known = set(_ASKED.findall(asked.user))
    for line, quote, valve, station, bar in _facts(asked)[:: -1 if backwards else 1]:
        if (valve, station) not in known:
            visual = {"visuals": ["Table 1"]} if "view_page" in asked.tools else {}
            return call(
                "submit_qa",
                question=f"At what pressure does the {valve} valve of the {station} station open?",
                answer=f"{bar} bar",
                evidence=[{"quote": quote, "start_line": line}],
                **visual,
            )
    return call("report_exhausted", reason="Every valve has been asked about.")


def _answer(asked: Asked) -> Reply:
    wanted = _ASKED.findall(asked.user)[0]
    for line, quote, valve, station, bar in _facts(asked):
        if (valve, station) == wanted:
            evidence = [{"quote": quote, "start_line": line}]
            answer = {"answerable": True, "unambiguous": True, "answer": f"{bar} bar", "evidence": evidence}
            return call("submit_answers", answers=[{"number": 1, **answer}])
    return call("submit_answers", answerable=False, unambiguous=True, answer="", note="No such valve.")


def _compare(asked: Asked) -> Reply:
    new, *old = _ASKED.findall(asked.user)
    if new in old:
        return call("submit_duplicate_verdict", verdict="duplicate", duplicate_of=old.index(new) + 1)
    return call("submit_duplicate_verdict", verdict="unique", explanation="Another valve.")
