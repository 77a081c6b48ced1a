"""The metadata of problem sets for the UI: outcomes of problems and tasks, files, cost."""

from collections import Counter

from qagen_dagster.configuration.problems import ProblemSet
from qagen_dagster.defs.metadata import (
    ROW_COUNT,
    Metadata,
    cost,
    count_table,
    markdown_table,
    review_page,
    uri,
)
from qagen_dagster.loop.problems.bank import (
    EXPORTS,
    PublishedBank,
    items_of,
    not_usable,
)
from qagen_dagster.loop.problems.plan import SetPlan
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.problems.result import ProblemBank, ProblemSources, Stage, TaskResult
from qagen_dagster.records.review import problem_set_key


def of_sources(problem_set: ProblemSet, found: ProblemSources) -> Metadata:
    """The settings of problems.yaml, a row per file, a row per problem."""
    config = problem_set.config
    files = [(one.file, one.problems) for one in found.sources]
    rows = [(one.id, one.source_path, one.input.value, one.kind, one.tex) for one in found.problems]
    requested = {
        "variants": [one.value for one in config.variants],
        "variants_each": config.variants_each,
        "alternates": config.alternates,
        "conversions": [one.value for one in config.conversions],
        "combine": [list(one) for one in config.combine],
    }
    return {
        ROW_COUNT: len(found.problems),
        "name": config.name,
        "requested": requested,
        "files": markdown_table(("file", "problems"), files),
        "problems": markdown_table(("id", "source", "input", "kind", "TeX"), rows),
    }


def of_stage(plan: SetPlan, bank: ProblemBank, stage: Stage, fresh: int) -> Metadata:
    """The outcomes of the stage's tasks, failures, repairs, warnings, cost. `fresh`: how many problems have new results."""
    tasks = [(one.id, task) for one in bank.problems for task in one.tasks if task.task.stage is stage]
    ends = Counter(task.end.value for _, task in tasks)
    rejected = [(name, task.task.key, task.end.value, task.detail) for name, task in tasks if not task.end.ok]
    repaired = [
        (name, task.task.key, "; ".join(map(str, task.repaired))) for name, task in tasks if task.repaired
    ]
    warned = [(name, task.task.key, warning) for name, task in tasks for warning in task.warnings]
    rows = [(name, task.task.key, task.end.value, _in_one_line(task), task.model) for name, task in tasks]
    return {
        ROW_COUNT: sum(task.end.ok for _, task in tasks),
        "problems_with_new_results": fresh,
        "outcomes": count_table(ends, "outcome"),
        "results": markdown_table(("problem", "task", "outcome", "result", "model"), rows),
        "failed_tasks": markdown_table(("problem", "task", "outcome", "reason"), rejected),
        "repaired": markdown_table(("problem", "task", "what was wrong before the repair"), repaired),
        "warnings": markdown_table(("problem", "task", "warning"), warned),
        "profile": plan.profile_name,
        **cost(call for _, task in tasks for call in task.calls),
    }


def of_bank(space: Workspace, found: PublishedBank) -> Metadata:
    """The outcome of every problem, files, cost."""
    bank, items = found.bank, found.export.items
    ends = Counter(one.end.value for one in bank.problems)
    rows = [
        (
            one.id,
            one.end.value,
            one.classification.question_type.value if one.classification else "",
            one.classification.topic if one.classification else "",
            ", ".join(item.made for item in items_of(one)),
            len(one.alternates),
            "; ".join((one.detail, *one.withdrawn.values())).strip("; "),
        )
        for one in bank.problems
    ]
    exports = {name.partition(f"/{EXPORTS}/")[2]: name for name in found.paths if f"/{EXPORTS}/" in name}
    unusable = not_usable(bank)
    calls = [call for one in bank.problems for task in one.tasks for call in task.calls]
    return {
        ROW_COUNT: len(items),
        "problems": len(bank.problems),
        "accepted": len(bank.accepted) - len(unusable),
        "not_usable": [f"{name} {why}" for name, why in unusable.items()],
        "outcomes": count_table(ends, "outcome"),
        "items_by_kind": dict(Counter(item.made for item in items)),
        "bank": markdown_table(
            ("problem", "outcome", "question type", "topic", "items", "other solutions", "reason"), rows
        ),
        "not_combined": markdown_table(("reason",), [(line,) for line in found.missing]),
        "exports": exports,
        "changed": list(found.changed),
        **review_page(problem_set_key(bank.name)),
        **uri(space.store, ProblemBank.file_key(bank.name, "bank.json"), "problem_items"),
        **cost(calls, len(items)),
    }


def _in_one_line(task: TaskResult) -> str:
    if task.classification is not None:
        one = task.classification
        return (
            f"{one.question_type.value}, {one.difficulty.value}, {one.topic}, confidence {one.confidence:g}"
        )
    if task.ideas is not None:
        return ", ".join((*task.ideas.concepts, *task.ideas.techniques))
    if task.alternate is not None:
        return f"{task.alternate.method}: {task.alternate.final_answer}"
    if task.tikz is not None:
        return task.tikz.tikz_code
    latex = task.scan or task.variant or task.conversion
    return latex.latex if latex is not None else task.detail
