from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qagen_dagster.agents.problems.roles import prompts, scan_prompt
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.problems.properties import (
    output_breaches,
    problem_prompt_hashes,
    prompt_breaches,
    select_range,
)
from qagen_dagster.records.problems.item import Problem, QuestionKind, VariantKind
from qagen_dagster.store import Store
from tests.support.problems.play import typed

ENOUGH = settings(max_examples=120, deadline=None)
INDEX = st.integers(min_value=1, max_value=60)


def problems(count: int) -> tuple[Problem, ...]:
    return tuple(typed("x", id=f"p{index}", index=index) for index in range(1, count + 1))


@ENOUGH
@given(kind=st.sampled_from([one.value for one in QuestionKind]) | st.text(max_size=20))
def test_the_scanner_uses_the_prompt_of_the_kind(kind: str) -> None:
    """**Feature: physics-question-pipeline, Property 2: Scanner Prompt Selection**"""
    known = kind if kind in set(QuestionKind) else "mcq_sc"
    prompt = scan_prompt(kind)
    assert prompt.name == f"problem_scan_{known}"
    assert prompt_breaches(kind, prompt.name) == ()
    others = {f"problem_scan_{one.value}" for one in QuestionKind} - {prompt.name}
    assert [prompt_breaches(kind, other)[0].property for other in others] == [2] * len(others)


@ENOUGH
@given(
    count=INDEX, start=st.integers(min_value=-2, max_value=70), end=st.integers(min_value=-2, max_value=70)
)
def test_a_range_holds_both_its_ends_and_nothing_outside(count: int, start: int, end: int) -> None:
    """**Feature: physics-question-pipeline, Property 13: CLI Range Filtering**"""
    wanted = [index for index in range(1, count + 1) if start <= index <= end]
    if start < 1 or not wanted:
        with pytest.raises(ConfigError):
            select_range(problems(count), (start, end))
        return
    chosen = [one.index for one in select_range(problems(count), (start, end))]
    assert chosen == wanted


def test_without_a_range_there_is_everything() -> None:
    assert len(select_range(problems(3), None)) == 3


@ENOUGH
@given(
    data=st.binary(max_size=200),
    other=st.binary(max_size=200),
    name=st.text("abcxyz", min_size=1, max_size=12),
)
def test_what_was_to_be_written_is_there(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, other: bytes, name: str
) -> None:
    """**Feature: physics-question-pipeline, Property 14: CLI Output Persistence**"""
    root = tmp_path_factory.mktemp("out")
    assert [one.property for one in output_breaches(name, data, None)] == [14]
    Store(root).write_bytes(name, data)
    found = Path(root, name).read_bytes()
    assert output_breaches(name, data, found) == ()
    assert bool(output_breaches(name, other, found)) is (other != data)


def test_every_role_and_kind_has_a_prompt_of_two_parts() -> None:
    """**Feature: physics-question-pipeline, Property 15: Prompt File Organization**"""
    found = prompts()
    assert len(found) == len({one.name for one in found}) == 5 + len(QuestionKind) + len(VariantKind)
    assert all(one.system.strip() and one.user.strip() for one in found)
    assert set(problem_prompt_hashes()) == {one.name for one in found}
