"""Options of the commands for physics problems, and how they become problems. What is done with them is `work.py`'s."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from qagen_dagster.cli.options import budget_options, json_option, profile_option
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.problems.plan import ProblemOptions
from qagen_dagster.loop.problems.sources import Named, Range, read_file
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import Allowance
from qagen_dagster.records.ids import fingerprint
from qagen_dagster.records.problems.item import Format, Problem, QuestionKind, VariantKind

FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path)  # of references: one that is missing is told and left out
image_option = click.option("-i", "--image", type=FILE, help="Picture: PNG, JPEG, WebP, or pages of a PDF.")
tex_option = click.option("-t", "--tex", type=FILE, help="TeX file; every item of it is one problem.")
output_option = click.option("-o", "--output", type=click.Path(path_type=Path), help="File to write.")
range_option = click.option(
    "-r",
    "--range",
    "item_range",
    nargs=2,
    type=int,
    metavar="START END",
    help="Only these items, both included.",
)
kind_option = click.option(
    "--type",
    "kind",
    type=click.Choice([one.value for one in QuestionKind]),
    help="Kind of question, told and not guessed.",
)
reference_option = click.option(
    "--ref", "references", multiple=True, type=FOLDER, help="Folder with TikZ references (PDF, TeX, STY); several with several --ref."
)  # fmt: skip
FORMATS = click.Choice([one.value for one in Format])
VARIANTS = click.Choice([one.value for one in VariantKind])
ONE_PROBLEM_VARIANTS = click.Choice([one.value for one in VariantKind if one is not VariantKind.MULTI])


def run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Models, money and JSON, as every command of problems takes them."""
    return profile_option(budget_options(json_option(command)))


def problem_options(wished: dict[str, Any]) -> ProblemOptions:
    """Of the values that `run_options` gave."""
    budget = Allowance(
        max_usd=wished["max_usd"], max_tokens=wished["max_tokens"], max_calls=wished["max_calls"]
    )
    return ProblemOptions(profile=wished["profile"], run_budget=None if budget.unlimited else budget)


def read_input(
    space: Workspace,
    image: Path | None,
    tex: Path | None,
    wanted: Range | None = None,
    kind: str | None = None,
) -> tuple[Problem, ...]:
    """The problems of the one file that is named. Raises ConfigError for none and for two."""
    if (image is None) == (tex is None):
        raise ConfigError("name one file: an image (-i) or TeX (-t)")
    path = image or tex or Path()
    if not path.is_file():
        raise ConfigError(f"there is no file {path}")
    if tex is not None and tex.suffix.lower() != ".tex":
        raise ConfigError(f"{tex}: -t takes a .tex file; images go to -i")
    if image is not None and image.suffix.lower() == ".tex":
        raise ConfigError(
            f"{image}: TeX goes to -t; pictures are .png, .jpg, .jpeg, .webp and pages of a .pdf"
        )
    named = Named(path, str(path), wanted, QuestionKind(kind) if kind else None)
    return read_file(space, named)


def name_of(problems: tuple[Problem, ...]) -> str:
    """Under what the work on files is kept: the same for the same files, so that a command goes on where it stopped."""
    files = sorted({one.source_path.partition("#")[0] for one in problems})
    return f"files-{fingerprint([str(Path(one).resolve()) for one in files])[:16]}"


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
