"""`qagen alternate`: other ways to the same answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import click
from pydantic import ValidationError

from qagen_dagster.cli.problems.options import (
    FILE,
    name_of,
    output_option,
    problem_options,
    range_option,
    read_input,
    run_options,
    tex_option,
)
from qagen_dagster.cli.problems.work import Order, carry_out, check_output, give
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.problems.state_machine import Wishes
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.problems.config import MOST_VARIANTS
from qagen_dagster.records.problems.item import IdeaResult, Problem
from qagen_dagster.records.problems.result import Stage
from qagen_dagster.settings import Settings


@click.command()
@tex_option
@click.option("--ideas", "ideas_file", type=FILE, help="Ideas as JSON, from `qagen idea`.")
@click.option(
    "-n", "--count", type=click.IntRange(1, MOST_VARIANTS), default=1, show_default=True, help="How many."
)
@range_option
@output_option
@run_options
@click.pass_obj
def alternate(
    settings: Settings,
    tex: Path | None,
    ideas_file: Path | None,
    count: int,
    item_range: tuple[int, int] | None,
    output: Path | None,
    as_json: bool,
    **wished: Any,
) -> int:
    """Solve a problem in other ways, to the same answer.

    \b
    Example:
      qagen alternate -t problem.tex --ideas ideas.json -n 2 -o alt.tex
    """
    check_output(output)
    space = Workspace(settings)
    problems = read_input(space, None, tex, item_range)
    stages: tuple[Stage, ...] = (Stage.SCAN, Stage.ALTERNATE)
    if ideas_file is not None:
        problems, stages = _with_ideas(problems, ideas_file), (Stage.SCAN, Stage.IDEA, Stage.ALTERNATE)
    wishes = Wishes(stages=stages, alternates=count)
    done = carry_out(
        space, Order(name_of(problems), problems, wishes, problem_options(wished), quiet=as_json)
    )
    found = [other.solution for one in done.records for other in one.alternates]
    return give(done, found, output, as_json=as_json)


def _with_ideas(problems: tuple[Problem, ...], file: Path) -> tuple[Problem, ...]:
    """The problems with the ideas of a file: one object is of all, of a list each is of its item."""
    if not file.is_file():
        raise ConfigError(f"there is no file {file}")
    try:
        value = json.loads(file.read_bytes())
        if isinstance(value, list):
            rows = [cast("dict[str, Any]", one) for one in cast("list[object]", value)]
            known = {
                row.pop("item", place): IdeaResult.model_validate(row) for place, row in enumerate(rows, 1)
            }
        else:
            one = IdeaResult.model_validate(value)
            known = {problem.index: one for problem in problems}
    except (ValueError, ValidationError, AttributeError) as error:
        said = "no JSON" if isinstance(error, json.JSONDecodeError) else "not what `qagen idea` writes"
        raise ConfigError(f"{file}: {said}") from None
    return tuple(one.model_copy(update={"ideas": known.get(one.index)}) for one in problems)
