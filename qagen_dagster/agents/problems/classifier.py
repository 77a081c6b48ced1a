"""The classifier tells what kind of question a problem is, what it is about, and whether it has a figure."""

from __future__ import annotations

from qagen_dagster.agents.problems.rendering import input_word, material
from qagen_dagster.agents.problems.task import Asking, Said, ask
from qagen_dagster.agents.prompts import Prompt, load_prompt
from qagen_dagster.records.problems.item import ClassificationResult

ROLE = "classifier"


def prompt() -> Prompt:
    return load_prompt("problems/classify")


def classify(asking: Asking[ClassificationResult], text: str) -> Said[ClassificationResult]:
    """Classify a problem from its picture or from `text`. Raises ModelError."""
    pictured = bool(asking.pictures)
    values = {"input": input_word(pictured=pictured), "problem": material("problem", text, pictured=pictured)}
    return ask(ROLE, prompt(), "submit_classification", ClassificationResult, asking, values)
