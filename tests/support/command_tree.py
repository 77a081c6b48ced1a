"""The command with all its subcommands loaded, for tests that look at their options."""

from __future__ import annotations

import click

from qagen_dagster.cli.main import COMMANDS, cli, load_command


def whole_command() -> click.Group:
    return click.Group(cli.name, commands=[load_command(name) for name in COMMANDS], params=cli.params)
