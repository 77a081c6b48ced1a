"""`qagen classify`: what kind of question a picture or an item holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from qagen_dagster.cli.problems.options import (
    image_option,
    name_of,
    output_option,
    problem_options,
    range_option,
    read_input,
    run_options,
    tex_option,
)
from qagen_dagster.cli.problems.work import Order, as_json_text, carry_out, check_output, tell, write
from qagen_dagster.loop.problems.state_machine import Wishes
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.problems.item import ClassificationResult
from qagen_dagster.records.problems.result import Stage
from qagen_dagster.settings import Settings


@click.command()
@image_option
@tex_option
@range_option
@output_option
@run_options
@click.pass_obj
def classify(
    settings: Settings,
    image: Path | None,
    tex: Path | None,
    item_range: tuple[int, int] | None,
    output: Path | None,
    as_json: bool,
    **wished: Any,
) -> int:
    """Stage 1: find out what kind of physics question it is.

    Gives question_type, difficulty, topic, has_diagram and more; a confidence below 0.5 is flagged. One problem gives
    one JSON object, several give a list, each with its item's or page's number.

    \b
    Examples:
      qagen classify -i images/problem_1.png
      qagen classify -i images/q1.png -o classification.json
    """
    check_output(output)
    space = Workspace(settings)
    problems = read_input(space, image, tex, item_range)
    wishes = Wishes(stages=(Stage.CLASSIFY,))
    done = carry_out(
        space, Order(name_of(problems), problems, wishes, problem_options(wished), quiet=as_json)
    )
    values = [
        ({} if len(problems) == 1 else {"item": one.problem.index}) | _fields(one.classification)
        for one in done.records
        if one.classification is not None
    ]
    text = as_json_text(values[0] if len(problems) == 1 and values else values)
    if output is not None and values:
        write(output, f"{text}\n".encode())
    if as_json:
        click.echo(text)
    elif output is None:
        for record in done.records:
            if record.classification is not None:
                click.echo(f"{record.id}: {_line(record.classification)}")
    return tell(done)


def _fields(found: ClassificationResult) -> dict[str, Any]:
    return found.model_dump(mode="json") | {"flagged": found.flagged}


def _line(found: ClassificationResult) -> str:
    parts = [
        found.question_type.value,
        found.difficulty.value,
        f"{found.topic} ({found.subtopic})" if found.subtopic else found.topic,
        f"diagram: {found.diagram_type.value}" if found.has_diagram else "no diagram",
    ]
    parts += [f"{found.num_options} options"] if found.num_options else []
    unsure = ", unsure" if found.flagged else ""
    return f"{', '.join(parts)}, confidence {found.confidence:g}{unsure}"
