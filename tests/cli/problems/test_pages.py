"""`qagen process -i FILE -r START END` on pages with several problems: a step finds them, then each is worked on its own."""

from __future__ import annotations

import io
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw

from qagen_dagster.catalog.database import snapshot
from qagen_dagster.loop.catalog import catalog_file, rebuild_catalog
from qagen_dagster.store import Store
from tests.cli.conftest import Command, Play
from tests.support.problems.play import classified, item
from tests.support.wire_reader import Asked

HIGH = 120  # pixels of a problem on a page


def page(first: int, last: int) -> Image.Image:
    """A page with a problem in every band; the brightness of a band is ten times the number of its problem."""
    drawn = Image.new("RGB", (500, HIGH * (last - first + 1) + 40), "white")
    for place, number in enumerate(range(first, last + 1)):
        top = 20 + HIGH * place
        ImageDraw.Draw(drawn).rectangle((20, top + 10, 480, top + HIGH - 10), fill=(number * 10,) * 3)
    return drawn


def picture_of(asked: Asked) -> Image.Image:
    return Image.open(io.BytesIO(asked.pictures[-1].data)).convert("L")


def places(asked: Asked) -> dict[str, Any]:
    """The boxes of all bands of the page that is shown."""
    shown = picture_of(asked)
    count = (shown.height - 40) // HIGH
    edge = [(20 + HIGH * number) / shown.height for number in range(count + 1)]
    rows = pairwise(edge)
    return {"problems": [{"left": 0.02, "top": top, "right": 0.98, "bottom": bottom} for top, bottom in rows]}


def scanned(asked: Asked) -> dict[str, Any]:
    """The problem in the picture: its acceleration is its number plus one."""
    shown = picture_of(asked)
    middle = shown.getpixel((shown.width // 2, shown.height // 2))
    assert isinstance(middle, int)
    assert shown.height < HIGH * 1.2, "one problem is shown"
    return {"latex": item(round(middle / 10) + 1, 5)}


@pytest.fixture
def mind(play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    page(1, 5).save(tmp_path / "page.png")
    pages = [page(1, 3), page(4, 5), page(6, 9)]
    pages[0].save(tmp_path / "sheet.pdf", save_all=True, append_images=pages[1:], resolution=72)
    return play(
        submit_problems=places,
        submit_scan=scanned,
        submit_classification=classified(question_type="subjective", has_diagram=False),
    )


def numbers(found: Any) -> list[int]:
    """The accelerations of the problems, minus one."""
    return [
        int(one["latex"].partition("acceleration $")[2].partition("\\")[0]) - 1
        for one in found.value["problems"]
    ]


@pytest.mark.parametrize(
    ("file", "start", "end", "pages"),
    [
        ("page.png", 1, 5, 1),
        ("page.png", 2, 4, 1),
        ("page.png", 5, 5, 1),
        ("sheet.pdf", 1, 2, 1),
        ("sheet.pdf", 3, 4, 2),
        ("sheet.pdf", 6, 9, 3),
    ],
)
def test_the_wanted_problems_come_in_order(
    qagen: Command, mind: Any, file: str, start: int, end: int, pages: int
) -> None:
    words = ("process", "-i", file, "-r", str(start), str(end), "-o", "out", "--json")
    found = qagen(*words)
    assert found.code == 0, found.err
    assert numbers(found) == list(range(start, end + 1))
    stem = file.partition(".")[0]
    assert [one["id"] for one in found.value["problems"]] == [
        f"{stem}-{at:02d}" for at in range(start, end + 1)
    ]
    assert [call["role"] for call in found.value["finding"]] == ["classifier"] * pages
    assert len(json.loads(Path("out/bank.json").read_text())["problems"]) == end - start + 1
    calls = len(mind.received)
    assert numbers(qagen(*words)) == numbers(found)
    assert len(mind.received) == calls, "nothing is paid twice"
    store = Store(qagen.project.assets)
    rebuild_catalog(store)
    with catalog_file(store) as path, snapshot(path) as catalog:
        counted = catalog.execute("SELECT count(*) FROM problem_calls WHERE task = 'find'").fetchone()
    assert counted == (pages,)


@pytest.mark.parametrize(
    ("file", "start", "end", "said"),
    [
        ("page.png", 4, 9, "page.png: there are 5 problems, and -r asks for 4 to 9"),
        ("page.png", 6, 6, "there are 5 problems"),
        ("sheet.pdf", 9, 10, "sheet.pdf: there are 9 problems, and -r asks for 9 to 10"),
        ("page.png", 3, 2, "a range is START END"),
    ],
)
def test_a_range_beyond_the_last_problem_says_how_many_there_are(
    qagen: Command, mind: Any, file: str, start: int, end: int, said: str
) -> None:
    found = qagen("process", "-i", file, "-r", str(start), str(end), "-o", "out")
    assert (found.code, said in found.err) == (2, True), found.err
    assert not Path("out").exists()
    assert not [one for one in mind.received if "submit_scan" in one.tools]


@pytest.mark.parametrize("words", [("process", "-o", "out"), ("scan",), ("idea",)])
def test_items_of_tex_beyond_the_last_one_are_an_error(
    qagen: Command, mind: Any, words: tuple[str, ...]
) -> None:
    Path("two.tex").write_text(f"{item(2, 5)}\n{item(3, 5)}")
    found = qagen(words[0], "-t", "two.tex", "-r", "2", "3", *words[1:])
    assert (found.code, "two.tex: there are 2 problems, and -r asks for 2 to 3" in found.err) == (2, True), (
        found.err
    )


@pytest.mark.parametrize(
    ("boxes", "said"),
    [
        ([(0, 0, 1, 0.5), (0, 0.1, 1, 0.6)], "boxes 1 and 2 hold the same part of the page"),
        ([(0, 0.5, 1, 0.5)], "box 1 has no area"),
    ],
)
def test_boxes_that_cannot_be_right_are_refused(
    qagen: Command, play: Play, mind: Any, boxes: list[tuple[float, ...]], said: str
) -> None:
    sides = ("left", "top", "right", "bottom")
    play(submit_problems={"problems": [dict(zip(sides, box, strict=True)) for box in boxes]})
    found = qagen("process", "-i", "page.png", "-r", "1", "1", "-o", "out")
    assert (found.code, said in found.err) == (1, True), found.err


def test_a_page_without_a_problem_and_a_model_without_eyes_are_told(
    qagen: Command, play: Play, mind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(submit_problems={"reason": "The page is blank."})
    found = qagen("process", "-i", "page.png", "-r", "1", "1", "-o", "out")
    assert (found.code, "no problem was found on page 1: The page is blank." in found.err) == (1, True)
    monkeypatch.setenv("QAGEN_PROFILE", "embedded")
    found = qagen("process", "-i", "page.png", "-r", "1", "1", "-o", "out")
    assert (found.code, "a model that takes images" in found.err) == (2, True)
