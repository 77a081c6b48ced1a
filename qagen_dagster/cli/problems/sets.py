"""A problem set of the corpora folder: processed by the asset graph, then its bank is reported and written."""

from __future__ import annotations

import dataclasses

from qagen_dagster.cli.echo import echo
from qagen_dagster.cli.graph import open_quietly
from qagen_dagster.cli.options import asset_config
from qagen_dagster.cli.output import Terminal, print_json
from qagen_dagster.cli.problems.command_runner import Request, sorted_out, tell, write_folder
from qagen_dagster.cli.progress import Progress
from qagen_dagster.configuration.problems import find_problem_set
from qagen_dagster.loop.problems.bank import (
    FILES,
    bank_files,
    changed_sources,
    export_files,
    export_of,
    keep_sources,
    open_bank,
    plan_problem_set,
    told_bank,
)
from qagen_dagster.loop.refresh.products import Product
from qagen_dagster.records.problems.result import ProblemBank


def process_set(request: Request, key: str, *, replace: bool = False) -> int:
    """Run the graph for one set, and write its bank to the output folder if there is one. Returns the exit code.

    If the graph fails, nothing is written. `replace`: what the bank has does not stay.

    Raises ConfigError, before any work, for a set or models that cannot be used.
    """
    space, options = request.space, dataclasses.replace(request.options, replace=replace)
    problem_set = find_problem_set(space.settings.corpora, key)
    keep_sources(space, problem_set)
    plan_problem_set(space, problem_set, options)
    with Progress(Terminal(stderr=True), quiet=request.as_json) as progress:
        progress.begin(2)
        with open_quietly(space, progress) as graph:
            chosen = asset_config(options.profile, options.run_budget) | {"replace": replace}
            errors = graph.make(Product.PROBLEMS, partition=key, fields=chosen)
            unlisted = graph.catalog()
    output = None if errors else request.output
    errors += unlisted
    plan = plan_problem_set(space, problem_set, options)
    bank = open_bank(space, plan)
    failed, warnings = sorted_out(bank.problems, everything=True)
    errors += [*plan.missing, *failed]
    warnings += changed_sources(space, plan)
    if output is not None:
        write_folder(output, bank_files(bank) | export_files(export_of(bank)))
    if request.as_json:
        print_json(_json_record(bank, errors, warnings))
    else:
        where = space.store.path(ProblemBank.file_key(key, FILES[0]))
        echo(f"{bank.name}: {told_bank(bank)}, see {where}")
    return tell(warnings, errors)


def _json_record(bank: ProblemBank, errors: list[str], warnings: list[str]) -> dict[str, object]:
    rows = [one.model_dump(mode="json") for one in bank.problems]
    return {"ok": not errors, "failures": errors, "warnings": warnings, "problems": rows}
