"""`qagen questions import` adds questions that people asked to a set, and reports what the set lacks."""

import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click

from qagen_dagster.cli.echo import echo
from qagen_dagster.cli.graph import Progress
from qagen_dagster.cli.options import Models, json_option, model_options
from qagen_dagster.cli.output import Terminal, fail, print_json, warn
from qagen_dagster.cli.questions.run import materialize
from qagen_dagster.english.words import shared_words
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.product_table import Scope
from qagen_dagster.loop.questions.head_start import Work
from qagen_dagster.loop.questions.imported import keep_log, measure, read_log
from qagen_dagster.loop.questions.plan import RunOptions, check_usable
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.ids import Mode
from qagen_dagster.records.questions.imported import PUBLISHED, Coverage
from qagen_dagster.settings import Settings

_SHOWN = 160  # maximum number of characters of a passage or a reason


@click.command("questions import")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), required=False)
@click.option("--corpus", help="The corpus of the set.")
@click.option("--scenario", help="The scenario of the set. Only textual sets take questions.")
@click.option("--forget", is_flag=True, help="Forget the questions of earlier imports.")
@click.option(
    "--no-run",
    is_flag=True,
    help="Store the questions without a run. `qagen estimate` and the next `qagen run` use them.",
)
@model_options
@json_option
@click.pass_obj
def questions_import(
    settings: Settings,
    file: Path | None,
    corpus: str | None,
    scenario: str | None,
    forget: bool,
    no_run: bool,
    models: Models,
    as_json: bool,
) -> int:
    """Add questions that people asked to a set, and tell its gaps.

    FILE is JSON Lines, CSV or TSV with a question and perhaps an answer in each row. Each question is answered from the documents,
    checked like a generated one, and published with `origin: imported`. Then the command lists the questions that were not
    published, with the reasons, and the subjects that people ask about and the set lacks. The next `qagen run` shows these
    gaps to the generator. FILE is added to the questions of earlier imports. Without FILE, only those are used.
    """
    space, options = Workspace(settings), RunOptions(**models.fields)
    combination, *others = space.corpora.combinations(corpus, scenario, Mode.TEXTUAL)
    if others:
        keys = ", ".join(one.key for one in (combination, *others))
        raise ConfigError(f"choose one of {keys} with --corpus and --scenario")
    check_usable(space, combination, options)
    found, faults = ([], []) if file is None else read_log(file)
    log = keep_log(space, combination, found, forget=forget)
    warn(faults)
    if no_run:
        echo(f"{len(log.questions)} imported questions are kept for {combination.key}")
        return 0
    with Progress(Terminal(stderr=True), quiet=as_json) as progress, Work(space) as work:
        failures = materialize(work, Scope((combination,), options), progress)
    if failures:
        return fail(failures)
    coverage = measure(space, combination, log)
    if as_json:
        print_json({"combination": combination.key, **coverage.model_dump(mode="json")})
    else:
        echo("\n".join(_lines(coverage)))
    return 0


def _lines(coverage: Coverage) -> Iterator[str]:
    """Lines with the outcomes of the questions, then with the gaps of the set."""
    outcomes = Counter(question.outcome for question in coverage.questions)
    counts = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
    yield f"{len(coverage.questions)} imported questions: {counts}"
    unpublished = (question for question in coverage.questions if question.outcome != PUBLISHED)
    for one in sorted(unpublished, key=lambda one: one.outcome):
        yield f"\n{one.outcome}: {one.question}"
        places = [
            (f"nearest: {each.document_id or one.document_id}:{each.start_line}", each.quote)
            for each in one.passages
            if shared_words(one.question, each.quote)
        ]
        for where, text in places or [(one.document_id, one.detail)]:
            yield f"  {where}  {textwrap.shorten(text, _SHOWN)}"
    yield f"\nsubjects in the log: {coverage.subjects}; in the documents, not in the set: {len(coverage.gaps)}"
    for document, questions in coverage.gaps:
        yield f"  {document}: {' / '.join(questions)}"
    if coverage.gaps:
        yield "The next `qagen run` shows them to the generator, and asks for that many more questions."
