"""Carries a command for physics problems out: the work with its progress bar, what went wrong, what is printed or written."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console

from qagen_dagster.cli.output import output_store
from qagen_dagster.cli.progress import Progress
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.problems.pipeline_properties import output_breaches
from qagen_dagster.loop.problems.plan import ProblemOptions, SetPlan, plan_set, vision_fault
from qagen_dagster.loop.problems.record import failures, refusals
from qagen_dagster.loop.problems.run_set import SetOutcome, gather_record, run_stages
from qagen_dagster.loop.problems.state_machine import Wishes
from qagen_dagster.loop.problems.tools import engine_compiler, find_references
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.problems.item import Problem
from qagen_dagster.records.problems.result import ProblemRecord

_MANY = 3  # problems of which the same is said in one line


@dataclass(frozen=True)
class Order:
    """What a command wants: of which problems, what, and with what."""

    name: str
    problems: tuple[Problem, ...]
    wishes: Wishes
    options: ProblemOptions
    references: tuple[Path, ...] = ()
    quiet: bool = False
    everything: bool = False  # the whole pipeline: what one problem cannot give is no error of it


@dataclass(frozen=True)
class Done:
    """What there is now, and in one line each what there is not."""

    plan: SetPlan
    records: tuple[ProblemRecord, ...]
    errors: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def code(self) -> int:
        return 1 if self.errors else 0


def carry_out(space: Workspace, order: Order) -> Done:
    """Do it. Raises ConfigError, before any work, for models that are not bound or that would have to see and cannot."""
    references, notes = find_references(space, order.references)
    plan = plan_set(
        space,
        order.name,
        order.problems,
        order.wishes,
        order.options,
        compiler=engine_compiler(),
        references=references,
    )
    blind = next((fault for one in order.problems if (fault := vision_fault(plan, one))), "")
    if blind:
        raise ConfigError(blind)
    ids = [one.id for one in order.problems]
    with Progress(Console(stderr=True), quiet=order.quiet) as progress:
        progress.begin(len(ids))
        progress.say(f"{len(ids)} problems")

        def step(_done: int, _total: int, note: str) -> None:
            progress.step(note)
            progress.done()

        outcome = run_stages(space, plan, ids, order.wishes.stages, f"cli-{uuid.uuid4().hex[:12]}", step)
    records = tuple(gather_record(space, plan, one) for one in order.problems)
    errors, warnings = sorted_out(records, everything=order.everything)
    return Done(plan, records, (*_stops(outcome), *errors), (*notes, *warnings))


def sorted_out(records: Sequence[ProblemRecord], *, everything: bool) -> tuple[list[str], list[str]]:
    """Errors and warnings. Of a whole pipeline (`everything`) what a problem cannot give is a warning."""
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
        f"{name}: the budget ended; the same command goes on from there" for name in outcome.stopped
    ]


def tell(done: Done) -> int:
    """Warnings and errors on stderr, one line each; returns the exit code."""
    say_lines(done.warnings, done.errors)
    return done.code


def say_lines(warnings: Sequence[str], errors: Sequence[str]) -> None:
    """On stderr, each once; what is said of many problems is said of the first one, with how many more there are."""
    for kind, lines in (("warning", warnings), ("error", errors)):
        for line in _gathered(" ".join(one.split()) for one in lines):
            click.echo(f"qagen: {kind}: {line}", err=True)


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


def give(done: Done, pieces: Sequence[str], output: Path | None, *, as_json: bool = False) -> int:
    """Print or write what was made; with `as_json` the whole records are printed. Returns the exit code."""
    text = "\n\n".join(piece.strip() for piece in pieces)
    if text and output is not None:
        write(output, f"{text}\n".encode())
    if as_json:
        click.echo(json.dumps(told(done), indent=2, ensure_ascii=False))
    elif text and output is None:
        click.echo(text)
    elif output is not None:
        click.echo(f"{output}: {len(pieces)} written" if text else f"{output}: nothing to write", err=True)
    return tell(done)


def told(done: Done) -> dict[str, object]:
    """For programs."""
    return {
        "ok": not done.errors,
        "failures": list(done.errors),
        "warnings": list(done.warnings),
        "problems": [one.model_dump(mode="json") for one in done.records],
    }


def as_json_text(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def write(output: Path, data: bytes) -> None:
    """Write a file whole or not at all, and look whether it is there (property 14). Raises ConfigError."""
    check_output(output)
    store = output_store(output)
    store.write_bytes(output.name, data)
    broken = output_breaches(str(output), data, store.get(output.name))
    if broken:
        raise ConfigError(str(broken[0]))


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files below a folder, which is made. Raises ConfigError."""
    check_folder(folder)
    for name, data in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        write(target, data)


def check_output(output: Path | None) -> None:
    """Raises ConfigError, before any work, when an output file cannot be one: a folder, or in none."""
    if output is not None and output.is_dir():
        raise ConfigError(f"cannot write {output}: it is a folder")
    if output is not None:
        output_store(output)


def check_folder(output: Path | None) -> None:
    """Raises ConfigError, before any work, when an output folder cannot be made."""
    if output is None:
        return
    there = next(one for one in (output.absolute(), *output.absolute().parents) if one.exists())
    if not there.is_dir():
        raise ConfigError(f"cannot write {output}: {there.name} is no folder")
    if not os.access(there, os.W_OK):
        raise ConfigError(f"cannot write {output}: nothing may be written in {there}")
