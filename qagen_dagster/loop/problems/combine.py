"""Combines several problems of a set into one new problem, as its author grouped them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from qagen_dagster.loop.problems.item_latex import with_diagram
from qagen_dagster.records.problems.item import Problem, ProblemInput
from qagen_dagster.records.problems.result import ProblemRecord, Stage


@dataclass(frozen=True)
class Combined:
    """The problems that can be combined, and one line for each that cannot."""

    problems: tuple[Problem, ...]
    missing: tuple[str, ...]


def whole_item(record: ProblemRecord) -> str:
    """The item with its diagram."""
    return with_diagram(record.latex, record.tikz.tikz_code if record.tikz is not None else "")


def combined(groups: Sequence[Sequence[str]], style: str, records: Mapping[str, ProblemRecord]) -> Combined:
    """One problem for each group of ids, `multi-1` and so on, if all parts are scanned and drawn."""
    problems: list[Problem] = []
    missing: list[str] = []
    for number, group in enumerate(groups, 1):
        lacking = [one for one in group if one not in records or not _whole(records[one])]
        if lacking:
            missing.append(f"multi-{number}: there is no finished item of {', '.join(lacking)}")
            continue
        problems.append(
            Problem(
                id=f"multi-{number}",
                input=ProblemInput.COMBINED,
                source_path=" + ".join(group),
                index=number,
                parts=tuple(whole_item(records[one]) for one in group),
                preamble=next((records[one].problem.preamble for one in group), ""),
                style=style,
            )
        )
    return Combined(tuple(problems), tuple(missing))


def _whole(record: ProblemRecord) -> bool:
    """Whether the item is complete, with its diagram if it has one. A rejected item is not."""
    done = {one.task.stage for one in record.tasks if one.end.ok}
    return {Stage.SCAN, Stage.DIAGRAM} <= done and bool(record.latex.strip())
