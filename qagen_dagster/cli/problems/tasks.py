"""The commands that do one task on problems of a file: `qagen classify`, `scan`, `tikz`, `idea`, `alternate`, `variant` and `convert`."""

import json
from pathlib import Path
from typing import Any, cast

import click
from pydantic import ValidationError

from qagen_dagster.cli.echo import echo
from qagen_dagster.cli.options import OneOf
from qagen_dagster.cli.output import print_json
from qagen_dagster.cli.problems.command_runner import (
    FILE,
    FORMATS,
    Request,
    carry_out,
    count_option,
    give,
    image_option,
    json_record,
    output_option,
    range_option,
    read_problems,
    reference_option,
    request_options,
    tell,
    tex_option,
    write_rows,
)
from qagen_dagster.errors import ConfigError, TooLargeError
from qagen_dagster.loop.problems.sources import MOST_TEX_BYTES, combined, described
from qagen_dagster.loop.problems.state_machine import Wishes
from qagen_dagster.records.ids import fingerprint
from qagen_dagster.records.problems.result import Stage
from qagen_dagster.records.problems.submissions import (
    ClassificationResult,
    Format,
    IdeaResult,
    Problem,
    QuestionKind,
    TikzResult,
    VariantKind,
)
from qagen_dagster.untrusted_file import read_file

MOST_PARTS = 8


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
    found = [(record, record.classification) for record in done.records if record.classification]
    rows = [(record, made.model_dump(mode="json") | {"flagged": made.flagged}) for record, made in found]
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


@click.command()
@image_option
@tex_option
@click.option("--type", "kind", type=OneOf(QuestionKind), help="Kind of problem. Default: classify it first.")
@range_option
@output_option
@request_options
def scan(request: Request, kind: QuestionKind | None) -> int:
    """Transcribe problems to LaTeX (stage 2 of the pipeline).

    The LaTeX of a problem runs from \\item to \\end{solution}. A TeX item that is already complete is copied unchanged.

    \b
    Examples:
      qagen scan -i images/q1.png -o output.tex
      qagen scan -i images/q1.png --type mcq_sc
    """
    stages = (Stage.SCAN,) if kind else (Stage.CLASSIFY, Stage.SCAN)
    done = carry_out(request, request.problems(kind), Wishes(stages=stages))
    scanned = [
        task.scan.latex for record in done.records for task in record.tasks if task.scan and task.end.ok
    ]
    return give(request, done, scanned)


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
    return give(request, done, [_code(record.tikz) for record in done.records if record.tikz])


def _diagram(request: Request, description: str | None) -> tuple[Problem, ...]:
    words = (description or "").strip()
    if request.image is None:
        if not words:
            raise ConfigError("say what to draw: give an image (-i) or a description (-d)")
        return (described(words),)
    found = read_problems(request.space, request.image, tex=False)
    return tuple(problem.model_copy(update={"tex": words}) for problem in found) if description else found


def _code(drawn: TikzResult) -> str:
    """The TikZ code, after comments that name the packages and libraries to load."""
    packages = [library for library in drawn.libraries if library in ("circuitikz", "pgfplots")]
    libraries = [library for library in drawn.libraries if library not in packages]
    head = [f"% \\usepackage{{{package}}}" for package in packages]
    head += [f"% \\usetikzlibrary{{{','.join(libraries)}}}"] if libraries else []
    return "\n".join((*head, drawn.tikz_code.strip()))


@click.command()
@tex_option
@range_option
@output_option
@request_options
def idea(request: Request) -> int:
    """Extract concepts, formulas and techniques of problems.

    The file must contain the solutions, too. The JSON is one object for one problem. For several problems it is a list in
    which every entry has its item number.

    \b
    Example:
      qagen idea -t problem.tex -o ideas.json
    """
    done = carry_out(request, request.problems(), Wishes(stages=(Stage.SCAN, Stage.IDEA)))
    rows = [(record, record.ideas.model_dump(mode="json")) for record in done.records if record.ideas]
    text = write_rows(request, done, rows)
    if request.as_json:
        print_json(json_record(done.records, done.errors, done.warnings))
    elif request.output is None and rows:
        echo(text)
    return tell(done.warnings, done.errors)


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
    return give(request, done, [other.solution for record in done.records for other in record.alternates])


def _with_ideas(problems: tuple[Problem, ...], file: Path) -> tuple[Problem, ...]:
    """The problems with the ideas of a file: one JSON object for all problems, or a list with an object for each. Raises ConfigError."""
    if not file.is_file():
        raise ConfigError(f"there is no file {file}")
    try:
        value = json.loads(read_file(file, MOST_TEX_BYTES))
        if isinstance(value, list):
            rows = [cast("dict[str, Any]", row) for row in cast("list[object]", value)]
            known = {
                row.pop("item", place): IdeaResult.model_validate(row) for place, row in enumerate(rows, 1)
            }
        else:
            ideas = IdeaResult.model_validate(value)
            known = {problem.index: ideas for problem in problems}
    except TooLargeError as error:
        raise ConfigError(str(error), file=file) from None
    except (ValueError, ValidationError, AttributeError, RecursionError) as error:
        fault = "is not JSON" if isinstance(error, json.JSONDecodeError) else "is not from `qagen idea -o`"
        raise ConfigError(fault, file=file) from None
    return tuple(problem.model_copy(update={"ideas": known.get(problem.index)}) for problem in problems)


@click.command()
@image_option
@tex_option
@click.option(
    "--type", "kind", required=True, type=OneOf(VariantKind), help="What a variant changes; see above."
)
@range_option
@count_option("variants of each problem")
@click.option(
    "--context",
    "contexts",
    multiple=True,
    type=FILE,
    help="Only for multi: a TeX file to combine. Can be repeated.",
)
@click.option("--style", default="", help="Only for multi: the wanted style of the new problem, in words.")
@output_option
@request_options
def variant(request: Request, kind: VariantKind, count: int, contexts: tuple[Path, ...], style: str) -> int:
    """Make variants of problems.

    \b
    numerical   only the numbers change
    context     the scene changes, the numbers stay the same
    conceptual  the physics concept changes
    calculus    a constant quantity becomes a variable one
    multi       several problems are combined into one
    \b
    Examples:
      qagen variant -t problem.tex --type numerical -n 3 -o variants.tex
      qagen variant -t problems.tex --type context -r 2 4 -o variants.tex
      qagen variant --type multi --context p1.tex --context p2.tex -o combined.tex
    """
    name = None
    if kind is VariantKind.MULTI:
        problems = _combined(request, contexts, style)
        stages: tuple[Stage, ...] = (Stage.VARIANT,)
        name = f"files-{fingerprint([problems[0].source_path])[:16]}"
    elif contexts or style:
        raise ConfigError("--context and --style need --type multi")
    else:
        problems, stages = request.problems(), request.stages(Stage.VARIANT)
    done = carry_out(
        request, problems, Wishes(stages=stages, variants=(kind,), variants_each=count), name=name
    )
    return give(request, done, [latex for record in done.records for latex in record.variants.values()])


def _combined(request: Request, contexts: tuple[Path, ...], style: str) -> tuple[Problem, ...]:
    """One problem that combines all items of the files. Raises ConfigError unless there are 2 to MOST_PARTS items in TeX files."""
    if request.image or (request.item_range and not request.tex):
        raise ConfigError("--type multi combines TeX files (-t, --context); -r applies to the file of -t")
    first = [] if request.tex is None else [(request.tex, request.item_range)]
    files = [*first, *((file, None) for file in contexts)]
    parts = [
        part.tex for file, wanted in files for part in read_problems(request.space, file, wanted, tex=True)
    ]
    if not 2 <= len(parts) <= MOST_PARTS:
        raise ConfigError(
            f"--type multi combines 2 to {MOST_PARTS} problems (-t, --context), but {len(parts)} are given"
        )
    return (combined("combined", ", ".join(str(file) for file, _ in files), parts, style),)


@click.command()
@image_option
@tex_option
@click.option("--from", "source", required=True, type=FORMATS, help="Format that the problem has now.")
@click.option("--to", "target", required=True, type=FORMATS, help="Format to convert it to.")
@range_option
@output_option
@request_options
def convert(request: Request, source: Format, target: Format) -> int:
    """Convert problems to another format with the same answer.

    \b
    Examples:
      qagen convert -t mcq.tex --from mcq_sc --to subjective -o subjective.tex
      qagen convert -t subjective.tex --from subjective --to mcq_sc -o mcq.tex
      qagen convert -t mcq.tex --from mcq_sc --to integer -o integer.tex
    """
    if source is target:
        raise ConfigError(f"--from and --to are both {source.value}")
    problems = tuple(problem.model_copy(update={"source_format": source}) for problem in request.problems())
    wishes = Wishes(stages=request.stages(Stage.CONVERT), conversions=(target,))
    done = carry_out(request, problems, wishes)
    return give(request, done, [latex for record in done.records for latex in record.conversions.values()])
