"""Shared code of the commands for physics problems: options, the work with a progress bar, printing and writing results."""

import functools
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import click

from qagen_dagster.cli.echo import echo
from qagen_dagster.cli.graph import Progress
from qagen_dagster.cli.options import Command, Models, OneOf, json_option, model_options
from qagen_dagster.cli.output import (
    Terminal,
    as_json_text,
    fail,
    file_to_write,
    output_store,
    print_json,
    warn,
)
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.problems.code_checks import output_breaches, select_range
from qagen_dagster.loop.problems.inputs import engine_compiler, find_references
from qagen_dagster.loop.problems.plan import ProblemOptions, SetPlan, plan_set, vision_fault
from qagen_dagster.loop.problems.run_set import failures, gather_record, refusals, run_stages
from qagen_dagster.loop.problems.sources import PDF, Named, Range, beyond, read_file
from qagen_dagster.loop.problems.state_machine import Wishes
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.ids import fingerprint
from qagen_dagster.records.problems.config import MOST_VARIANTS
from qagen_dagster.records.problems.result import ProblemRecord, Stage, TaskResult
from qagen_dagster.records.problems.submissions import Format, Problem, QuestionKind
from qagen_dagster.settings import Settings

FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path)  # may be missing: a missing folder of references is only a warning
FORMATS = OneOf(Format)

image_option = click.option(
    "-i", "--image", type=FILE, help="Image file: PNG, JPEG, WebP, or a PDF whose pages are one problem each."
)
tex_option = click.option("-t", "--tex", type=FILE, help="TeX file. Each \\item is one problem.")
output_option = click.option(
    "-o",
    "--output",
    type=FOLDER,
    callback=file_to_write,
    help="File to write. Default: print to the terminal.",
)
range_option = click.option(
    "-r",
    "--range",
    "item_range",
    nargs=2,
    type=int,
    metavar="START END",
    help="Only the items or pages from START to END, counted from 1; with -i, `process` counts the problems on the pages. "
    "Default: all.",
)
reference_option = click.option(
    "--ref",
    "references",
    multiple=True,
    type=FOLDER,
    help="Folder with TikZ references (PDF, TeX, STY). Can be repeated.",
)
_MANY = 3  # a message that at least this number of problems share is printed once


def count_option(what: str) -> Any:
    """The option --count for the number of `what` to make."""
    return click.option(
        "-n",
        "--count",
        type=click.IntRange(1, MOST_VARIANTS),
        default=1,
        show_default=True,
        help=f"Number of {what}.",
    )


@dataclass(frozen=True)
class Request:
    """The values of the options that these commands share. If a command lacks an option, its field has the default value."""

    space: Workspace
    options: ProblemOptions
    as_json: bool
    output: Path | None
    image: Path | None = None
    tex: Path | None = None
    item_range: Range | None = None
    references: tuple[Path, ...] = ()

    def problems(self, kind: QuestionKind | None = None) -> tuple[Problem, ...]:
        """The problems of the given file. Raises ConfigError unless exactly one file is given."""
        if (self.image is None) == (self.tex is None):
            raise ConfigError("give exactly one file: an image (-i) or TeX (-t)")
        path = self.image or self.tex or Path()
        return read_problems(self.space, path, self.item_range, kind, tex=self.image is None)

    def stages(self, last: Stage) -> tuple[Stage, ...]:
        """The stages up to `last`. Images are classified first, TeX is not."""
        return (Stage.SCAN, last) if self.tex else (Stage.CLASSIFY, Stage.SCAN, last)


def read_problems(
    space: Workspace, path: Path, wanted: Range | None = None, kind: QuestionKind | None = None, *, tex: bool
) -> tuple[Problem, ...]:
    """The problems of one file of TeX or images. Raises ConfigError for a missing file, a wrong kind of file, and a wrong range."""
    check_kind(path, tex=tex)
    if wanted is None or path.suffix.lower() == PDF:
        return read_file(space, Named(path, str(path), wanted, kind))
    found = read_file(space, Named(path, str(path), None, kind))
    if wanted[1] > len(found):
        raise beyond(path, len(found), wanted)
    return select_range(found, wanted)


def check_kind(path: Path, *, tex: bool) -> None:
    """Raise ConfigError for a missing file, and for the wrong kind of file."""
    if not path.is_file():
        raise ConfigError(f"{path} is not a regular file" if path.exists() else f"there is no file {path}")
    if tex != (path.suffix.lower() == ".tex"):
        raise ConfigError(f"{path}: -t takes .tex files, -i takes .png, .jpg, .jpeg, .webp and .pdf files")


_SHARED = {field.name for field in fields(Request)}


def request_options(command: Command) -> Command:
    """Add the options of models and --json. The command gets its shared options as one Request, and its other options by name."""

    @functools.wraps(command)
    def start(settings: Settings, *, models: Models, **values: Any) -> int:
        shared = {name: values.pop(name) for name in _SHARED & values.keys()}
        options = ProblemOptions(**models.fields)
        return command(Request(Workspace(settings), options, **shared), **values)

    return model_options(json_option(click.pass_obj(start)))


class SpreadCommand(click.Command):
    """A command whose `--variants` takes all words up to the next option: `--variants numerical context`."""

    spread = "--variants"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _spread(args, self.spread))


def _spread(words: list[str], option: str) -> list[str]:
    found: list[str] = []
    open_ = False
    for word in words:
        if word == option:
            open_ = True
        elif word.startswith("-"):
            open_ = False
            found.append(word)
        elif open_:
            found += [part for value in word.split(",") if value for part in (option, value)]
        else:
            found.append(word)
    return found


@dataclass(frozen=True)
class Done:
    """The records of the problems, and one line for each error and warning."""

    plan: SetPlan
    records: tuple[ProblemRecord, ...]
    errors: tuple[str, ...]
    warnings: tuple[str, ...]


def carry_out(
    request: Request,
    problems: tuple[Problem, ...],
    wishes: Wishes,
    *,
    name: str | None = None,
    everything: bool = False,
    run_id: str | None = None,
) -> Done:
    """Work on the problems. With `everything`, a task that does not suit a problem is only a warning, not an error.

    Raises ConfigError, before any work, when a role has no model, or a model that cannot read the images that the role needs.
    """
    space = request.space
    references, notes = find_references(space, request.references)
    plan = plan_set(
        space,
        name or name_of(problems),
        problems,
        wishes,
        request.options,
        compiler=engine_compiler(),
        references=references,
    )
    blind = next((fault for problem in problems if (fault := vision_fault(plan, problem))), "")
    if blind:
        raise ConfigError(blind)
    ids = [problem.id for problem in problems]
    with Progress(Terminal(stderr=True), quiet=request.as_json) as progress:
        progress.begin(len(ids))
        progress.say(f"{len(ids)} problems")

        def step(_done: int, _total: int, note: str) -> None:
            progress.step(note)
            progress.done()

        outcome = run_stages(space, plan, ids, wishes.stages, run_id or f"cli-{uuid.uuid4().hex[:12]}", step)
    records = tuple(gather_record(space, plan, problem) for problem in problems)
    stops = [f"{name}: {why}" for name, why in outcome.failed.items()]
    stops += [f"{name}: the budget is spent; run the same command to resume" for name in outcome.stopped]
    errors, warnings = sorted_out(records, everything=everything)
    return Done(plan, records, (*stops, *errors), (*notes, *warnings))


def name_of(problems: tuple[Problem, ...]) -> str:
    """The name under which the store keeps the work on the files of `problems`. It depends only on their paths, so a repetition resumes."""
    return name_of_files({problem.source_path.partition("#")[0] for problem in problems})


def name_of_files(paths: Iterable[str]) -> str:
    """As `name_of`, from the paths of the files."""
    files = sorted(paths)
    return f"files-{fingerprint([str(Path(file).resolve()) for file in files])[:16]}"


def sorted_out(records: Sequence[ProblemRecord], *, everything: bool) -> tuple[list[str], list[str]]:
    """The lines of errors, and the lines of warnings. With `everything`, a task that does not suit its problem is only a warning."""
    refused = {line for record in records for line in refusals(record)} if everything else set[str]()
    failed = [line for record in records for line in failures(record)]
    warned = [f"{record.id}: {line}" for record in records for task in record.tasks for line in task.warnings]
    warned += [line for line in failed if line in refused]
    return [line for line in failed if line not in refused], warned


def tell(warnings: Sequence[str], errors: Sequence[str]) -> int:
    """Print each line once on stderr. A message that many problems share is one line, which names one problem. Returns the exit code."""
    warn(_gathered(" ".join(line.split()) for line in warnings))
    return fail(_gathered(" ".join(line.split()) for line in errors))


def _gathered(lines: Iterable[str]) -> Iterator[str]:
    problems: dict[str, list[str]] = {}  # by message
    for line in dict.fromkeys(lines):
        problem, _, message = line.partition(": ")
        problems.setdefault(message, []).append(problem)
    for message, several in problems.items():
        if len(several) >= _MANY:
            yield f"{several[0]} and {len(several) - 1} more: {message}"
        else:
            yield from (f"{problem}: {message}" if message else problem for problem in several)


def keep_raw_texts(request: Request, done: Done, folder: Path, before: str = "") -> None:
    """For each failed task with a text of the model, write the reason and this text to `<problem>-<task>.rejected.txt`.

    For other tasks, such a file of an earlier run is removed. `before` is the beginning of the names of files.
    """
    for record in done.records:
        for task in record.tasks:
            file = folder / f"{before}{record.id}-{task.task.key}.rejected.txt"
            key = TaskResult.key(done.plan.name, record.id, task.task.key, task.fingerprint or "none")
            found = None if task.end.ok else request.space.store.find_valid(key, TaskResult)
            if found is not None and found.raw:
                write(file, f"{found.end.value}: {found.detail}\n\n{found.raw}\n".encode())
            else:
                file.unlink(missing_ok=True)


def give(request: Request, done: Done, pieces: Sequence[str]) -> int:
    """Write the LaTeX to the output file, if any. Print the records with --json, else LaTeX that has no file. Returns the exit code."""
    text, output = "\n\n".join(piece.strip() for piece in pieces), request.output
    if text and output is not None:
        write(output, f"{text}\n".encode())
    if output is not None:
        keep_raw_texts(request, done, output.parent, f"{output.name}.")
    if request.as_json:
        print_json(json_record(done.records, done.errors, done.warnings))
    elif text and output is None:
        echo(text)
    elif output is not None:
        echo(f"{output}: {len(pieces)} written" if text else f"{output}: nothing to write", err=True)
    return tell(done.warnings, done.errors)


def write_rows(request: Request, done: Done, rows: Sequence[tuple[ProblemRecord, dict[str, Any]]]) -> str:
    """The rows as JSON: one object for one problem, else a list of objects with item numbers. They also go to the output file, if any."""
    if len(done.records) == 1 and rows:
        text = as_json_text(rows[0][1])
    else:
        text = as_json_text([{"item": record.problem.index, **row} for record, row in rows])
    if request.output is not None and rows:
        write(request.output, f"{text}\n".encode())
    return text


def json_record(
    records: Sequence[ProblemRecord], errors: Sequence[str], warnings: Sequence[str]
) -> dict[str, object]:
    """The value that --json prints."""
    rows = [record.model_dump(mode="json") for record in records]
    return {"ok": not errors, "failures": list(errors), "warnings": list(warnings), "problems": rows}


def write(output: Path, data: bytes) -> None:
    """Write a file atomically, and check that it has the content `data`. Raises ConfigError if not, and as `output_store` does."""
    store = output_store(output)
    store.write_bytes(output.name, data)
    broken = output_breaches(str(output), data, store.get(output.name))
    if broken:
        raise ConfigError(str(broken[0]))
