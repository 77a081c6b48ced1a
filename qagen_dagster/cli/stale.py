"""`qagen stale`: shows what is out of date and why. It estimates the calls and the cost of question sets, and the calls of problem sets."""

from collections import Counter

import click
from rich import box
from rich.markup import escape
from rich.table import Table

from qagen_dagster.cli.echo import echo
from qagen_dagster.cli.options import json_option
from qagen_dagster.cli.output import Terminal, money, print_json, warn
from qagen_dagster.cli.questions.estimate import range_text
from qagen_dagster.configuration.problems import find_problem_set
from qagen_dagster.loop.estimate.combinations import Estimate, estimate
from qagen_dagster.loop.outdated import OutOfDate, find_out_of_date, whole_project
from qagen_dagster.loop.problems.bank import plan_problem_set
from qagen_dagster.loop.problems.outdated import expected_calls, told_calls
from qagen_dagster.loop.problems.plan import ProblemOptions
from qagen_dagster.loop.product_table import Product
from qagen_dagster.loop.questions.plan import RunOptions
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.ids import Combination
from qagen_dagster.settings import Settings


@click.command()
@json_option
@click.pass_obj
def stale(settings: Settings, as_json: bool) -> None:
    """Show what is out of date, and why.

    Lists what the sensors and the nightly schedule would run. `qagen run` runs the same, apart from relevance
    labels, answer panels, exams and problem sets. No model is called. The estimate leaves out the question sets of
    corpora with files to parse, because their cost is known only when the files are parsed. `qagen estimate` parses them.
    """
    space = Workspace(settings)
    found = find_out_of_date(space, whole_project(space))
    due = [Combination.from_key(one.partition) for one in found.of(Product.QUESTIONS)]
    unread = {one.partition for one in found.of(Product.DOCUMENTS)}
    known = [one for one in due if one.corpus not in unread]
    unknown = [one.key for one in due if one.corpus in unread]
    cost = estimate(space, known, RunOptions()) if known else None
    calls: Counter[str] = Counter()
    for one in found.of(Product.PROBLEMS):
        chosen = find_problem_set(space.settings.corpora, one.partition)
        calls += expected_calls(space, plan_problem_set(space, chosen, ProblemOptions(refresh=True)))
    warn((*found.faults, *found.gone))
    if as_json:
        tasks = [task.model_dump(mode="json", exclude={"state"}) for task in found.tasks]
        print_json(
            {
                "tasks": tasks,
                "faults": found.faults,
                "gone": found.gone,
                "not_estimated": unknown,
                "problem_calls": calls,
                "estimate": None if cost is None else cost.model_dump(mode="json"),
            }
        )
        return
    _print(found, cost, unknown)
    if calls:
        echo(f"Problem sets: {told_calls(calls)}.")


def _print(found: OutOfDate, cost: Estimate | None, unknown: list[str]) -> None:
    console = Terminal()
    if not found.tasks:
        console.print("there is nothing to run" if found.faults else "everything is up to date")
        return
    table = Table(title="Out of date", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("product", no_wrap=True)
    table.add_column("partition", overflow="fold")
    table.add_column("why", overflow="fold", ratio=1)
    for task in found.tasks:
        table.add_row(task.product.value, escape(task.partition), escape("\n".join(task.reasons)))
    console.print(table)
    if cost is not None:
        usd = "unknown" if cost.total.usd is None else range_text(cost.total.usd, money)
        calls = range_text(cost.total.calls, lambda value: f"{value:,.0f}")
        console.print(f"Estimate for the question sets: {calls} model calls, cost {usd}.", highlight=False)
    if unknown:
        console.print(
            f"Not estimated: {', '.join(unknown)}. Their calls depend on files that are not parsed yet; `qagen estimate` "
            "parses them, which is free.",
            highlight=False,
            soft_wrap=True,
        )
