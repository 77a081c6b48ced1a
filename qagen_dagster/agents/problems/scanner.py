"""The scanner writes a problem as LaTeX. There is a prompt for each kind of question."""

from __future__ import annotations

from qagen_dagster.agents.problems.rendering import input_word, material
from qagen_dagster.agents.problems.task import Asking, Said, ask
from qagen_dagster.agents.prompts import Prompt, load_prompt
from qagen_dagster.records.problems.item import QuestionKind, ScanResult

ROLE = "scanner"
FALLBACK = QuestionKind.MCQ_SC


def prompt_for(kind: str) -> Prompt:
    """The prompt for a kind of question; for an unknown kind, the prompt for single-correct multiple choice."""
    known = kind if kind in {one.value for one in QuestionKind} else FALLBACK.value
    return load_prompt(f"problems/scan_{known}")


def scan(
    asking: Asking[ScanResult], prompt: Prompt, kind: str, text: str, *, has_diagram: bool | None
) -> Said[ScanResult]:
    """Transcribe a problem from its picture, or make an item from plain `text`. Raises ModelError."""
    pictured = bool(asking.pictures)
    values = {
        "input": input_word(pictured=pictured),
        "kind": kind,
        "has_diagram": {True: "yes", False: "no", None: "not known"}[has_diagram],
        "problem": material("problem", text, pictured=pictured),
    }
    return ask(ROLE, prompt, "submit_scan", ScanResult, asking, values)
