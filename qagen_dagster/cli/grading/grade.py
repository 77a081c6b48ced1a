"""`qagen grade`: grades how well documents support the answers of another system."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape

from qagen_dagster.cli.echo import echo
from qagen_dagster.cli.grading.labels import add_grades, grade_table, least_first, show_highlights
from qagen_dagster.cli.options import OneOf, budget_options, json_option, profile_option
from qagen_dagster.cli.output import OUTPUT, Terminal, fail, file_to_write, output_store, warn
from qagen_dagster.cli.progress import Progress
from qagen_dagster.errors import ConfigError
from qagen_dagster.ingest.files import parse_options
from qagen_dagster.loop.grading.answer_file import (
    FileGrades,
    FileGrading,
    Reader,
    find_documents,
    read_answers,
)
from qagen_dagster.loop.grading.grade_answers import Grader, command_judge, coverage_lines
from qagen_dagster.loop.grading.report import judge_spec
from qagen_dagster.loop.parallel import worker_count
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.base import Model
from qagen_dagster.models.budget import Allowance
from qagen_dagster.records.corpus import DocumentOptions
from qagen_dagster.records.grading import Method
from qagen_dagster.records.ids import Mode
from qagen_dagster.settings import Settings

MOST_DOCUMENTS = 40  # rows on a terminal; the report lists all
STEPS = 20  # lines of progress without a terminal
_PLACE = click.Path(path_type=Path)


@click.command()
@click.option(
    "--answers",
    type=_PLACE,
    required=True,
    help="JSON Lines file; each line has document, question, answer and optionally id.",
)
@click.option("--documents", type=_PLACE, required=True, help="A document file, or a folder of documents.")
@click.option(
    "--method",
    type=OneOf(Method),
    default=Method.HYBRID.value,
    show_default=True,
    help="How to grade. semantic and keyword call no model. llm calls the profile's judge for every answer. hybrid "
    "calls the judge only for answers that semantic does not find grounded.",
)
@click.option(
    "--output", type=OUTPUT, callback=file_to_write, help="Write the whole report as JSON to this file, too."
)
@budget_options
@profile_option
@json_option
@click.pass_obj
def grade(
    settings: Settings,
    answers: Path,
    documents: Path,
    method: Method,
    output: Path | None,
    budget: Allowance | None,
    profile: str | None,
    as_json: bool,
) -> int:
    """Grade the answers of another system.

    A grade says how well the document supports the answer. A row that cannot be used is skipped and reported with its
    line number.
    """
    space = Workspace(settings)
    judge, unlimited = _judge(space, profile, method, budget)
    workers = worker_count(judge, settings.document_workers, unlimited=unlimited)
    grader = Grader(method, judge, workers)
    with tempfile.TemporaryFile() as spool:
        rows = read_answers(answers)
        reader = Reader(space.parsers(), parse_options(DocumentOptions()))
        with Progress(Terminal(stderr=True), quiet=as_json) as progress:
            progress.step("finding the documents")
            found = find_documents(documents, rows.documents, reader)
            total = sum(len(places) for places in rows.documents.values())
            work = FileGrading(rows, found, grader, spool)
            told = _Told(progress, total)
            grades = work.grade(documents.name, "" if judge is None else judge.spec.name, told)
        if output is not None:
            _write(work, grades, output)
        if as_json:
            work.write(grades, sys.stdout.buffer)
        else:
            _show(Terminal(), grades)
    fail(f"{answers}:{fault.line}: {fault.reason}" for fault in grades.faults)
    if judge is not None and grades.unjudged:
        warn([f"the judge left out {grades.unjudged:,} answers: {grades.why_unjudged}"])
    return 1 if grades.faults or not grades.graded else 0


def _judge(
    space: Workspace, profile: str | None, method: Method, wished: Allowance | None
) -> tuple[Model | None, bool]:
    """The judge that `method` asks, held to the budget, and whether its calls are unlimited. Raises ConfigError for a missing judge."""
    name = profile or space.settings.profile
    chosen = space.profile(name)
    if judge_spec(chosen, method, Mode.TEXTUAL) is None:
        if method is Method.LLM:
            raise ConfigError(f"--method llm needs a judge, but the profile {name!r} has none")
        if method is Method.HYBRID:
            echo(f"qagen: note: the profile {name!r} has no judge, so none is asked", err=True)
        return None, True
    return command_judge(space, name, wished)


class _Told:
    """Progress in answers. Without a terminal it is about STEPS lines."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0
        progress.begin(total)
        progress.step(f"grading {total:,} answers")

    def __call__(self, answers: int, document: str) -> None:
        before, self._done = self._done, self._done + answers
        self._progress.done(answers)
        self._progress.say(document)
        step = max(1, self._total // STEPS)
        if before // step != self._done // step:
            self._progress.line(f"graded {self._done:,} of {self._total:,} answers")


def _write(work: FileGrading, grades: FileGrades, output: Path) -> None:
    """Write the report atomically."""
    store, folder = output_store(output), output.absolute().parent
    with tempfile.TemporaryDirectory(dir=folder, prefix=f".{output.name}.") as scratch:
        draft = Path(scratch) / output.name
        with draft.open("wb") as file:
            work.write(grades, file)
        store.publish_file(output.name, draft)


def _show(console: Console, grades: FileGrades) -> None:
    heads = grades.heads
    table = grade_table("document", heads, (heads.grounded, heads.ungrounded, heads.not_measured))
    shown = least_first(grades.documents)[:MOST_DOCUMENTS]
    for one in shown:
        add_grades(table, one.document_id, one, (one.grounded, one.ungrounded, one.not_measured))
    console.print(table)
    for line in coverage_lines(heads.decided, heads.error_rates):
        console.print(escape(line), highlight=False)
    if len(grades.documents) > len(shown):
        console.print(f"... and {len(grades.documents) - len(shown):,} more documents with higher grades")
    show_highlights(console, heads.ungrounded_highlights)
