"""Prints text. It is apart from `output.py`, whose libraries take long to load."""

import click

from qagen_dagster.records.text import visible


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print text. Control characters in it are shown, not sent."""
    click.echo(visible(text), err=err, nl=nl)
