"""Asset checks: what every bank of physics problems must hold."""

from __future__ import annotations

from collections import Counter

import dagster as dg

from qagen_dagster.defs.check_results import failing_result
from qagen_dagster.loop.problems.bank import PublishedBank, broken_items
from qagen_dagster.publishing.problems.tex_project import hostile
from qagen_dagster.records.ids import normalise
from qagen_dagster.records.problems.result import CompileOutcome

PROBLEM_CHECKS = [
    dg.AssetCheckSpec(
        "properties_hold",
        asset="problem_bank",
        description="Every item, variant, conversion and alternate has the properties it was accepted for, looked at anew.",
    ),
    dg.AssetCheckSpec(
        "no_repeats", asset="problem_bank", description="No two items of the bank ask the same; warns."
    ),
    dg.AssetCheckSpec(
        "latex_compiles",
        asset="problem_bank",
        description="No LaTeX of the bank failed to compile; warns. Says how much no engine looked at.",
    ),
    dg.AssetCheckSpec(
        "nothing_is_flagged",
        asset="problem_bank",
        description="No classification is unsure and nothing is missing; warns of what a person should look at.",
    ),
    dg.AssetCheckSpec(
        "harmless",
        asset="problem_bank",
        description="No item has a command that reads or writes files; warns, for the TeX project leaves those out.",
    ),
]
_WARN = dg.AssetCheckSeverity.WARN


def problem_results(found: PublishedBank) -> list[dg.AssetCheckResult]:
    """Results of PROBLEM_CHECKS."""
    items = found.export.items
    broken = broken_items(found.bank)
    seen = Counter(normalise(f"{one.statement} {[option.text for option in one.options]}") for one in items)
    twice = [one for one, count in seen.items() if count > 1]
    compiled = [
        (f"{record.id}--{task.task.key}", task.compiled.outcome)
        for record in found.bank.accepted
        for task in record.tasks
        if task.compiled is not None
    ]
    failing = [name for name, outcome in compiled if outcome is CompileOutcome.FAILED]
    unseen = sum(outcome is CompileOutcome.NOT_COMPILED for _, outcome in compiled)
    flagged = [one.id for one in found.bank.accepted if one.flagged]
    count = {"items": len(items)}
    return [
        failing_result("properties_hold", [f"{name}: {why}" for name, why in broken.items()], count),
        failing_result("no_repeats", twice, count, _WARN),
        failing_result(
            "latex_compiles", failing, {"looked_at": len(compiled), "not_compiled": unseen}, _WARN
        ),
        failing_result("nothing_is_flagged", flagged, {"problems": len(found.bank.accepted)}, _WARN),
        failing_result("harmless", [one.id for one in items if hostile(one.latex)], count, _WARN),
    ]
