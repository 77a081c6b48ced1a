"""`qagen alternate`: other solutions with the same answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import click
from pydantic import ValidationError

from qagen_dagster.cli.problems.command_runner import carry_out, give
from qagen_dagster.cli.problems.options import (
    FILE,
    Request,
    count_option,
    output_option,
    range_option,
    request_options,
    tex_option,
)
from qagen_dagster.errors import ConfigError, TooLargeError
from qagen_dagster.local_file import read_file
from qagen_dagster.loop.problems.sources import MOST_TEX_BYTES
from qagen_dagster.loop.problems.state_machine import Wishes
from qagen_dagster.records.problems.item import IdeaResult, Problem
from qagen_dagster.records.problems.result import Stage


@click.command()
@tex_option
@click.option(
    "--ideas", "ideas_file", type=FILE, help="JSON file that `qagen idea` wrote. Default: no ideas."
)
@count_option("other solutions of each problem")
@range_option
@output_option
@request_options
def alternate(request: Request, ideas_file: Path | None, count: int) -> int:
    """Solve problems by other methods that give the same answer.

    \b
    Example:
      qagen alternate -t problem.tex --ideas ideas.json -n 2 -o alt.tex
    """
    problems = request.problems()
    stages: tuple[Stage, ...] = (Stage.SCAN, Stage.ALTERNATE)
    if ideas_file is not None:
        problems, stages = _with_ideas(problems, ideas_file), (Stage.SCAN, Stage.IDEA, Stage.ALTERNATE)
    done = carry_out(request, problems, Wishes(stages=stages, alternates=count))
    return give(request, done, [other.solution for one in done.records for other in one.alternates])


def _with_ideas(problems: tuple[Problem, ...], file: Path) -> tuple[Problem, ...]:
    """The problems with the ideas of a file. One JSON object is for all problems; in a list, each has its own."""
    if not file.is_file():
        raise ConfigError(f"there is no file {file}")
    try:
        value = json.loads(read_file(file, MOST_TEX_BYTES))
        if isinstance(value, list):
            rows = [cast("dict[str, Any]", one) for one in cast("list[object]", value)]
            known = {
                row.pop("item", place): IdeaResult.model_validate(row) for place, row in enumerate(rows, 1)
            }
        else:
            one = IdeaResult.model_validate(value)
            known = {problem.index: one for problem in problems}
    except TooLargeError as error:
        raise ConfigError(str(error), file=file) from None
    except (ValueError, ValidationError, AttributeError, RecursionError) as error:
        said = "is not JSON" if isinstance(error, json.JSONDecodeError) else "was not written by `qagen idea`"
        raise ConfigError(said, file=file) from None
    return tuple(one.model_copy(update={"ideas": known.get(one.index)}) for one in problems)
