"""From what was made of a set's problems to its bank: items taken apart, files and exports.

The bank is derived: it can be made again from the results of the tasks at any time, and costs nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from qagen_dagster.configuration.problems import ProblemSet
from qagen_dagster.errors import ConfigError, StoreError
from qagen_dagster.latex.answers import final_answer
from qagen_dagster.latex.structure import (
    environments,
    has_environment,
    options_of,
    solution_of,
    statement_of,
)
from qagen_dagster.loop.problem import FULL
from qagen_dagster.loop.problem_plan import ProblemOptions, SetPlan, plan_set, wishes_of
from qagen_dagster.loop.problem_record import pipeline_result
from qagen_dagster.loop.problem_set import gather_bank, gather_record
from qagen_dagster.loop.problem_sources import combined
from qagen_dagster.loop.problem_text import with_diagram
from qagen_dagster.loop.problem_tools import engine_compiler, find_references
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.publishing.problem.registry import PROBLEM_EXPORTERS
from qagen_dagster.records.problem import Problem
from qagen_dagster.records.problem_export import ORIGINAL, BankExport, BankItem, BankOption
from qagen_dagster.records.problem_result import ProblemBank, ProblemRecord, Stage
from qagen_dagster.records.problem_source import ProblemSources
from qagen_dagster.store import Keys

SOURCES = "sources.json"
FILES = ("bank.json", "results.jsonl")
EXPORTS = "exports"


@dataclass(frozen=True)
class PublishedBank:
    """What a set has now, where its files lie, and which of them changed."""

    bank: ProblemBank
    export: BankExport
    paths: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


def read_sources(space: Workspace, key: str) -> ProblemSources:
    """The problems of a set as they were last read. Raises StoreError when they never were."""
    found = space.store.find(Keys.problem_file(key, SOURCES), ProblemSources)
    if found is None:
        raise StoreError(f"problem set {key} has not been read: materialize problem_sources first")
    return found


def plan_problem_set(
    space: Workspace, problem_set: ProblemSet, options: ProblemOptions | None = None
) -> SetPlan:
    """Plan a set of the corpora as its author wants it, problems that others are combined to included.

    Raises ConfigError, StoreError.
    """
    wished, config = options or ProblemOptions(), problem_set.config
    references, _ = find_references(space, problem_set.references)
    seed = config.seed if wished.seed is None else wished.seed
    plan = plan_set(
        space,
        problem_set.key,
        read_sources(space, problem_set.key).problems,
        wishes_of(problem_set, FULL),
        replace(wished, profile=wished.profile or config.profile, seed=seed),
        compiler=engine_compiler(),
        references=references,
    )
    merged = tuple(_combined(space, plan, problem_set))
    return replace(plan, problems=(*plan.problems, *merged))


def items_of(record: ProblemRecord) -> Iterator[BankItem]:
    """The problem itself, its variants and its conversions."""
    tikz = record.tikz.tikz_code if record.tikz is not None else ""
    if record.latex.strip():
        whole = with_diagram(record.latex, tikz)
        alternates = tuple(one.solution for one in record.alternates)
        yield _item(record, ORIGINAL, whole).model_copy(update={"alternates": alternates})
    for made, latex in (*record.variants.items(), *record.conversions.items()):
        yield _item(record, made, latex)


def export_of(bank: ProblemBank) -> BankExport:
    """The accepted part of a bank."""
    accepted = bank.accepted
    libraries = [one for record in accepted if record.tikz is not None for one in record.tikz.libraries]
    preambles = [record.problem.preamble for record in accepted if record.problem.preamble.strip()]
    return BankExport(
        name=bank.name,
        title=bank.title,
        items=tuple(item for record in accepted for item in items_of(record)),
        preambles=tuple(dict.fromkeys(preambles)),
        libraries=tuple(dict.fromkeys(libraries)),
    )


def export_files(export: BankExport) -> dict[str, bytes]:
    """The files of every export format."""
    return {path: data for one in PROBLEM_EXPORTERS for path, data in one.export(export).items()}


def bank_files(bank: ProblemBank) -> dict[str, bytes]:
    """bank.json (every problem of the set, rejected ones too) and results.jsonl (what the pipeline gave of the others)."""
    results = [found for one in bank.accepted if (found := pipeline_result(one)) is not None]
    lines = "".join(f"{one.model_dump_json()}\n" for one in results)
    return dict(zip(FILES, (f"{bank.model_dump_json(indent=1)}\n".encode(), lines.encode()), strict=True))


def publish_problem_bank(space: Workspace, plan: SetPlan, title: str, run_id: str) -> PublishedBank:
    """Write the bank's files and all its exports; what changed of the former is kept under the run, too."""
    bank = gather_bank(space, plan, title)
    export = export_of(bank)
    files = bank_files(bank) | {f"{EXPORTS}/{path}": data for path, data in export_files(export).items()}
    changed: list[str] = []
    for path, data in files.items():
        if space.store.write_if_changed(Keys.problem_file(plan.name, path), data):
            changed.append(path)
            if path in FILES:
                space.store.write_bytes(Keys.problem_history(plan.name, run_id, path), data)
    paths = tuple(space.store.path(Keys.problem_file(plan.name, path)) for path in files)
    return PublishedBank(bank, export, paths, tuple(changed))


def stage_counts(bank: ProblemBank) -> dict[Stage, Counter[str]]:
    """Of every stage, how many tasks ended how."""
    found: dict[Stage, Counter[str]] = {stage: Counter() for stage in Stage}
    for record in bank.problems:
        for task in record.tasks:
            found[task.task.stage][task.end.value] += 1
    return found


def _item(record: ProblemRecord, made: str, latex: str) -> BankItem:
    options = tuple(BankOption(text=one.text, right=one.right) for one in options_of(latex))
    statement = statement_of(latex)
    for start, end in reversed(environments(statement, "tasks") if has_environment(latex, "tasks") else ()):
        statement = f"{statement[:start].rstrip()}\n{statement[end:].lstrip()}".strip()
    solution = solution_of(latex)
    return BankItem(
        id=record.id if made == ORIGINAL else f"{record.id}--{made}",
        problem=record.id,
        made=made,
        latex=latex,
        statement=statement,
        options=options,
        solution=solution,
        answer=final_answer(solution) if solution else None,
        source_path=record.problem.source_path,
        classification=record.classification,
        ideas=record.ideas,
    )


def _combined(space: Workspace, plan: SetPlan, problem_set: ProblemSet) -> Iterator[Problem]:
    """Problems that others are combined to, once all of these have LaTeX."""
    config = problem_set.config
    known = {one.id for one in plan.problems}
    for number, group in enumerate(config.combine, 1):
        unknown = [one for one in group if one not in known]
        if unknown:
            raise ConfigError(f"combine names {', '.join(unknown)}; there are: {', '.join(sorted(known))}")
        parts = [gather_record(space, plan, plan.problem(one)).latex for one in group]
        if all(part.strip() for part in parts):
            yield combined(f"combined-{number}", ", ".join(group), parts, config.target_style)
