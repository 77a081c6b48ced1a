"""Combinations of problems, and pictures of items."""

from __future__ import annotations

from pathlib import Path

import pytest

from qagen_dagster.loop.figures import rendering
from qagen_dagster.loop.problems.bank import combined, told_bank, whole_item
from qagen_dagster.loop.problems.inputs import with_diagram
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.problems.result import (
    Compiled,
    CompileOutcome,
    ProblemBank,
    ProblemEnd,
    ProblemRecord,
    Stage,
    Task,
    TaskEnd,
    TaskResult,
)
from qagen_dagster.records.problems.submissions import DIAGRAM_MARK, TikzResult
from qagen_dagster.settings import load_settings
from tests.support.problems.play import TIKZ, item, mcq, typed

CODE = TIKZ["tikz_code"]


def record(
    name: str,
    latex: str,
    *,
    drawn: bool = False,
    scanned: TaskEnd = TaskEnd.GIVEN,
    stages: tuple[Stage, ...] = (Stage.SCAN, Stage.DIAGRAM),
) -> ProblemRecord:
    tikz = TikzResult.model_validate(TIKZ) if drawn else None
    ends = {Stage.SCAN: scanned, Stage.DIAGRAM: TaskEnd.SKIPPED}
    return ProblemRecord(
        id=name,
        end=ProblemEnd.UNFINISHED,
        problem=typed(latex),
        latex=latex,
        tikz=tikz,
        tasks=tuple(TaskResult(task=Task(stage=one), end=ends[one]) for one in stages),
    )


@pytest.mark.parametrize(
    ("outcome", "latex", "told"),
    [
        (CompileOutcome.COMPILED, item(), "2 of 2 problems accepted"),
        (CompileOutcome.NOT_COMPILED, item(), "2 of 2 problems accepted"),
        (CompileOutcome.FAILED, item(), "1 of 2 problems accepted (1 not counted: a does not compile)"),
        (
            CompileOutcome.COMPILED,
            item() + r"\begin{@@input}/etc/passwd ",
            "1 of 2 problems accepted (1 not counted: a is left out of the TeX project)",
        ),
    ],
)
def test_problems_that_cannot_be_used_are_not_counted(outcome: CompileOutcome, latex: str, told: str) -> None:
    made = {"end": ProblemEnd.ACCEPTED, "compiled": Compiled(outcome=outcome)}
    good = {"end": ProblemEnd.ACCEPTED}
    problems = (record("a", latex).model_copy(update=made), record("b", mcq()).model_copy(update=good))
    assert told_bank(ProblemBank(name="n", title="t", problems=problems)) == told


def test_groups_become_problems_of_their_parts() -> None:
    records = {"a": record("a", item(), drawn=True), "b": record("b", mcq()), "c": record("c", "")}
    (one,), missing = combined([("a", "b"), ("a", "c"), ("b", "x")], "short", records)
    assert (one.id, one.source_path, one.style) == ("multi-1", "a + b", "short")
    assert one.parts == (whole_item(records["a"]), mcq())
    assert CODE in one.parts[0]
    assert missing == ["multi-2: there is no finished item of c", "multi-3: there is no finished item of x"]


def test_what_was_rejected_or_is_not_drawn_yet_is_part_of_nothing() -> None:
    records = {
        "good": record("good", item()),
        "rejected": record("rejected", item(3, 4), scanned=TaskEnd.REJECTED),
        "undrawn": record("undrawn", item(4, 5), stages=(Stage.SCAN,)),
    }
    problems, missing = combined([("good", "rejected"), ("good", "undrawn")], "", records)
    assert problems == []
    assert [line.rpartition(" ")[2] for line in missing] == ["rejected", "undrawn"]


def test_a_diagram_stands_at_its_mark_else_before_what_follows() -> None:
    marked = item().replace("\n\\begin{solution}", f"\n {DIAGRAM_MARK} \nWhy?\n\\begin{{solution}}")
    placed = with_diagram(marked, CODE)
    assert DIAGRAM_MARK not in placed
    assert placed.index(CODE) < placed.index("Why?")
    assert with_diagram(mcq(), CODE).index(CODE) < mcq().index("\\begin{tasks}") + len(CODE)
    assert with_diagram(item(), CODE).index("\\begin{solution}") > with_diagram(item(), CODE).index(CODE)
    assert with_diagram(placed, CODE) == placed, "never twice"
    assert with_diagram(item(), " ") == item()


@pytest.mark.parametrize(("latex", "ran"), [(item(), True), (item() + r"\begin{@@input}/etc/passwd ", False)])
def test_only_allowed_items_are_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, latex: str, ran: bool
) -> None:
    script = tmp_path / "pdflatex"
    script.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo TeX && exit\n: > {tmp_path}/ran\nexit 1\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert rendering(Workspace(load_settings({})), latex, "", ()) is None
    assert (tmp_path / "ran").exists() == ran
