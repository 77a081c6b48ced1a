"""Prints and writes the output of commands: text, JSON, lines on stderr, files. Control characters are printed as escapes."""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
from pydantic_core import to_jsonable_python
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from qagen_dagster.cli.echo import echo
from qagen_dagster.errors import ConfigError
from qagen_dagster.records.text import visible
from qagen_dagster.settings import has_columns
from qagen_dagster.store import Store

_WIDE = 1000  # columns
OUTPUT = click.Path(path_type=Path, dir_okay=False)


class Terminal(Console):
    """A console that shows control characters in text as escapes. In a file or a pipe, lines are wide, so that names stay whole."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        if not self.is_terminal and not has_columns() and "width" not in options:
            self.width = _WIDE

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for piece in super().render(renderable, options):
            yield piece if piece.control else piece._replace(text=visible(piece.text))


def slashed(key: str) -> str:
    """The key of a combination. On a console narrower than _WIDE, each slash ends a line, so that each part fits into its column."""
    return key.replace("/", "/\n") if Terminal().width < _WIDE else key


def money(value: float) -> str:
    """US dollars of an estimate: cents for zero and from one dollar on, else four decimals."""
    return f"${value:,.2f}" if value >= 1 or not value else f"${value:.4f}"


def exact_money(usd: float | None) -> str:
    """US dollars that were paid, with four decimals; None: a price is unknown."""
    return "unknown" if usd is None else f"${usd:.4f}"


def print_json(value: object) -> None:
    echo(as_json_text(value))


def as_json_text(value: object) -> str:
    return json.dumps(to_jsonable_python(value), indent=2, ensure_ascii=False)


def warn(warnings: Iterable[object]) -> None:
    """Print a line on stderr for each warning."""
    for warning in warnings:
        echo(f"qagen: warning: {warning}", err=True)


def fail(failures: Iterable[object]) -> int:
    """Print a line on stderr for each failure. Returns the exit code: 1 if there are failures, else 0."""
    code = 0
    for failure in failures:
        echo(f"qagen: error: {failure}", err=True)
        code = 1
    return code


def file_to_write(_context: click.Context, _option: click.Parameter, output: Path | None) -> Path | None:
    """Callback of an option for a file. Raises ConfigError when the path is a folder, or when its parent folder does not exist."""
    if output is not None:
        output_store(output)
    return output


def folder_to_write(_context: click.Context, _option: click.Parameter, output: Path | None) -> Path | None:
    """Callback of an option for a folder. Raises ConfigError when the folder cannot be created or written to."""
    if output is None:
        return None
    existing = next(path for path in (output.absolute(), *output.absolute().parents) if path.exists())
    if not existing.is_dir():
        raise ConfigError(f"cannot write {output}: {existing.name} is not a folder")
    if not os.access(existing, os.W_OK):
        raise ConfigError(f"cannot write {output}: no permission to write in {existing}")
    return output


def output_store(output: Path) -> Store:
    """The parent folder of the file `output` as a store. Raises ConfigError when `output` is a folder, or its parent is missing."""
    if output.is_dir():
        raise ConfigError(f"cannot write {output}: it is a folder")
    if not output.parent.is_dir():
        raise ConfigError(f"cannot write {output}: {output.parent} is not a folder")
    return Store(output.absolute().parent)


def write_output(output: Path, data: bytes) -> None:
    """Write `data` to `output` atomically. Raises ConfigError as `output_store` does, and StoreError as `Store.write_bytes` does."""
    output_store(output).write_bytes(output.name, data)
