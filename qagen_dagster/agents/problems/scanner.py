"""The scanner: a problem as LaTeX, by a prompt of its kind."""

from __future__ import annotations

from qagen_dagster.agents.problems.rendering import input_word, material
from qagen_dagster.agents.problems.task import Asking, Said, ask
from qagen_dagster.agents.prompts import Prompt, load_prompt
from qagen_dagster.records.problems.item import QuestionKind, ScanResult

ROLE = "scanner"
FALLBACK = QuestionKind.MCQ_SC


def prompt_for(kind: str) -> Prompt:
    """The prompt of a kind of question; of a kind that nobody knows, that of single-correct ones."""
    known = kind if kind in {one.value for one in QuestionKind} else FALLBACK.value
    return load_prompt(f"problems/scan_{known}")


def scan(
    asking: Asking[ScanResult], prompt: Prompt, kind: str, text: str, *, has_diagram: bool | None
) -> Said[ScanResult]:
    """Transcribe a problem from its picture, or make an item of loose `text`. Raises ModelError."""
    pictured = bool(asking.pictures)
    values = {
        "input": input_word(pictured=pictured),
        "kind": kind,
        "has_diagram": {True: "yes", False: "no", None: "not known"}[has_diagram],
        "problem": material("problem", text, pictured=pictured),
    }
    return ask(ROLE, prompt, "submit_scan", ScanResult, asking, values)
