"""The draughtsman draws the figure of a problem in TikZ; it can search references if there are any."""

from __future__ import annotations

from qagen_dagster.agents.problems.rendering import material
from qagen_dagster.agents.problems.task import Asking, Said, ask
from qagen_dagster.agents.prompts import Prompt, load_prompt
from qagen_dagster.records.problems.item import DiagramKind, TikzResult

ROLE = "tikz"


def prompt() -> Prompt:
    return load_prompt("problems/tikz")


def draw(
    asking: Asking[TikzResult], kind: DiagramKind, problem: str, description: str | None
) -> Said[TikzResult]:
    """Draw from a picture, a description, or both. Raises ModelError."""
    values = {
        "diagram": kind.value if kind is not DiagramKind.NONE else "not known",
        "problem": material("problem", problem),
        "description": material("description", description or "", pictured=bool(asking.pictures)),
    }
    return ask(ROLE, prompt(), "submit_tikz", TikzResult, asking, values)
