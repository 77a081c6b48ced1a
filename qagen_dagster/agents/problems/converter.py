"""The converter writes the same problem in another format."""

from __future__ import annotations

from qagen_dagster.agents.problems.rendering import shown
from qagen_dagster.agents.problems.task import Asking, Said, ask
from qagen_dagster.agents.prompts import Prompt, load_prompt
from qagen_dagster.records.problems.item import ConversionResult, Format

ROLE = "converter"


def prompt() -> Prompt:
    return load_prompt("problems/convert")


def convert(
    asking: Asking[ConversionResult], item: str, source: Format, target: Format
) -> Said[ConversionResult]:
    """Convert `item`. Raises ModelError."""
    values = {"source_format": source.value, "target_format": target.value, "item": shown(item)}
    return ask(ROLE, prompt(), "submit_conversion", ConversionResult, asking, values)
