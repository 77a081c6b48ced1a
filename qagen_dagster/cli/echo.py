"""Prints text. This module is separate from `output.py`, because the libraries of `output.py` are slow to load."""

import click

from qagen_dagster.records.text import visible


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print text. Control characters in the text are shown as escapes, not sent to the terminal."""
    click.echo(visible(text), err=err, nl=nl)
