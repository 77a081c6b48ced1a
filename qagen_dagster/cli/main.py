"""The `qagen` command: the options before every subcommand, and the exit codes.

Exit code 0: done. 1: the work failed. 2: bad usage or configuration. A failure is one line on stderr, with a traceback
only with `--debug`.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import click

from qagen_dagster import __version__
from qagen_dagster.cli.answer import answer
from qagen_dagster.cli.compare import compare
from qagen_dagster.cli.corpora import corpora
from qagen_dagster.cli.doctor import doctor
from qagen_dagster.cli.estimate import estimate
from qagen_dagster.cli.evaluate import evaluate
from qagen_dagster.cli.exams.commands import exam
from qagen_dagster.cli.grading.grade import grade
from qagen_dagster.cli.grading.summary import summary
from qagen_dagster.cli.index import index
from qagen_dagster.cli.init import init
from qagen_dagster.cli.ledger import ledger
from qagen_dagster.cli.output import echo
from qagen_dagster.cli.problems.alternate import alternate
from qagen_dagster.cli.problems.classify import classify
from qagen_dagster.cli.problems.convert import convert
from qagen_dagster.cli.problems.idea import idea
from qagen_dagster.cli.problems.process import process
from qagen_dagster.cli.problems.scan import scan
from qagen_dagster.cli.problems.tikz import tikz
from qagen_dagster.cli.problems.variant import variant
from qagen_dagster.cli.questions import questions
from qagen_dagster.cli.run import run
from qagen_dagster.cli.show import show
from qagen_dagster.cli.stats import stats
from qagen_dagster.cli.status import status
from qagen_dagster.errors import ConfigError, QagenError
from qagen_dagster.settings import load_settings

_HELP = {"help_option_names": ["-h", "--help"]}
_FOLDER = click.Path(path_type=Path, file_okay=False)


@click.group(context_settings=_HELP)
@click.version_option(__version__, prog_name="qagen")
@click.option(
    "--corpora",
    "corpora_folder",
    type=_FOLDER,
    help="Folder of corpora. Default: QAGEN_CORPORA, else corpora/.",
)
@click.option(
    "--assets", help="Root of the store: a folder or an fsspec URL. Default: QAGEN_ASSETS, else assets/."
)
@click.option(
    "--profile",
    help="Default profile, which assigns models to roles. Default: QAGEN_PROFILE, else embedded (built-in models).",
)
@click.option(
    "--profiles",
    type=_FOLDER,
    help="Folder of your own profiles, searched before the shipped ones. Default: QAGEN_PROFILES.",
)
@click.option("--debug", is_flag=True, help="Print a traceback when a command fails.")
@click.pass_context
def cli(
    context: click.Context,
    corpora_folder: Path | None,
    assets: str | None,
    profile: str | None,
    profiles: Path | None,
    debug: bool,
) -> None:
    """Turn corpora of documents into validated question/answer sets."""
    settings = load_settings()
    if corpora_folder is not None:
        settings = replace(settings, corpora=corpora_folder.expanduser().resolve())
    if assets is not None:
        settings = replace(settings, assets=assets)
    if profile is not None:
        settings = replace(settings, profile=profile)
    if profiles is not None:
        settings = replace(settings, profiles=profiles.expanduser().resolve())
    context.obj = settings


for command in (
    init, run, estimate, index, evaluate, status, questions, show, stats, compare, summary, grade, answer, exam, corpora, ledger, doctor,
    classify, scan, tikz, idea, alternate, variant, convert, process,
):  # fmt: skip
    cli.add_command(command)


def main(arguments: list[str] | None = None) -> None:
    """The entry point. It always ends the process with an exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    code: object = 0
    try:
        code = cli.main(words, prog_name="qagen", standalone_mode=False)
    except click.exceptions.Abort:
        _say("interrupted; finished work is kept, run the same command again to resume")
        _leave_at_once(1)
    except click.exceptions.NoArgsIsHelpError as error:
        echo(error.format_message(), err=True)
        sys.exit(2)
    except click.ClickException as error:
        _fail(error.format_message(), 2)
    except Exception as error:  # the outermost boundary: every failure becomes one line
        if "--debug" in words:
            raise
        _fail(*_told(error))
    sys.exit(code if isinstance(code, int) else 0)


def _told(error: Exception) -> tuple[str, int]:
    """The line and the exit code of a failure. An unexpected one is named by its type."""
    if isinstance(error, QagenError):
        return str(error), 2 if isinstance(error, ConfigError) else 1
    return f"{type(error).__name__}: {error} (use --debug for a traceback)", 1


def _fail(message: str, code: int) -> None:
    _say(message)
    sys.exit(code)


def _say(message: str) -> None:
    echo(f"qagen: error: {' '.join(message.split())}", err=True)


def _leave_at_once(code: int) -> None:
    """End the process without waiting for model calls in flight. That is safe, because files are written atomically."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
