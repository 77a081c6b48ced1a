"""`qagen exam`: makes banks of exam items on the project's Dagster instance, reports on them and exports them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from qagen_dagster.cli.echo import echo
from qagen_dagster.cli.exams.paper import (
    bank_of,
    chosen_exams,
    one_exam,
    one_exam_option,
    paper,
    prefixes_of,
    responses,
    weight_options,
    weights_of,
)
from qagen_dagster.cli.graph import Progress, open_quietly
from qagen_dagster.cli.options import Command, Models, folder_option, json_option, model_options, with_options
from qagen_dagster.cli.output import Terminal, fail, print_json, warn, write_output
from qagen_dagster.configuration.exams import Exam, load_exams
from qagen_dagster.configuration.profiles import EXAM_ROLES
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.exams.bank import (
    former_parts,
    gather,
    is_bank_current,
    is_part_current,
    item_texts,
    schema_library,
)
from qagen_dagster.loop.exams.plan import ExamOptions, PartPlan, plan_part
from qagen_dagster.loop.figures import NOT_DRAWN, undrawn
from qagen_dagster.loop.product_table import Product
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.publishing.exams.formats import BANK_EXPORTERS
from qagen_dagster.publishing.markup import exported
from qagen_dagster.records.exams.bank import BankStats, Counts, ItemBank
from qagen_dagster.records.exams.config import MOST_ITEMS, MOST_SEED
from qagen_dagster.settings import Settings

if TYPE_CHECKING:
    from qagen_dagster.defs.in_process import Graph
ROLES = tuple(role.value for role in EXAM_ROLES)
_FORMATS = [exporter.name for exporter in BANK_EXPORTERS]
_RETRIES = click.IntRange(0, 20)
_OF_SET = ("unfinished", "profile", "seed", "run_id", "ended")  # fields of a part's set in its report
exam_option = click.option("--exam", "exam_key", help="Only this exam. Default: all.")


def report(space: Workspace, exam: Exam) -> dict[str, Any]:
    """One exam: its difficulties in order, the titles of schemas by id, its BankStats, and the parts that were run.

    A duplicate counts as rejected, because it is not in the bank. Raises ConfigError and StoreError.
    """
    found = gather(space, exam.key)
    parts: list[dict[str, Any]] = []
    for made in found.sets:
        part = made.part
        counts = found.stats.by_part.get(f"{part.schema_id}/{part.difficulty.value}", Counts())
        kept = {name: getattr(made, name) for name in _OF_SET}
        parts.append({"part": part.key, "slots": made.slots, **dict(counts), **kept})
    return {
        "exam": exam.key,
        "difficulties": [difficulty.value for difficulty in exam.config.difficulties],
        "schemas": {schema.id: schema.title for schema in exam.schemas.values()}
        | {part_set.part.schema_id: part_set.schema_title for part_set in found.sets},
        "stats": found.stats,
        "parts": parts,
    }


def show(console: Console, exam_report: Mapping[str, Any], assets: str) -> None:
    """Print a table of schemas and difficulties, then the failed attempts and the cost."""
    stats: BankStats = exam_report["stats"]
    names: list[str] = exam_report["difficulties"]
    table = Table(title=f"{escape(stats.name)}: {stats.accepted} accepted items, {stats.rejected} rejected")
    for name in ("schema", *names, "accepted"):
        table.add_column(name, justify="left" if name == "schema" else "right")
    for schema, title in exam_report["schemas"].items():
        counts = [stats.by_part.get(f"{schema}/{name}", Counts()) for name in names]
        every = stats.by_schema.get(schema, Counts())
        table.add_row(f"{schema} {escape(title)}", *map(_share, counts), _share(every))
    console.print(table)
    if stats.caught_by:
        caught = ", ".join(f"{name} {count}" for name, count in sorted(stats.caught_by.items()))
        console.print(f"failed attempts by the step that failed: {caught}")
    if stats.unfinished:
        console.print(f"{stats.unfinished} unfinished items; run `qagen exam run` again to resume")
    if stats.attempts:
        usd = "unknown cost" if stats.usd is None else f"{stats.usd:.4f} USD"
        console.print(f"{stats.attempts} attempts, {stats.calls} model calls, {usd}")
    if stats.accepted:
        shown = (
            ", ".join(f"{name} {count}" for name, count in sorted(stats.keys_by.items())) or "not recorded"
        )
        folder = f"{assets}/exams/{exam_report['exam']}"
        console.print(f"keys of {stats.accepted} accepted items, by what showed that they are right: {shown}")
        console.print(f"items: {folder}/accepted.jsonl; exports: {folder}/exports/", soft_wrap=True)


def _share(counts: Counts) -> str:
    total = counts.accepted + counts.rejected
    return f"{counts.accepted} of {total}" if total else "-"


@click.group()
def exam() -> None:
    """Make and export banks of multiple-choice exam items, and papers from them."""


exam.add_command(paper)
exam.add_command(responses)


def run_options(command: Command) -> Command:
    """Add the options that replace values of exam.yaml for one run."""
    return with_options(
        command,
        click.option(
            "--schema",
            multiple=True,
            help="Only schemas whose ids begin with these prefixes, such as M1,P2 or M. Can be repeated. Default: all.",
        ),
        click.option(
            "--items",
            type=click.IntRange(1, MOST_ITEMS),
            help="Goal for the number of items of the bank; a run adds what is missing [exam.yaml].",
        ),
        click.option(
            "--seed",
            type=click.IntRange(0, MOST_SEED),
            help="Random seed of items that are made [exam.yaml].",
        ),
        weight_options(" [exam.yaml]"),
        click.option(
            "--max-designer-retries",
            type=_RETRIES,
            help="New designs to try for one item after the first one failed [exam.yaml].",
        ),
        click.option(
            "--max-implementer-retries",
            type=_RETRIES,
            help="New questions to write for one design after the first one failed [exam.yaml].",
        ),
        *(
            click.option(
                f"--model-{role.replace('_', '-')}",
                help=f"Model for the role {role}, as MODEL or PROVIDER:MODEL. Default: the profile's.",
            )
            for role in ROLES
        ),
    )


def replaces_all(options: ExamOptions) -> bool:
    """Whether the run also replaces the items of parts that the exam no longer has."""
    return options.replace and not options.schema_prefixes


@exam.command()
@exam_option
@run_options
@click.option("--force", is_flag=True, help="Also run parts that are up to date.")
@click.option(
    "--replace", is_flag=True, help="Replace the items of the bank. Default: add to them, and remove nothing."
)
@model_options
@json_option
@click.pass_obj
def run(
    settings: Settings, exam_key: str | None, force: bool, models: Models, as_json: bool, **wished: Any
) -> int:
    """Make exam items: design, write, prove, verify, judge.

    Runs the asset graph for every part (a schema and a difficulty) that has items and is not up to date. Then it
    collects and exports the bank, and updates the catalog. If a part fails, the bank stays as it was. Finished work
    is kept. Run the same command again to resume; nothing is paid twice. "[exam.yaml]" marks options whose default
    is in exam.yaml.
    """
    space = Workspace(settings)
    options = _options(models, wished)
    chosen = chosen_exams(settings, exam_key)
    prefixes = tuple(options.schema_prefixes or ("",))
    _check_prefixes(chosen, options.schema_prefixes or ())
    plans = {  # the parts to run; planning them all first reports wrong options before any work
        exam.key: [
            plan_part(space, part, options) for part in exam.parts() if part.schema_id.startswith(prefixes)
        ]
        for exam in chosen
    }
    with Progress(Terminal(stderr=True), quiet=as_json) as progress:
        failures = _materialize(space, chosen, plans, options, progress, force=force)
    _print([report(space, exam) for exam in chosen], settings, failures, as_json)
    warn(load_exams(settings.corpora).faults)
    return fail(failures)


@exam.command()
@exam_option
@json_option
@click.pass_obj
def status(settings: Settings, exam_key: str | None, as_json: bool) -> None:
    """Show items, rejections and cost of each exam."""
    space = Workspace(settings)
    _print([report(space, exam) for exam in chosen_exams(settings, exam_key)], settings, [], as_json)
    warn(load_exams(settings.corpora).faults)


@exam.command()
@one_exam_option
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=click.Choice(_FORMATS),
    help="Only this format. Can be repeated. Default: all.",
)
@folder_option(required=True)
@json_option
@click.pass_obj
def export(
    settings: Settings, exam_key: str | None, formats: tuple[str, ...], output: Path, as_json: bool
) -> None:
    """Export an exam's bank to formats of other programs."""
    exam = one_exam(settings, exam_key)
    bank = bank_of(Workspace(settings), exam)
    written: dict[str, str] = {}
    output.mkdir(parents=True, exist_ok=True)
    for exporter in (known for known in BANK_EXPORTERS if known.name in (formats or _FORMATS)):
        for path, data in exported(exporter.export(bank), bank.figures).items():
            write_output(output / path, data)
            written[exporter.name] = str(output / path)
    lacking = undrawn(item_texts(bank.items), bank.figures)
    if as_json:
        print_json({"exam": exam.key, "items": len(bank.items), "files": written, "not_drawn": lacking})
        return
    for name, path in written.items():
        echo(f"{name}: {path}")
    warn([NOT_DRAWN.format(", ".join(lacking))] if lacking else [])


def _options(models: Models, wished: dict[str, Any]) -> ExamOptions:
    return ExamOptions(
        weights={level.value: weight for level, weight in weights_of(wished).items()} or None,
        schema_prefixes=list(prefixes_of(wished.pop("schema"))) or None,
        models={role: model for role in ROLES if (model := wished.pop(f"model_{role}"))} or None,
        **models.fields,
        **wished,
    )


def _check_prefixes(chosen: list[Exam], prefixes: Sequence[str]) -> None:
    schemas = sorted({part.schema_id for exam in chosen for part in exam.parts()})
    for prefix in prefixes:
        if not any(schema.startswith(prefix) for schema in schemas):
            raise ConfigError(f"--schema: no schema begins with {prefix!r} (schemas: {', '.join(schemas)})")


def _materialize(
    space: Workspace,
    chosen: list[Exam],
    plans: dict[str, list[PartPlan]],
    options: ExamOptions,
    progress: Progress,
    *,
    force: bool,
) -> list[str]:
    """Make the schemas, parts and banks of the exams that are out of date, then the catalog.

    With `force`, all parts that have items are made. Returns a line for each failure.
    """
    due: dict[str, list[PartPlan]] = {}
    for key, parts in plans.items():
        due[key] = [plan for plan in parts if (force and plan.slots > 0) or not is_part_current(space, plan)]
        for note in _notes(key, parts, due[key]):
            progress.note(note)
    unread: list[str] = []
    stale: list[str] = []
    for exam in chosen:
        if space.store.get(ItemBank.file_key(exam.key, "schemas.json")) != schema_library(exam):
            unread.append(exam.key)
        gone = replaces_all(options) and former_parts(space, exam)
        if due[exam.key] or not is_bank_current(space, exam.key) or gone:
            stale.append(exam.key)
    if not unread and not stale:
        progress.note("everything is up to date")
        return []
    failures: list[str] = []
    with open_quietly(space, progress) as graph:
        progress.begin(len(unread) + sum(map(len, due.values())) + len(stale) + bool(stale))
        for key in unread:
            failures += graph.materialize(f"schemas {key}", ("exam_schemas",), key)
        for key in stale:
            failures += _make_bank(space, graph, key, due[key], options)
        if stale:
            failures += graph.catalog()
    return failures


def _notes(key: str, parts: list[PartPlan], due: list[PartPlan]) -> Iterator[str]:
    others = sum(plan.others for plan in parts)
    if others:
        yield f"{key}: {others} items of another seed, schema library, prompt or model stay; --replace makes them anew"
    for plan in due:
        if plan.most_items < plan.slots:
            yield (
                f"{plan.part.key}: the embedded models make at most {plan.most_items} different items, all of one kind of question, "
                f"and {plan.slots} are wanted: repetitions are rejected"
            )


def _make_bank(
    space: Workspace, graph: Graph, key: str, due: list[PartPlan], options: ExamOptions
) -> list[str]:
    """Run the parts in `due`, then publish the bank. Returns a line for each failure.

    If a part or the publication fails, or the command is interrupted, the bank and the sets of these parts stay as they were.
    """
    before = {plan.part.set_key(): space.store.get(plan.part.set_key()) for plan in due}
    fields, failures = options.model_dump(exclude_defaults=True), ["interrupted"]
    try:
        made = (graph.make(Product.EXAM_PART, partition=plan.part.key, fields=fields) for plan in due)
        failures = [line for lines in made for line in lines]
        bank = {"replace": replaces_all(options)}
        failures = failures or graph.make(Product.ITEM_BANK, partition=key, fields=bank)
    finally:
        for name, data in before.items() if failures else ():
            if data is None:
                space.store.remove(name)
            else:
                space.store.write_if_changed(name, data)
    return failures


def _print(reports: list[dict[str, Any]], settings: Settings, failures: list[str], as_json: bool) -> None:
    if as_json:
        print_json({"ok": not failures, "failures": failures, "exams": reports})
        return
    for exam_report in reports:
        show(Terminal(), exam_report, settings.assets)
