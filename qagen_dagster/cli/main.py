"""The `qagen` command: the options before every subcommand, and the exit codes.

Exit code 0: done. 1: the work failed. 2: bad usage or configuration. 130: interrupted by Ctrl-C. A failure is one line on stderr. With
`--debug`, it is a traceback, except for bad usage.
"""

import gc
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import click

from qagen_dagster import __version__
from qagen_dagster.cli.echo import echo
from qagen_dagster.cli.interrupts import leave
from qagen_dagster.errors import QagenError
from qagen_dagster.settings import load_settings

_HELP = {"help_option_names": ["-h", "--help"]}
# Number of new objects after which Python collects garbage. With the default of 700, collecting takes a fifth of the loading time.
_COLLECT_AFTER = 50_000
_FOLDER = click.Path(path_type=Path, file_okay=False)
# The module of each command, and its line in --help. The modules import many libraries, so a module is loaded only when it is used.
COMMANDS = {
    "alternate": ("problems.tasks", "Solve problems by other methods that give the same answer."),
    "answer": ("answer", "Answer a question from one document."),
    "catalog": ("catalog", "Describe the tables of the catalog database."),
    "classify": ("problems.tasks", "Classify physics problems (stage 1 of the pipeline)."),
    "compare": ("questions.stats", "Compare two runs, profiles or versions of a published set."),
    "convert": ("problems.tasks", "Convert problems to another format with the same answer."),
    "corpora": ("corpora", "Check the configuration of corpora."),
    "doctor": ("doctor", "Check the installation, the configuration and the models."),
    "documents": ("corpora", "List documents with their outcomes, and why a file cannot be used."),
    "estimate": ("questions.estimate", "Forecast calls, tokens, cost and time of a run."),
    "evaluate": ("evaluation", "Evaluate published question sets."),
    "exam": ("exams.commands", "Make and export banks of multiple-choice exam items, and papers from them."),
    "export": ("questions.export", "Export published sets to formats of other programs."),
    "grade": ("grading", "Grade the answers of another system."),
    "idea": ("problems.tasks", "Extract concepts, formulas and techniques of problems."),
    "index": ("index", "Build or update the search index of corpora."),
    "init": ("corpora", "Make the folder of a new corpus."),
    "ledger": ("ledger", "Remove stored model responses."),
    "mcp": ("mcp", "Serve question sets to an agent over stdio, by the Model Context Protocol."),
    "panel": ("evaluation", "Let several answerers answer published questions."),
    "process": ("problems.process", "Run the whole pipeline on a file or a problem set."),
    "questions": ("questions.show", "List questions, accepted and rejected."),
    "questions import": (
        "questions.import_log",
        "Add questions that people asked to a set, and tell its gaps.",
    ),
    "report": ("pages", "Write the review page as one HTML file."),
    "review": ("pages", "Review published questions, exam items and problems in the browser."),
    "run": ("questions.run", "Generate, validate and publish question sets."),
    "runs": ("questions.stats", "List the runs of question sets, the newest first."),
    "scan": ("problems.tasks", "Transcribe problems to LaTeX (stage 2 of the pipeline)."),
    "score": ("evaluation", "Score another system on published questions."),
    "show": ("questions.show", "Show one question with its evidence and lineage."),
    "stale": ("stale", "Show what is out of date, and why."),
    "stats": ("questions.stats", "Show counts, tokens and cost of each combination."),
    "status": ("status", "Show the state of corpora and combinations."),
    "summary": ("grading", "Show the grades of a run by document."),
    "tikz": ("problems.tasks", "Draw a diagram in TikZ from an image or a description."),
    "ui": ("pages", "Open the Dagster UI on the store."),
    "variant": ("problems.tasks", "Make variants of problems."),
}


GROUPS = {  # the groups of commands in --help
    "Question sets": (
        "init", "corpora", "documents", "estimate", "run", "status", "stale", "questions", "questions import", "show", "review", "report", "stats", "runs", "compare",
        "evaluate", "panel", "export", "score",
    ),
    "Search and answers": ("index", "answer"),
    "Grading": ("grade", "summary"),
    "Exam items": ("exam",),
    "Physics problems": (
        "process", "classify", "scan", "tikz", "idea", "alternate", "variant", "convert",
    ),
    "Project": ("doctor", "catalog", "ledger", "ui", "mcp"),
}  # fmt: skip
EXAMPLES = """\b
Examples:
  qagen init manuals                             make a folder for documents
  qagen run --corpus manuals --num-documents 3   try three documents
  qagen run --corpus manuals --max-usd 5         make the set, for 5 dollars
  qagen questions pressure                       find questions and their ids
  qagen show q-88e6                              show one with its lineage
  qagen answer report.pdf "Who signed it?"       answer from one document
  qagen grade --answers a.json --documents docs  grade another system
  qagen exam run --exam biology                  make exam items
  qagen process --tex problems.tex               work on physics problems
"""


def load_command(name: str) -> click.Command:
    """Import the module of the command `name`, and return the command."""
    module, _ = COMMANDS[name]
    command: click.Command = getattr(import_module(f"qagen_dagster.cli.{module}"), name.replace(" ", "_"))
    return command


class _LazyGroup(click.Group):
    """Holds commands that have only a help line. The module of a command is loaded when the command is used."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, _, rest = super().resolve_command(ctx, args)
        joined = " ".join((name or "", *rest[:1]))
        if rest and joined in COMMANDS:
            name, rest = joined, rest[1:]
        return name, None if name is None else load_command(name), rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, COMMANDS))
        for title, names in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{width}}", COMMANDS[name][1]) for name in names])


@click.group(
    cls=_LazyGroup,
    context_settings=_HELP,
    epilog=EXAMPLES,
    commands=[click.Command(name, short_help=line) for name, (_, line) in COMMANDS.items()],
)
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
    values: dict[str, Any] = {
        "corpora": corpora_folder and corpora_folder.expanduser().resolve(),
        "assets": assets,
        "profile": profile,
        "profiles": profiles and profiles.expanduser().resolve(),
    }
    chosen = {name: value for name, value in values.items() if value is not None}
    context.obj = replace(load_settings(), **chosen)


def main(arguments: list[str] | None = None) -> None:
    """The entry point. It ends the process with an exit code. With --debug, an error other than bad usage is raised instead."""
    gc.set_threshold(_COLLECT_AFTER)
    words = sys.argv[1:] if arguments is None else arguments
    code: object = 0
    try:
        code = cli.main(words, prog_name="qagen", standalone_mode=False)
    except click.exceptions.Abort:
        leave()
    except click.exceptions.NoArgsIsHelpError as error:
        echo(error.format_message(), err=True)
        sys.exit(2)
    except click.ClickException as error:
        _fail(error.format_message(), 2)
    except Exception as error:  # the outermost boundary: every failure becomes one line
        if "--debug" in words:
            raise
        if isinstance(error, QagenError):
            _fail(str(error), error.exit_code)
        _fail(f"{type(error).__name__}: {error} (use --debug for a traceback)", 1)
    gc.freeze()  # so that the interpreter does not look for garbage several times as it ends
    sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str, code: int) -> NoReturn:
    echo(f"qagen: error: {' '.join(message.split())}", err=True)
    sys.exit(code)
