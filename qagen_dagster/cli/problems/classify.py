"""`qagen classify`: what kind of question an image or a TeX item holds."""

from __future__ import annotations

import click

from qagen_dagster.cli.echo import echo
from qagen_dagster.cli.problems.command_runner import carry_out, tell, write_rows
from qagen_dagster.cli.problems.options import (
    Request,
    image_option,
    output_option,
    range_option,
    request_options,
    tex_option,
)
from qagen_dagster.loop.problems.state_machine import Wishes
from qagen_dagster.records.problems.item import ClassificationResult
from qagen_dagster.records.problems.result import Stage


@click.command()
@image_option
@tex_option
@range_option
@output_option
@request_options
def classify(request: Request) -> int:
    """Classify physics problems (stage 1 of the pipeline).

    Gives question_type, difficulty, topic, has_diagram and more. A confidence below 0.5 is flagged. The JSON is
    one object for one problem. For several problems it is a list in which every entry has its item or page number.

    \b
    Examples:
      qagen classify -i images/problem_1.png
      qagen classify -i images/q1.png -o classification.json
    """
    done = carry_out(request, request.problems(), Wishes(stages=(Stage.CLASSIFY,)))
    found = [(one, one.classification) for one in done.records if one.classification is not None]
    rows = [(one, made.model_dump(mode="json") | {"flagged": made.flagged}) for one, made in found]
    text = write_rows(request, done, rows)
    if request.as_json:
        echo(text)
    elif request.output is None:
        for record, made in found:
            echo(f"{record.id}: {_line(made)}")
    return tell(done.warnings, done.errors)


def _line(found: ClassificationResult) -> str:
    parts = [
        found.question_type.value,
        found.difficulty.value,
        f"{found.topic} ({found.subtopic})" if found.subtopic else found.topic,
        f"diagram: {found.diagram_type.value}" if found.has_diagram else "no diagram",
    ]
    parts += [f"{found.num_options} options"] if found.num_options else []
    unsure = ", flagged as unsure" if found.flagged else ""
    return f"{', '.join(parts)}, confidence {found.confidence:g}{unsure}"
