"""A bank that is large enough for papers, and the answers of candidates of a known model to them."""

from __future__ import annotations

import random
from math import exp
from pathlib import Path

from qagen_dagster.loop.exams.bank import publish_bank
from qagen_dagster.loop.exams.plan import PartPlan
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.blind import LETTERS
from qagen_dagster.records.exams.bank import SlotResult
from tests.support.exams.items import item, package, plan, question
from tests.support.exams.mini import accepted, store_part, write_exam

_SCENES = [
    "apples",
    "boats",
    "clouds",
    "drums",
    "eagles",
    "forks",
    "grapes",
    "hats",
    "irons",
    "jars",
    "kites",
    "lamps",
    "mugs",
    "nets",
    "oars",
]
SIMULATED = 400


def made(part: PartPlan, slot: int) -> SlotResult:
    """An item of its own; slots 1 and 2, 3 and 4, ... are of one family. The keys are mostly A."""
    scene = f"{_SCENES[(slot - 1) // 2]} {part.part.schema_id.lower()} {part.part.difficulty.value}"
    key = LETTERS[max(0, slot % 7 - 3)]
    options = {letter: f"${slot * 10 + at}$" for at, letter in enumerate("ABCDE")}
    asked = question(f"{_SCENES[slot]} {slot} {scene}: how many {scene} are ${slot}$?", key, **options)
    idea = plan(part.part.schema_id).model_copy(
        update={"idea_summary": f"Count {_SCENES[(slot - 1) // 2]} {part.part.key}."}
    )
    found = package(asked, check=None)
    one = item(asked, part.part.schema_id, part.part.difficulty, idea_plan=idea, question_package=found)
    return accepted(part, slot, one)


def write_bank(space: Workspace, items: int = 48) -> None:
    """A published bank of the exam `mini`: two schemas, two difficulties."""
    yaml = f"name: Mini\ncandidate_profile: Somebody.\ndifficulties: {{easy: 1, hard: 1}}\nitems: {items}\n"
    write_exam(Path(space.settings.corpora), yaml=yaml)
    for schema in ("M1", "P2"):
        for level in ("easy", "hard"):
            store_part(space, f"mini/{schema}/{level}", made)
    publish_bank(space, "mini", "run-0")


def responses(keys: list[str], seed: int, wrong: dict[int, str], dead: dict[int, str]) -> list[list[str]]:
    """The letters of candidates of a 2PL model. `keys` are right, except at the places in `wrong`, whose letters are right.

    Nobody takes the letters of `dead` at their places.
    """
    draw = random.Random(seed)
    slopes = [draw.lognormvariate(0.1, 0.25) for _ in keys]
    hard = [draw.gauss(0, 0.8) for _ in keys]
    found: list[list[str]] = []
    for _ in range(SIMULATED):
        ability = draw.gauss(0, 1)
        row: list[str] = []
        for place, key in enumerate(keys):
            right = wrong.get(place, key)
            others = [one for one in "ABCDE" if one not in (right, dead.get(place))]
            solved = draw.random() < 1 / (1 + exp(-slopes[place] * (ability - hard[place])))
            row.append(right if solved else draw.choice(others))
        found.append(row)
    return found
