"""`qagen show`: one question with its evidence and lineage."""

from __future__ import annotations

import click
from rich.markup import escape
from rich.table import Table

from qagen_dagster.catalog import stats as queries
from qagen_dagster.cli.echo import echo
from qagen_dagster.cli.options import json_option
from qagen_dagster.cli.output import Terminal
from qagen_dagster.loop.catalog import catalog_file
from qagen_dagster.settings import Settings
from qagen_dagster.store import Store


@click.command()
@click.argument("question_id")
@json_option
@click.pass_obj
def show(settings: Settings, question_id: str, as_json: bool) -> None:
    """Show one question with its evidence and lineage.

    QUESTION_ID may be shortened to its first characters. The lineage is: models, prompts, run and cost.
    """
    with catalog_file(Store(settings.assets)) as file:
        found = queries.question(file, question_id)
    if as_json:
        echo(found.model_dump_json(indent=2))
        return
    console = Terminal()
    console.print(f"[bold]{escape(found.question)}[/bold]\n{escape(found.answer)}\n")
    for place in found.evidence:
        where = _lines(place.start_line, place.end_line)
        page = f", page {place.page}" if place.page else ""
        visual = f", {escape(place.visual)}" if place.visual else ""
        console.print(f'  "{escape(place.quote)}" ({where}{page}{visual})', highlight=False)
    console.print()
    console.print(_facts(found))


def _lines(first: int | None, last: int | None) -> str:
    if first is None:
        return "no text lines"
    return f"line {first}" if last in (None, first) else f"lines {first}-{last}"


def _facts(found: queries.QuestionLineage) -> Table:
    table = Table.grid(padding=(0, 2))
    usd = "unknown" if found.usd is None else f"${found.usd:.4f}"
    prompts = ", ".join(f"{name} {hashed}" for name, hashed in (found.prompt_hashes or {}).items())
    for name, value in (
        ("id", found.question_id),
        ("combination", found.combination),
        ("document", f"{found.source_document} ({found.document_version})"),
        ("document unchanged", {True: "yes", False: "no", None: None}[found.document_unchanged]),
        ("generator", found.generator_model),
        ("validator", found.validator_model),
        ("blind answer", found.blind_answer),
        ("verdict", found.verdict_explanation),
        ("attempt", found.attempt),
        ("prompts", prompts or None),
        ("run", found.run_id),
        ("profile", found.profile),
        ("fingerprint", found.fingerprint),
        ("model calls", found.calls),
        ("tokens", f"{found.input_tokens} in, {found.output_tokens} out"),
        ("cost", usd),
    ):
        table.add_row(name, escape(str("-" if value is None else value)))
    return table
