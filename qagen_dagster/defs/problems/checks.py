"""Asset checks of banks of physics problems."""

from collections import Counter

import dagster as dg

from qagen_dagster.defs.check_results import WARN, failing_result
from qagen_dagster.loop.problems.bank import PublishedBank, broken_items
from qagen_dagster.publishing.problems.tex_project import left_out
from qagen_dagster.records.ids import normalise
from qagen_dagster.records.problems.result import CompileOutcome

PROBLEM_CHECKS = {
    "properties_hold": "Checks every item, variant, conversion and alternate solution again. Fails when one no "
    "longer has the properties that it was accepted for.",
    "no_duplicates": "Warns when two items of the bank ask the same question.",
    "latex_compiles": "Warns when LaTeX of the bank failed to compile. `not_compiled` counts LaTeX "
    "that was not compiled because there is no TeX engine.",
    "nothing_is_flagged": "Warns when a person should look at a problem: its classification is unsure, or a task "
    "ended with a warning.",
    "harmless": "Warns when an item has LaTeX that is not on the list of allowed commands and environments. The TeX "
    "project leaves such items out.",
}


def problem_results(found: PublishedBank) -> list[dg.AssetCheckResult]:
    items = found.export.items
    broken = broken_items(found.bank)
    texts = Counter(normalise(f"{one.statement} {[option.text for option in one.options]}") for one in items)
    duplicates = [one for one, count in texts.items() if count > 1]
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
        failing_result("no_duplicates", duplicates, count, WARN),
        failing_result("latex_compiles", failing, {"checked": len(compiled), "not_compiled": unseen}, WARN),
        failing_result("nothing_is_flagged", flagged, {"problems": len(found.bank.accepted)}, WARN),
        failing_result("harmless", left_out(found.export), count, WARN),
    ]
