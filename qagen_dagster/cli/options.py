"""Options that several commands take, and the classes of their values."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from qagen_dagster.cli.output import folder_to_write
from qagen_dagster.errors import StoreError
from qagen_dagster.models.budget import Allowance
from qagen_dagster.records.ids import Combination, Mode
from qagen_dagster.records.questions.published import CorpusGenerationResult

if TYPE_CHECKING:
    from qagen_dagster.loop.workspace import Workspace

EnumT = TypeVar("EnumT", bound=Enum)
Command = Callable[..., Any]

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
profile_option = click.option("--profile", help="Use this profile instead of the configured one.")
target_option = click.option(
    "--target-count",
    type=click.IntRange(1, 1000),
    help="Accepted questions to reach per document. Default: the scenario's target_count.",
)


documents_option = click.option(
    "--num-documents",
    type=click.IntRange(1),
    help="Only the first N documents of each corpus, for a trial. Default: all.",
    metavar="N",
)


def folder_option(*, required: bool) -> Callable[[Command], Command]:
    """The option --output for the folder to write to."""
    return click.option(
        "--output",
        type=click.Path(path_type=Path, file_okay=False),
        callback=folder_to_write,
        required=required,
        help="Folder to write to. It is created if it does not exist.",
    )


class OneOf(click.Choice[EnumT]):
    """A member of an enum. On the command line, it is named by its value."""

    def normalize_choice(self, choice: object, ctx: click.Context | None) -> str:
        return super().normalize_choice(choice.value if isinstance(choice, Enum) else choice, ctx)


class Dollars(click.FloatRange):
    """An amount of money. Rejects `nan` and `inf`, which could not serve as a limit."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The amount. Raises click.BadParameter for a value that is not a finite amount in the range."""
        amount = super().convert(value, param, ctx)
        if not math.isfinite(amount):
            self.fail(f"{value} is not an amount of money.", param, ctx)
        return amount


class Selection(NamedTuple):
    """The corpus, the scenario and the mode of the combinations that a command is for. None means all."""

    corpus: str | None
    scenario: str | None
    mode: Mode | None

    def published(self, space: Workspace) -> list[Combination]:
        """The matching combinations that have a published set. Raises ConfigError if none matches, and StoreError if none has a set."""
        chosen = space.corpora.combinations(*self)
        found = [one for one in chosen if space.store.exists(CorpusGenerationResult.key(one))]
        if not found:
            raise StoreError("no matching set is published: `qagen run` makes it")
        return found


def combination_options(command: Command) -> Command:
    """Add --corpus, --scenario and --mode. The command gets their values as `chosen`."""

    @functools.wraps(command)
    def start(*values: Any, corpus: str | None, scenario: str | None, mode: Mode | None, **named: Any) -> Any:
        return command(*values, chosen=Selection(corpus, scenario, mode), **named)

    return with_options(
        start,
        click.option("--corpus", help="Only this corpus. Default: all."),
        click.option("--scenario", help="Only this scenario. Default: all."),
        click.option("--mode", type=OneOf(Mode), help="Only this mode. Default: both."),
    )


class Models(NamedTuple):
    """The profile of the command line (None: the configured profile), and its limits of spending (None: the profile's limits)."""

    profile: str | None
    budget: Allowance | None

    @property
    def fields(self) -> dict[str, Any]:
        """The values as fields of the configuration of an asset. Options that were not given are left out."""
        limits = {} if self.budget is None else self.budget.model_dump(exclude_none=True)
        return limits if self.profile is None else {"profile": self.profile, **limits}


def model_options(command: Command) -> Command:
    """Add --max-usd, --max-tokens, --max-calls and --profile. The command gets their values as `models`."""

    @functools.wraps(command)
    def start(
        *values: Any,
        max_usd: float | None,
        max_tokens: int | None,
        max_calls: int | None,
        profile: str | None,
        **named: Any,
    ) -> Any:
        budget = Allowance(max_usd=max_usd, max_tokens=max_tokens, max_calls=max_calls)
        return command(*values, models=Models(profile, budget.limits), **named)

    return with_options(
        start,
        click.option(
            "--max-usd",
            type=Dollars(0),
            help="Spend at most this many US dollars. Default: the profile's budget.",
        ),
        click.option(
            "--max-tokens",
            type=click.IntRange(0),
            help="Pay for at most this many tokens, input and output together. Default: the profile's budget.",
        ),
        click.option(
            "--max-calls",
            type=click.IntRange(0),
            help="Make at most this many paid model calls. Default: the profile's budget.",
        ),
        profile_option,
    )


def with_options(command: Command, *options: Callable[[Command], Command]) -> Command:
    """The command with `options`, which --help lists in this order."""
    for option in reversed(options):
        command = option(command)
    return command
