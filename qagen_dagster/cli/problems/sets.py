"""A problem set of the corpora worked by the asset graph, and its bank told and written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import Console

from qagen_dagster.cli.graph import open_quietly
from qagen_dagster.cli.problems.work import as_json_text, say_lines, sorted_out, write_folder
from qagen_dagster.cli.progress import Progress
from qagen_dagster.configuration.problems import find_problem_set
from qagen_dagster.loop.problems.bank import (
    FILES,
    bank_files,
    export_files,
    export_of,
    keep_sources,
    open_bank,
    plan_problem_set,
)
from qagen_dagster.loop.problems.plan import ProblemOptions
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.problems.result import ProblemBank


def process_set(
    space: Workspace, key: str, options: ProblemOptions, output: Path | None, *, as_json: bool
) -> int:
    """Run the graph for one set; write its bank where it is wished. Returns the exit code.

    Raises ConfigError, before any work, for a set or models that cannot be used.
    """
    problem_set = find_problem_set(space.settings.corpora, key)
    keep_sources(space, problem_set)
    plan_problem_set(space, problem_set, options)
    with Progress(Console(stderr=True), quiet=as_json) as progress:
        progress.begin(1)
        with open_quietly(space, progress) as graph:
            errors = graph.problem_set(key, _fields(options))
    plan = plan_problem_set(space, problem_set, options)
    bank = open_bank(space, plan)
    failed, warnings = sorted_out(bank.problems, everything=True)
    errors += [*plan.missing, *failed]
    if output is not None:
        write_folder(output, bank_files(bank) | export_files(export_of(bank)))
    told = {"failures": errors, "warnings": warnings}
    _tell(bank, told, space.store.path(ProblemBank.file_key(key, FILES[0])), as_json=as_json)
    say_lines(warnings, errors)
    return 1 if errors else 0


def _fields(options: ProblemOptions) -> dict[str, Any]:
    """Fields of the assets' configuration; those without a wish are left out."""
    money = {} if options.run_budget is None else options.run_budget.model_dump(exclude_none=True)
    return money if options.profile is None else {"profile": options.profile, **money}


def _tell(bank: ProblemBank, told: dict[str, list[str]], where: str, *, as_json: bool) -> None:
    if as_json:
        rows = [one.model_dump(mode="json") for one in bank.problems]
        click.echo(as_json_text({"ok": not told["failures"], **told, "problems": rows}))
    else:
        click.echo(f"{bank.name}: {len(bank.accepted)} of {len(bank.problems)} problems in {where}")
