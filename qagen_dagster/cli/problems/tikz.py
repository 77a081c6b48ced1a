"""`qagen tikz`: a diagram as TikZ code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from qagen_dagster.cli.problems.options import (
    image_option,
    name_of,
    output_option,
    problem_options,
    read_input,
    reference_option,
    run_options,
)
from qagen_dagster.cli.problems.work import Order, carry_out, check_output, give
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.problems.sources import described
from qagen_dagster.loop.problems.state_machine import Wishes
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.problems.item import Problem, TikzResult
from qagen_dagster.records.problems.result import Stage
from qagen_dagster.settings import Settings


@click.command()
@image_option
@click.option("-d", "--description", help="The diagram in words.")
@reference_option
@output_option
@run_options
@click.pass_obj
def tikz(
    settings: Settings,
    image: Path | None,
    description: str | None,
    references: tuple[Path, ...],
    output: Path | None,
    as_json: bool,
    **wished: Any,
) -> int:
    """Draw a diagram with TikZ, from a picture or from words.

    Folders of references are searched for syntax; one that is missing, or a file that cannot be read, is told and left
    out.

    \b
    Examples:
      qagen tikz -i diagram.png --ref refs/tikz/ -o diagram.tex
      qagen tikz -d "A block on an incline of 30 degrees, pulled upwards by a force F" -o incline.tex
    """
    check_output(output)
    space = Workspace(settings)
    problems = _diagram(space, image, description)
    order = Order(
        name_of(problems),
        problems,
        Wishes(stages=(Stage.DIAGRAM,)),
        problem_options(wished),
        references,
        quiet=as_json,
    )
    done = carry_out(space, order)
    drawn = [_code(one.tikz) for one in done.records if one.tikz is not None]
    return give(done, drawn, output, as_json=as_json)


def _diagram(space: Workspace, image: Path | None, description: str | None) -> tuple[Problem, ...]:
    if image is None:
        if not (description or "").strip():
            raise ConfigError("name what to draw: an image (-i) or a description (-d)")
        return (described((description or "").strip()),)
    found = read_input(space, image, None)
    if not description:
        return found
    return tuple(one.model_copy(update={"tex": description.strip()}) for one in found)


def _code(drawn: TikzResult) -> str:
    """The code behind a line that says which libraries a document must load."""
    packages = [one for one in drawn.libraries if one in ("circuitikz", "pgfplots")]
    libraries = [one for one in drawn.libraries if one not in packages]
    head = [f"% \\usepackage{{{one}}}" for one in packages]
    head += [f"% \\usetikzlibrary{{{','.join(libraries)}}}"] if libraries else []
    return "\n".join((*head, drawn.tikz_code.strip()))
