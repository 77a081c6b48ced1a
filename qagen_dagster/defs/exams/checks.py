"""Asset checks of banks of exam items."""

from collections import Counter

import dagster as dg

from qagen_dagster.defs.check_results import WARN, failing_result
from qagen_dagster.loop.exams.bank import Bank
from qagen_dagster.publishing.markup import FORMULAS, mathml, split
from qagen_dagster.records.exams.bank import ExamItem, ProofStatus
from qagen_dagster.records.ids import normalise

BANK_CHECKS = {
    "keys_confirmed": "Fails when the verifier, which does not see the key, found another one, or when the "
    "computation refutes the key.",
    "no_duplicates": "Fails when two items have the same stem, or two options of an item are equal.",
    "verifier_differs": "Fails when an item was verified by the model that implemented it.",
    "formulas_can_be_set": "Warns when a formula in a stem or an option cannot be typeset.",
}


def bank_results(found: Bank) -> list[dg.AssetCheckResult]:
    items = found.bank.items
    wrong = [item.id for item in items if not _confirmed(item)]
    stems = Counter(normalise(item.question.stem) for item in items)
    duplicates = [
        item.id for item in items if stems[normalise(item.question.stem)] > 1 or _equal_options(item)
    ]
    same = [item.id for item in items if item.models.get("verifier") == item.models.get("implementer")]
    unset = [item.id for item in items if not _can_be_set(item)]
    proven = sum(item.proof.status is ProofStatus.PROVEN for item in items)
    count = {"items": len(items)}
    return [
        failing_result("keys_confirmed", wrong, count | {"also_computed_by_the_form": proven}),
        failing_result("no_duplicates", duplicates, count),
        failing_result("verifier_differs", same, count),
        failing_result("formulas_can_be_set", unset, count, WARN),
    ]


def _equal_options(item: ExamItem) -> bool:
    return len(set(item.question.options.values())) < len(item.question.options)


def _confirmed(item: ExamItem) -> bool:
    unsolved = bool(item.edited) and not item.blind_solution.right
    reached = unsolved or item.blind_solution.right == (item.question.correct_option,)
    return reached and item.proof.status is not ProofStatus.REFUTED


def _can_be_set(item: ExamItem) -> bool:
    texts = (item.question.stem, *item.question.options.values())
    formulas = (segment for text in texts for segment in split(text) if segment.kind in FORMULAS)
    return all(mathml(segment.text) is not None for segment in formulas)
