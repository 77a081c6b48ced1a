"""`qagen tikz`: a diagram as TikZ code."""

from __future__ import annotations

import click

from qagen_dagster.cli.problems.command_runner import carry_out, give
from qagen_dagster.cli.problems.options import (
    Request,
    image_option,
    output_option,
    read_problems,
    reference_option,
    request_options,
)
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.problems.sources import described
from qagen_dagster.loop.problems.state_machine import Wishes
from qagen_dagster.records.problems.item import Problem, TikzResult
from qagen_dagster.records.problems.result import Stage


@click.command()
@image_option
@click.option("-d", "--description", help="Description of the diagram in words.")
@reference_option
@output_option
@request_options
def tikz(request: Request, description: str | None) -> int:
    """Draw a diagram in TikZ from an image or a description.

    The model can look up TikZ syntax in the reference folders. A missing folder or an unreadable file is reported
    and skipped.

    \b
    Examples:
      qagen tikz -i diagram.png --ref refs/tikz/ -o diagram.tex
      qagen tikz -d "A block on an incline of 30 degrees, pulled upwards by a force F" -o incline.tex
    """
    done = carry_out(request, _diagram(request, description), Wishes(stages=(Stage.DIAGRAM,)))
    return give(request, done, [_code(one.tikz) for one in done.records if one.tikz is not None])


def _diagram(request: Request, description: str | None) -> tuple[Problem, ...]:
    words = (description or "").strip()
    if request.image is None:
        if not words:
            raise ConfigError("say what to draw: give an image (-i) or a description (-d)")
        return (described(words),)
    found = read_problems(request.space, request.image, tex=False)
    return tuple(one.model_copy(update={"tex": words}) for one in found) if description else found


def _code(drawn: TikzResult) -> str:
    """The code, preceded by comments that name the packages and libraries to load."""
    packages = [one for one in drawn.libraries if one in ("circuitikz", "pgfplots")]
    libraries = [one for one in drawn.libraries if one not in packages]
    head = [f"% \\usepackage{{{one}}}" for one in packages]
    head += [f"% \\usetikzlibrary{{{','.join(libraries)}}}"] if libraries else []
    return "\n".join((*head, drawn.tikz_code.strip()))
