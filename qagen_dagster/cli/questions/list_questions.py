"""`qagen questions`: lists accepted and rejected questions, and finds their ids."""

from __future__ import annotations

from itertools import islice

import click
from rich.markup import escape

from qagen_dagster.cli.options import OneOf, combination_options, json_option
from qagen_dagster.cli.output import Terminal, print_json
from qagen_dagster.loop.questions.listing import ListedQuestion, Outcome, Wanted, listed
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.ids import Mode
from qagen_dagster.records.questions.results import RejectionReason
from qagen_dagster.settings import Settings


@click.command()
@click.argument("text", default="")
@combination_options
@click.option("--outcome", type=OneOf(Outcome), help="Only accepted, or only rejected questions.")
@click.option("--document", help="Only questions from the document with this id.")
@click.option("--reason", type=OneOf(RejectionReason), help="Only questions rejected for this reason.")
@click.option("--type", "question_type", help="Only accepted questions of this type.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="Questions to list.")
@json_option
@click.pass_obj
def questions(
    settings: Settings,
    text: str,
    corpus: str | None,
    scenario: str | None,
    mode: Mode | None,
    outcome: Outcome | None,
    document: str | None,
    reason: RejectionReason | None,
    question_type: str | None,
    limit: int,
    as_json: bool,
) -> None:
    """List questions, accepted and rejected.

    TEXT is a part of a question or of its answer, or the beginning of an id. Without it, all questions that match the
    options are listed. `qagen show ID` shows the lineage of an accepted question.
    """
    space = Workspace(settings)
    wanted = Wanted(outcome, document, reason, question_type, text)
    found = (
        one
        for combination in space.corpora.combinations(corpus, scenario, mode)
        for one in listed(space, combination, wanted)
    )
    shown = list(islice(found, limit))
    if as_json:
        print_json([one.model_dump(mode="json") for one in shown])
        return
    console = Terminal()
    for one in shown:
        _print(console, one)
    more = sum(1 for _ in found)
    console.print(f"{len(shown) + more} questions" + (f", {more} not listed (--limit)" if more else ""))


def _print(console: Terminal, one: ListedQuestion) -> None:
    place = next((f":{quote.start_line}" for quote in one.evidence if quote.start_line), "")
    why = "accepted" if one.reason is None else f"rejected: {one.reason.value}"
    console.print(f"[bold]{one.id}[/bold]  {why}", highlight=False)
    console.print(f"[dim]{one.combination}  {escape(one.document_id)}{place}[/dim]", highlight=False)
    console.print(f"  {escape(one.question)}\n  {escape(one.answer)}", highlight=False)
    if one.detail:
        console.print(f"  [dim]{escape(one.detail)}[/dim]", highlight=False)
    console.print()
