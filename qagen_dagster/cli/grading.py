"""The commands `qagen grade`, which grades the answers of another system, and `qagen summary`, which shows the grades of a run."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, TypeVar

import click
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from qagen_dagster.agents.next_step import says_nothing
from qagen_dagster.cli.echo import echo
from qagen_dagster.cli.graph import Progress
from qagen_dagster.cli.options import Models, OneOf, json_option, model_options
from qagen_dagster.cli.output import OUTPUT, Terminal, fail, file_to_write, slashed, warn, write_output
from qagen_dagster.errors import ConfigError
from qagen_dagster.grounding.grade import MIN_MEASURED
from qagen_dagster.ingest.corpus_files import parse_options
from qagen_dagster.loop.grading import answer_file, run_summary
from qagen_dagster.loop.grading.grade_answers import CommandJudge, Grader, command_judge, coverage_lines
from qagen_dagster.loop.grading.grade_set import judge_spec
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.corpus_options import DocumentOptions
from qagen_dagster.records.grading import Grade, Highlight, Method
from qagen_dagster.records.ids import Mode
from qagen_dagster.settings import Settings
from qagen_dagster.store import Store

MOST_HIGHLIGHTS = 10
_COLOURS = {Grade.A: "green", Grade.B: "green", Grade.C: "yellow", Grade.D: "red", Grade.F: "red"}


class Graded(Protocol):
    """The grades that a row of the table shows."""

    @property
    def overall_grade(self) -> Grade | None: ...

    @property
    def overall_confidence(self) -> float | None: ...


GradedT = TypeVar("GradedT", bound=Graded)


def grade_table(title: str, whole: Graded, counts: Sequence[int]) -> Table:
    """A table for documents, without rows yet. Its footer shows `whole` and `counts` as totals.

    `counts` are the numbers of grounded, ungrounded and not measured answers.
    """
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_footer=True)
    table.add_column(title, "all documents", overflow="fold")
    names = ("grade", "confidence", "grounded", "ungrounded", "not\nmeasured")
    for name, total in zip(names, _cells(whole, counts), strict=True):
        table.add_column(name, total, justify="right", no_wrap=True)
    return table


def least_first(documents: Sequence[GradedT]) -> list[GradedT]:
    """The documents by confidence, the lowest first. Documents without a confidence come last."""
    return sorted(
        documents, key=lambda graded: 2.0 if graded.overall_confidence is None else graded.overall_confidence
    )


def _cells(graded: Graded, counts: Sequence[int]) -> list[str]:
    """The cells of a row: grade, confidence and the three counts.

    If too few answers were measured, there is no grade, and the cell of the confidence says how many were
    measured. A grade that an older version stored for too few measured answers is not shown.
    """
    measured, total = sum(counts[:2]), sum(counts)
    grade = graded.overall_grade if measured >= MIN_MEASURED * total else None
    letter = "-" if grade is None else f"[{_COLOURS[grade]}]{grade.value}[/]"
    few = f"{measured:,} of {total:,}\nmeasured" if grade is None and total else ""
    return [letter, few or _number(graded.overall_confidence), *(f"{count:,}" for count in counts)]


def _number(value: float | None) -> str:
    """A confidence as text; `-` for None."""
    return "-" if value is None else f"{value:.2f}"


def show_highlights(console: Console, highlights: Sequence[Highlight]) -> None:
    """Print at most `MOST_HIGHLIGHTS` ungrounded answers, the first ones, with their reasons."""
    for item in highlights[:MOST_HIGHLIGHTS]:
        place = f"{item.document_id} (confidence {_number(item.confidence)})"
        console.print(f"\n[bold]{escape(item.question)}[/bold] [dim]{escape(place)}[/dim]", highlight=False)
        console.print(f"  {escape(item.answer)}", highlight=False)
        for reason in item.reasons:
            console.print(f"  [red]{escape(reason)}[/red]", highlight=False)
    if len(highlights) > MOST_HIGHLIGHTS:
        console.print(
            f"\n... and {len(highlights) - MOST_HIGHLIGHTS:,} more ungrounded answers; the JSON lists all"
        )


MOST_DOCUMENTS = 40  # maximum number of rows on a terminal; the report lists all documents
STEPS = 20  # approximate number of lines of progress without a terminal
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
@model_options
@json_option
@click.pass_obj
def grade(
    settings: Settings,
    answers: Path,
    documents: Path,
    method: Method,
    output: Path | None,
    models: Models,
    as_json: bool,
) -> int:
    """Grade the answers of another system.

    A grade says how well the document supports the answer. A row that cannot be used is skipped and reported with its
    line number.
    """
    space = Workspace(settings)
    judge = _judge(space, models, method)
    grader = Grader(method, judge.model, judge.workers, sets_apart=True)
    rows = answer_file.read_answers(answers)
    reader = answer_file.Reader(space.parsers(), parse_options(DocumentOptions()))
    with Progress(Terminal(stderr=True), quiet=as_json) as progress:
        progress.step("finding the documents")
        found = answer_file.find_documents(documents, rows.documents, reader)
        total = sum(len(rows.documents[name]) for name in found.documents)
        judge_name = "" if judge.model is None else judge.model.spec.name
        shown = _AnswerProgress(progress, total)
        report = answer_file.grade_file(
            rows, found, grader, corpus=documents.name, judge_model=judge_name, progress=shown
        )
    data = report.model_dump_json(indent=1)
    if output is not None:
        write_output(output, data.encode())
    if as_json:
        echo(data)
    else:
        _show_grades(Terminal(), report)
    faults = [f"{answers}:{fault.line}: {fault.reason}" for fault in report.failed_rows]
    code = fail(faults + ([] if report.graded else [f"{answers}: no answer was graded"]))
    unjudged = report.judge_failures
    unheard = len(unjudged) == report.graded and bool(unjudged) and says_nothing(unjudged[0])
    if judge.model is not None and unjudged:
        tell = fail if unheard else warn
        tell([f"the judge left out {len(unjudged):,} answers: {unjudged[0]}"])
    return code or int(unheard)


def _judge(space: Workspace, models: Models, method: Method) -> CommandJudge:
    """The profile's judge, with the budget of `models` or else of the profile; has no model if no judge is asked.

    Raises ConfigError for an unusable profile, and if the method is llm and the profile has no judge.
    """
    name = models.profile or space.settings.profile
    chosen = space.profile(name)
    if judge_spec(chosen, method, Mode.TEXTUAL) is None:
        if method is Method.LLM:
            raise ConfigError(f"--method llm needs a judge, but the profile {name!r} has none")
        if method is Method.HYBRID:
            echo(f"qagen: note: the profile {name!r} has no judge, so none is asked", err=True)
        return CommandJudge(workers=space.settings.document_workers)
    return command_judge(space, name, models.budget)


class _AnswerProgress:
    """Shows how many answers are done. Without a terminal, it prints about `STEPS` lines in all."""

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
            self._progress.line(f"done with {self._done:,} of {self._total:,} answers")


def _show_grades(console: Console, report: answer_file.FileReport) -> None:
    table = grade_table("document", report, (report.grounded, report.ungrounded, report.not_measured))
    shown = least_first(report.documents)[:MOST_DOCUMENTS]
    for grade in shown:
        counts = (grade.grounded, grade.ungrounded, grade.not_measured)
        table.add_row(escape(grade.document_id), *_cells(grade, counts))
    console.print(table)
    for line in coverage_lines(report.decided, report.error_rates):
        console.print(escape(line), highlight=False)
    if report.abstained:
        console.print(f"abstained: {report.abstained:,} answers, which are not measured", highlight=False)
    if len(report.documents) > len(shown):
        console.print(f"... and {len(report.documents) - len(shown):,} more documents, surer or not graded")
    show_highlights(console, report.ungrounded_highlights)


SECONDS = 19  # characters of a time down to its seconds


@click.command()
@click.option(
    "--latest", is_flag=True, help="Show the last command or backfill that made grades. This is the default."
)
@click.option(
    "--run",
    "run_id",
    help="Show an earlier run: its id in Dagster, or the id that `qagen summary` printed for it.",
)
@click.option("--output", type=OUTPUT, callback=file_to_write, help="Write the JSON to this file, too.")
@click.option(
    "--documents",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write a JSON file for each document to this folder, with its text, answers and grades.",
)
@json_option
@click.pass_obj
def summary(
    settings: Settings,
    latest: bool,
    run_id: str | None,
    output: Path | None,
    documents: Path | None,
    as_json: bool,
) -> None:
    """Show the grades of a run by document.

    Also shows the first ungrounded answers with reasons. The complete list is in run_summary.json, which is kept in
    the store.
    """
    if latest and run_id is not None:
        raise ConfigError("--latest and --run exclude each other")
    store = Store(settings.assets)
    reports = run_summary.latest_reports(store) if run_id is None else run_summary.reports_of(store, run_id)
    found = run_summary.summarize(store, reports, run_id or reports[0].launch)
    data = (found.model_dump_json(indent=1) + "\n").encode()
    key = run_summary.RunSummary.key(found.run_id)
    store.write_if_changed(key, data)
    if output is not None:
        write_output(output, data)
    if documents is not None:
        folder = Store(documents)
        for name, value in run_summary.described_outputs(store, reports):
            folder.write_bytes(name, json.dumps(value, ensure_ascii=False, indent=1).encode() + b"\n")
    if as_json:
        echo(data.decode(), nl=False)
        return
    _show_summary(Terminal(), found)
    echo(f"\n{store.path(key)}")


def _show_summary(console: Console, found: run_summary.RunSummary) -> None:
    console.print(_heads(found))
    for line in coverage_lines(found.decided, found.error_rates):
        console.print(escape(line), highlight=False)
    console.print(_documents(found))
    if len(found.documents) > MOST_DOCUMENTS:
        console.print(
            f"... and {len(found.documents) - MOST_DOCUMENTS} more documents, surer or not graded; --json lists all"
        )
    show_highlights(console, found.ungrounded_highlights)


def _heads(found: run_summary.RunSummary) -> Table:
    table = Table.grid(padding=(0, 2))
    for name, value in (
        ("run", found.run_id),
        ("graded (UTC)", found.timestamp[:SECONDS]),
        ("generator", found.generator_model or "-"),
        ("judge", found.judge_model or "none"),
        ("provider", found.provider or "-"),
        ("grading method", found.grading_method),
    ):
        table.add_row(name, escape(value))
    return table


def _documents(found: run_summary.RunSummary) -> Table:
    """A table of the documents with the lowest confidence, by combination."""
    counts = (found.grounded_count, found.ungrounded_count, found.not_measured_count)
    table = grade_table("combination\ndocument", found, counts)
    last = ""
    shown = least_first(found.documents)[:MOST_DOCUMENTS]
    for document in sorted(shown, key=lambda document: document.combination):
        if document.combination != last:
            table.add_section()
            table.add_row(f"[bold]{escape(slashed(document.combination))}[/bold]")
            last = document.combination
        counts = (document.grounded_count, document.ungrounded_count, document.not_measured_count)
        table.add_row(escape(f"  {document.id}"), *_cells(document, counts))
    return table
