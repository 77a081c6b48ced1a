"""The properties of the pipeline itself, that no model can break: which prompt is used, which items are, what is written.

Properties 2, 13, 14 and 15; those of outputs are `properties.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from qagen_dagster.agents.problems import alternate, classifier, converter, idea, scanner, tikz, variant
from qagen_dagster.agents.prompts import Prompt
from qagen_dagster.errors import ConfigError
from qagen_dagster.records.problems.item import Breach, Problem, QuestionKind, VariantKind


def prompt_breaches(kind: str, prompt: str) -> tuple[Breach, ...]:
    """Property 2: the scanner's prompt is that of the kind; for a kind that nobody knows, that of mcq_sc."""
    known = kind if kind in {one.value for one in QuestionKind} else scanner.FALLBACK.value
    if prompt == f"problem_scan_{known}":
        return ()
    return (Breach(property=2, detail=f"a question of kind {kind} is not scanned with the prompt {prompt}"),)


def select_range(problems: Sequence[Problem], wanted: tuple[int, int] | None) -> tuple[Problem, ...]:
    """Property 13: the problems whose index lies in [start, end], both included; all without a range.

    Raises ConfigError for a range that is none, or that holds no problem.
    """
    if wanted is None:
        return tuple(problems)
    start, end = wanted
    if start < 1 or end < start:
        raise ConfigError(f"a range is START END with 1 <= START <= END, not {start} {end}")
    chosen = tuple(one for one in problems if start <= one.index <= end)
    if not chosen:
        last = max((one.index for one in problems), default=0)
        raise ConfigError(f"there is no item {start} to {end}: the last one is {last}")
    return chosen


def output_breaches(path: str, expected: bytes, found: bytes | None) -> tuple[Breach, ...]:
    """Property 14: what was asked to be written is there."""
    if found == expected:
        return ()
    return (
        Breach(property=14, detail=f"{path} {'is missing' if found is None else 'holds something else'}"),
    )


def prompts() -> tuple[Prompt, ...]:
    """Property 15: the prompt of every role and kind, each with a system and a user part.

    Raises ConfigError that names the file that has not both.
    """
    return (
        classifier.prompt(),
        *(scanner.prompt_for(kind.value) for kind in QuestionKind),
        tikz.prompt(),
        idea.prompt(),
        alternate.prompt(),
        *(variant.prompt_for(kind) for kind in VariantKind),
        converter.prompt(),
    )


def problem_prompt_hashes() -> dict[str, str]:
    """All prompts of the seven roles, with their hashes."""
    return {prompt.name: prompt.hash for prompt in prompts()}
