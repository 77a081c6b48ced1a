"""The idea reader names the concepts, formulas and techniques of a problem and its solution."""

from __future__ import annotations

from qagen_dagster.agents.problems.rendering import shown
from qagen_dagster.agents.problems.task import Asking, Said, ask
from qagen_dagster.agents.prompts import Prompt, load_prompt
from qagen_dagster.records.problems.item import IdeaResult

ROLE = "idea"


def prompt() -> Prompt:
    return load_prompt("problems/idea")


def extract(asking: Asking[IdeaResult], problem: str, solution: str) -> Said[IdeaResult]:
    """Ask for the concepts, formulas and techniques of a problem. Raises ModelError."""
    values = {"problem": shown(problem), "solution": shown(solution)}
    return ask(ROLE, prompt(), "submit_ideas", IdeaResult, asking, values)
