"""Options of the commands for physics problems, and the request that they become. `command_runner.py` carries it out."""

from __future__ import annotations

import functools
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import click

from qagen_dagster.cli.options import Command, OneOf, budget_options, json_option, profile_option
from qagen_dagster.cli.output import file_to_write
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.problems.plan import ProblemOptions
from qagen_dagster.loop.problems.sources import Named, Range, read_file
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import Allowance
from qagen_dagster.records.problems.config import MOST_VARIANTS
from qagen_dagster.records.problems.item import Format, Problem, QuestionKind
from qagen_dagster.records.problems.result import Stage
from qagen_dagster.settings import Settings

FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path)  # of references: a missing one is a warning, not an error
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
    help="Only the items or pages from START to END, counted from 1. Default: all.",
)
reference_option = click.option(
    "--ref",
    "references",
    multiple=True,
    type=FOLDER,
    help="Folder with TikZ references (PDF, TeX, STY). Can be repeated.",
)


def count_option(what: str) -> Any:
    """--count, which says how many of `what` to make."""
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
    """What the options shared by these commands say. An option that a command does not have keeps its default."""

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
        """The stages up to `last`: images have to be classified, TeX does not."""
        return (Stage.SCAN, last) if self.tex else (Stage.CLASSIFY, Stage.SCAN, last)


def read_problems(
    space: Workspace, path: Path, wanted: Range | None = None, kind: QuestionKind | None = None, *, tex: bool
) -> tuple[Problem, ...]:
    """The problems of one file, of TeX or of images. Raises ConfigError for a missing file and for the wrong kind of file."""
    if not path.is_file():
        raise ConfigError(f"{path} is not a regular file" if path.exists() else f"there is no file {path}")
    if tex != (path.suffix.lower() == ".tex"):
        raise ConfigError(f"{path}: -t takes .tex files, -i takes .png, .jpg, .jpeg, .webp and .pdf files")
    return read_file(space, Named(path, str(path), wanted, kind))


_SHARED = {field.name for field in fields(Request)}


def request_options(command: Command) -> Command:
    """Adds --profile, the budget and --json. The command gets its shared options as one Request, and the others by name."""

    @functools.wraps(command)
    def start(settings: Settings, *, profile: str | None, budget: Allowance | None, **values: Any) -> int:
        shared = {name: values.pop(name) for name in _SHARED & values.keys()}
        options = ProblemOptions(profile=profile, run_budget=budget)
        return command(Request(Workspace(settings), options, **shared), **values)

    return profile_option(budget_options(json_option(click.pass_obj(start))))


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
            found += [part for one in word.split(",") if one for part in (option, one)]
        else:
            found.append(word)
    return found
