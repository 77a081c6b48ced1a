"""Carries out a command for physics problems: does the work with a progress bar, then prints or writes the results."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qagen_dagster.cli.echo import echo
from qagen_dagster.cli.output import Terminal, as_json_text, fail, output_store, print_json, warn
from qagen_dagster.cli.problems.options import Request
from qagen_dagster.cli.progress import Progress
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.problems.pipeline_properties import output_breaches
from qagen_dagster.loop.problems.plan import SetPlan, plan_set, vision_fault
from qagen_dagster.loop.problems.record import failures, refusals
from qagen_dagster.loop.problems.run_set import SetOutcome, gather_record, run_stages
from qagen_dagster.loop.problems.state_machine import Wishes
from qagen_dagster.loop.problems.tools import engine_compiler, find_references
from qagen_dagster.records.ids import fingerprint
from qagen_dagster.records.problems.item import Problem
from qagen_dagster.records.problems.result import ProblemRecord

_MANY = 3  # from this many problems on, a message that they share is printed once


@dataclass(frozen=True)
class Done:
    """The records of the problems, and one line for each error and warning."""

    plan: SetPlan
    records: tuple[ProblemRecord, ...]
    errors: tuple[str, ...]
    warnings: tuple[str, ...]


def carry_out(
    request: Request,
    problems: tuple[Problem, ...],
    wishes: Wishes,
    *,
    name: str | None = None,
    everything: bool = False,
) -> Done:
    """Work on the problems. `everything`: the whole pipeline, where a task that does not suit a problem is only a warning.

    Raises ConfigError, before any work, when a role has no model or a model that cannot read the images it needs.
    """
    space = request.space
    references, notes = find_references(space, request.references)
    plan = plan_set(
        space,
        name or name_of(problems),
        problems,
        wishes,
        request.options,
        compiler=engine_compiler(),
        references=references,
    )
    blind = next((fault for one in problems if (fault := vision_fault(plan, one))), "")
    if blind:
        raise ConfigError(blind)
    ids = [one.id for one in problems]
    with Progress(Terminal(stderr=True), quiet=request.as_json) as progress:
        progress.begin(len(ids))
        progress.say(f"{len(ids)} problems")

        def step(_done: int, _total: int, note: str) -> None:
            progress.step(note)
            progress.done()

        outcome = run_stages(space, plan, ids, wishes.stages, f"cli-{uuid.uuid4().hex[:12]}", step)
    records = tuple(gather_record(space, plan, one) for one in problems)
    errors, warnings = sorted_out(records, everything=everything)
    return Done(plan, records, (*_stops(outcome), *errors), (*notes, *warnings))


def name_of(problems: tuple[Problem, ...]) -> str:
    """The store's name for the work on these files. It depends on their paths alone, so that a command resumes."""
    files = sorted({one.source_path.partition("#")[0] for one in problems})
    return f"files-{fingerprint([str(Path(one).resolve()) for one in files])[:16]}"


def sorted_out(records: Sequence[ProblemRecord], *, everything: bool) -> tuple[list[str], list[str]]:
    """Errors and warnings. For a whole pipeline (`everything`), a task that does not suit a problem is a warning."""
    refused = {line for one in records for line in refusals(one)} if everything else set[str]()
    failed = [line for one in records for line in failures(one)]
    warned = [f"{one.id}: {said}" for one in records for task in one.tasks for said in task.warnings]
    return [line for line in failed if line not in refused], [
        *warned,
        *(line for line in failed if line in refused),
    ]


def _stops(outcome: SetOutcome) -> list[str]:
    lines = [f"{name}: {why}" for name, why in outcome.failed.items()]
    return lines + [
        f"{name}: the budget is spent; run the same command to resume" for name in outcome.stopped
    ]


def tell(warnings: Sequence[str], errors: Sequence[str]) -> int:
    """Print each line once on stderr; a message that many problems share names only the first. Returns the exit code."""
    warn(_gathered(" ".join(one.split()) for one in warnings))
    return fail(_gathered(" ".join(one.split()) for one in errors))


def _gathered(lines: Iterable[str]) -> Iterator[str]:
    said: dict[str, list[str]] = {}
    for line in dict.fromkeys(lines):
        of, _, what = line.partition(": ")
        said.setdefault(what, []).append(of)
    for what, several in said.items():
        if len(several) >= _MANY:
            yield f"{several[0]} and {len(several) - 1} more: {what}"
        else:
            yield from (f"{one}: {what}" if what else one for one in several)


def give(request: Request, done: Done, pieces: Sequence[str]) -> int:
    """Write or print the LaTeX that was made; --json prints the whole records. Returns the exit code."""
    text, output = "\n\n".join(piece.strip() for piece in pieces), request.output
    if text and output is not None:
        write(output, f"{text}\n".encode())
    if request.as_json:
        print_json(told(done))
    elif text and output is None:
        echo(text)
    elif output is not None:
        echo(f"{output}: {len(pieces)} written" if text else f"{output}: nothing to write", err=True)
    return tell(done.warnings, done.errors)


def write_rows(request: Request, done: Done, rows: Sequence[tuple[ProblemRecord, dict[str, Any]]]) -> str:
    """Rows as JSON, also in the output file: one object for one problem, else a list with the number of each item."""
    if len(done.records) == 1 and rows:
        text = as_json_text(rows[0][1])
    else:
        text = as_json_text([{"item": record.problem.index, **row} for record, row in rows])
    if request.output is not None and rows:
        write(request.output, f"{text}\n".encode())
    return text


def told(done: Done) -> dict[str, object]:
    """The JSON of a command."""
    return {
        "ok": not done.errors,
        "failures": list(done.errors),
        "warnings": list(done.warnings),
        "problems": [one.model_dump(mode="json") for one in done.records],
    }


def write(output: Path, data: bytes) -> None:
    """Write a file atomically and check that it holds the data (property 14). Raises ConfigError."""
    store = output_store(output)
    store.write_bytes(output.name, data)
    broken = output_breaches(str(output), data, store.get(output.name))
    if broken:
        raise ConfigError(str(broken[0]))


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files below a folder, which is created. Raises ConfigError."""
    for name, data in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        write(target, data)
