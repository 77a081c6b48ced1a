"""`qagen grade`: how well answers of any other system rest on their documents."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from qagen_dagster.cli.grading.labels import letter, number, show_highlights
from qagen_dagster.cli.options import budget_options, json_option, profile_option
from qagen_dagster.cli.output import OUTPUT, output_store
from qagen_dagster.cli.progress import Progress
from qagen_dagster.configuration.profiles import Role
from qagen_dagster.errors import ConfigError
from qagen_dagster.ingest.files import parse_options
from qagen_dagster.loop.grading.answer_file import CommandMeter, FileGrades, FileGrading
from qagen_dagster.loop.grading.answer_rows import read_answers
from qagen_dagster.loop.grading.given_documents import Reader, find_documents
from qagen_dagster.loop.grading.grade_answers import Grader
from qagen_dagster.loop.grading.plan import judge_spec
from qagen_dagster.loop.parallel import worker_count
from qagen_dagster.loop.spending import effective_budget, metered
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.base import Model
from qagen_dagster.models.budget import Allowance
from qagen_dagster.models.vectors import minilm
from qagen_dagster.records.corpus import DocumentOptions
from qagen_dagster.records.grading import DocumentGrades, Method
from qagen_dagster.records.ids import Mode
from qagen_dagster.settings import Settings

MOST_DOCUMENTS = 40  # rows on a terminal; the report has all
STEPS = 20  # lines of progress where there is no terminal
_PLACE = click.Path(path_type=Path)


@click.command()
@click.option("--answers", type=_PLACE, required=True, help="JSON lines: document, question, answer, id.")
@click.option("--documents", type=_PLACE, required=True, help="The documents: a file, or a folder of them.")
@click.option(
    "--method",
    type=click.Choice([method.value for method in Method]),
    default=Method.HYBRID.value,
    show_default=True,
    help="semantic and keyword ask no model, llm asks the profile's judge, hybrid about what fails without.",
)
@click.option("--output", type=OUTPUT, help="Write the whole report as JSON to this file.")
@budget_options
@profile_option
@json_option
@click.pass_obj
def grade(
    settings: Settings,
    answers: Path,
    documents: Path,
    method: str,
    output: Path | None,
    max_usd: float | None,
    max_tokens: int | None,
    max_calls: int | None,
    profile: str | None,
    as_json: bool,
) -> int:
    """Grade answers of any system against its documents.

    A row that cannot be used is told with its line and left out; the rest goes on.
    """
    if output is not None:
        output_store(output)  # told before any work
    space = Workspace(settings)
    wished = Allowance(max_usd=max_usd, max_tokens=max_tokens, max_calls=max_calls)
    judge, unlimited = _judge(space, profile, Method(method), None if wished.unlimited else wished)
    workers = worker_count(judge, settings.document_workers, unlimited=unlimited)
    grader = Grader(Method(method), minilm.encode, judge, workers)
    with tempfile.TemporaryFile() as spool:
        rows = read_answers(answers)
        reader = Reader(space.parsers(), parse_options(DocumentOptions()))
        with Progress(Console(stderr=True), quiet=as_json) as progress:
            progress.step("find the documents")
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
            _show(Console(), grades)
    for fault in grades.faults:
        click.echo(f"qagen: error: {answers}:{fault.line}: {fault.reason}", err=True)
    if judge is not None and grades.unjudged:
        click.echo(f"qagen: warning: {grades.unjudged:,} not judged: {grades.why_unjudged}", err=True)
    return 1 if grades.faults or not grades.graded else 0


def _judge(
    space: Workspace, profile: str | None, method: Method, wished: Allowance | None
) -> tuple[Model | None, bool]:
    """The judge that `method` asks, held to the budget, and whether there is none. Raises ConfigError where there must be one and is none."""
    name = profile or space.settings.profile
    chosen = space.profile(name)
    if judge_spec(chosen, method, Mode.TEXTUAL) is None:
        if method is Method.LLM:
            raise ConfigError(f"--method llm needs a judge, and the profile {name!r} binds none")
        if method is Method.HYBRID:
            click.echo(f"qagen: note: the profile {name!r} binds no judge: graded without", err=True)
        return None, True
    judge = space.find_model(chosen, Role.JUDGE, Mode.TEXTUAL)
    allowance = effective_budget(chosen, wished).run
    if judge is None or allowance.unlimited:
        return judge, True
    return metered(judge, CommandMeter(allowance)), False


class _Told:
    """Progress by answers; where there is no terminal about STEPS lines of it."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0
        progress.begin(total)
        progress.step(f"grade {total:,} answers")

    def __call__(self, answers: int, document: str) -> None:
        before, self._done = self._done, self._done + answers
        self._progress.done(answers)
        self._progress.say(document)
        step = max(1, self._total // STEPS)
        if before // step != self._done // step:
            self._progress.line(f"graded {self._done:,} of {self._total:,} answers")


def _write(work: FileGrading, grades: FileGrades, output: Path) -> None:
    """The report, whole or not at all."""
    store, folder = output_store(output), output.absolute().parent
    with tempfile.TemporaryDirectory(dir=folder, prefix=f".{output.name}.") as scratch:
        draft = Path(scratch) / output.name
        with draft.open("wb") as file:
            work.write(grades, file)
        store.publish_file(output.name, draft)


def _show(console: Console, grades: FileGrades) -> None:
    heads = grades.heads
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_footer=True)
    table.add_column("document", "all", overflow="fold")
    for name, footer in (
        ("grade", letter(heads.overall_grade)),
        ("confidence", number(heads.overall_confidence)),
        ("grounded", f"{heads.grounded:,}"),
        ("ungrounded", f"{heads.ungrounded:,}"),
        ("not\nmeasured", f"{heads.not_measured:,}"),
    ):
        table.add_column(name, footer, justify="right", no_wrap=True)
    shown = _least_first(grades.documents)[:MOST_DOCUMENTS]
    for one in shown:
        counts = (one.grounded, one.ungrounded, one.not_measured)
        table.add_row(
            escape(one.document_id),
            letter(one.overall_grade),
            number(one.overall_confidence),
            *(f"{count:,}" for count in counts),
        )
    console.print(table)
    if len(grades.documents) > len(shown):
        console.print(f"... and {len(grades.documents) - len(shown):,} more documents, graded higher")
    show_highlights(console, heads.ungrounded_highlights)


def _least_first(documents: Sequence[DocumentGrades]) -> list[DocumentGrades]:
    return sorted(
        documents, key=lambda one: 2.0 if one.overall_confidence is None else one.overall_confidence
    )
