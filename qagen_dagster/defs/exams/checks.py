"""Asset checks: what every bank of exam items must hold."""

from __future__ import annotations

from collections import Counter

import dagster as dg

from qagen_dagster.defs.check_results import failing_result
from qagen_dagster.loop.exams.bank import Bank
from qagen_dagster.publishing.mathml import mathml
from qagen_dagster.publishing.segments import split
from qagen_dagster.records.exams.bank import ExamItem
from qagen_dagster.records.exams.proof import ProofStatus
from qagen_dagster.records.ids import normalise

BANK_CHECKS = [
    dg.AssetCheckSpec(
        "keys_confirmed",
        asset="item_bank",
        description="Every key was reached by a verifier that did not know it, and no computation refutes it.",
    ),
    dg.AssetCheckSpec(
        "no_repeats", asset="item_bank", description="No two items have one stem, no item two equal options."
    ),
    dg.AssetCheckSpec(
        "verifier_differs",
        asset="item_bank",
        description="No item was verified by the model that implemented it.",
    ),
    dg.AssetCheckSpec(
        "formulas_can_be_set",
        asset="item_bank",
        description="Every formula of stems and options can be typeset; warns of those that cannot.",
    ),
]


def bank_results(found: Bank) -> list[dg.AssetCheckResult]:
    """Results of BANK_CHECKS."""
    items = found.bank.items
    wrong = [item.id for item in items if not _confirmed(item)]
    stems = Counter(normalise(item.question.stem) for item in items)
    repeated = sum(count - 1 for count in stems.values())
    twins = [
        item.id for item in items if len(set(item.question.options.values())) < len(item.question.options)
    ]
    same = [item.id for item in items if item.models.get("verifier") == item.models.get("implementer")]
    unset = [item.id for item in items if not _can_be_set(item)]
    proven = sum(item.proof.status is ProofStatus.PROVEN for item in items)
    return [
        failing_result("keys_confirmed", wrong, {"items": len(items), "proven_by_computation": proven}),
        failing_result(
            "no_repeats", twins if not repeated else [*twins, "stems"], {"repeated_stems": repeated}
        ),
        failing_result("verifier_differs", same, {"items": len(items)}),
        failing_result("formulas_can_be_set", unset, {"items": len(items)}, dg.AssetCheckSeverity.WARN),
    ]


def _confirmed(item: ExamItem) -> bool:
    reached = item.blind_solution.right == (item.question.correct_option,)
    return reached and item.proof.status is not ProofStatus.REFUTED


def _can_be_set(item: ExamItem) -> bool:
    texts = (item.question.stem, *item.question.options.values())
    formulas = (segment for text in texts for segment in split(text) if segment.kind != "prose")
    return all(mathml(segment.text) is not None for segment in formulas)
