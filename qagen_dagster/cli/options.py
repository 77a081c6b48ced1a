"""Options that several commands take, and the settings they share."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click

from qagen_dagster.records.ids import Mode
from qagen_dagster.settings import Settings

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
profile_option = click.option("--profile", help="Models to use instead of the configured ones.")


def combination_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--corpus, --scenario and --mode, each narrowing the combinations."""
    modes = click.Choice([mode.value for mode in Mode])
    for option in (
        click.option("--mode", type=modes, help="Only this mode."),
        click.option("--scenario", help="Only this scenario."),
        click.option("--corpus", help="Only this corpus."),
    ):
        command = option(command)
    return command


class Dollars(click.FloatRange):
    """An amount of money: no limit of spending is "not a number" or without end."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Raises click.BadParameter."""
        amount = super().convert(value, param, ctx)
        if not math.isfinite(amount):
            self.fail(f"{value} is no amount of money.", param, ctx)
        return amount


def budget_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--max-usd, --max-tokens and --max-calls, each a limit of the whole run."""
    for option in (
        click.option("--max-calls", type=click.IntRange(0), help="Paid calls this run may make."),
        click.option("--max-tokens", type=click.IntRange(0), help="Tokens this run may pay, in and out."),
        click.option("--max-usd", type=Dollars(0), help="US dollars this run may spend."),
    ):
        command = option(command)
    return command


def mode_of(value: str | None) -> Mode | None:
    return Mode(value) if value else None


def with_profile(settings: Settings, profile: str | None) -> Settings:
    return settings if profile is None else replace(settings, profile=profile)
