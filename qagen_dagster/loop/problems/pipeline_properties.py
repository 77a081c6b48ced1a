"""The properties of the pipeline itself: which prompt is used, which items are selected, what is written.

These are properties 2, 13, 14 and 15. The properties of outputs are in `output_properties.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from qagen_dagster.agents.problems.roles import FALLBACK, prompts
from qagen_dagster.errors import ConfigError
from qagen_dagster.records.problems.item import (
    Breach,
    Problem,
    QuestionKind,
)


def prompt_breaches(kind: str, prompt: str) -> tuple[Breach, ...]:
    """Property 2: the scanner's prompt is that of the kind, or that of mcq_sc for an unknown kind."""
    known = kind if kind in {one.value for one in QuestionKind} else FALLBACK.value
    if prompt == f"problem_scan_{known}":
        return ()
    return (Breach(property=2, detail=f"a question of kind {kind} is not scanned with the prompt {prompt}"),)


def select_range(problems: Sequence[Problem], wanted: tuple[int, int] | None) -> tuple[Problem, ...]:
    """Property 13: the problems with an index in [start, end], both included; all problems without a range.

    Raises ConfigError for an invalid range or a range without a problem.
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
    """Property 14: every requested file is written."""
    if found == expected:
        return ()
    return (
        Breach(property=14, detail=f"{path} {'is missing' if found is None else 'holds something else'}"),
    )


def problem_prompt_hashes() -> dict[str, str]:
    """Property 15: every role and kind has a prompt, with a system and a user part. Their hashes, by name.

    Raises ConfigError, which names the file that lacks a part.
    """
    return {prompt.name: prompt.hash for prompt in prompts()}
