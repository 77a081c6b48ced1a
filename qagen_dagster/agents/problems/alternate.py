"""The alternate solver finds another way to the same answer."""

from __future__ import annotations

from collections.abc import Sequence

from qagen_dagster.agents.problems.rendering import numbered, shown, shown_ideas
from qagen_dagster.agents.problems.task import Asking, Said, ask
from qagen_dagster.agents.prompts import Prompt, load_prompt
from qagen_dagster.records.problems.item import AlternateResult, IdeaResult

ROLE = "alternate"


def prompt() -> Prompt:
    return load_prompt("problems/alternate")


def solve_again(
    asking: Asking[AlternateResult],
    number: int,
    problem: str,
    solution: str,
    ideas: IdeaResult | None,
    earlier: Sequence[AlternateResult],
) -> Said[AlternateResult]:
    """Solve the problem in a way that differs from the given solution and from `earlier`. Raises ModelError."""
    values = {
        "number": str(number),
        "problem": shown(problem),
        "solution": shown(solution),
        "ideas": shown_ideas(ideas),
        "earlier": numbered("alternate", [f"{one.method}\n{one.solution}" for one in earlier]),
    }
    return ask(ROLE, prompt(), "submit_alternate", AlternateResult, asking, values)
