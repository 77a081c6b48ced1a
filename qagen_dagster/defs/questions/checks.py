"""Asset checks: what every validated and every published set must hold."""

from __future__ import annotations

from collections import Counter

import dagster as dg

from qagen_dagster.loop.questions.publish import Published
from qagen_dagster.loop.questions.validated_set import broken_evidence, results_of
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.ids import Combination, normalise
from qagen_dagster.records.questions.results import CandidateSet, QAPair, ValidatedSet

VALIDATED_CHECKS = [
    dg.AssetCheckSpec(
        "no_duplicates", asset="validated_qa", description="No two questions have the same words."
    ),
    dg.AssetCheckSpec(
        "validator_differs",
        asset="validated_qa",
        description="No question was validated by the model that asked it.",
    ),
    dg.AssetCheckSpec(
        "pass_rate",
        asset="validated_qa",
        description="Share of validated candidates that passed; warns below min_pass_rate.",
    ),
]
PUBLISHED_CHECKS = [
    dg.AssetCheckSpec(
        "evidence_in_document",
        asset="corpus_json",
        description="Every quote stands in its document, on the lines it names.",
    )
]


def validated_results(
    space: Workspace, combination: Combination, validated: ValidatedSet
) -> list[dg.AssetCheckResult]:
    """Results of VALIDATED_CHECKS."""
    words = Counter(normalise(pair.question) for pair in validated.questions)
    repeated = [text for text, count in words.items() if count > 1]
    same = [pair.id for pair in validated.questions if _validated_by_itself(pair)]
    return [
        dg.AssetCheckResult(
            check_name="no_duplicates", passed=not repeated, metadata={"duplicates": len(repeated)}
        ),
        dg.AssetCheckResult(
            check_name="validator_differs", passed=not same, metadata={"questions": len(same)}
        ),
        _pass_rate(space, combination),
    ]


def published_results(
    space: Workspace, combination: Combination, published: Published
) -> list[dg.AssetCheckResult]:
    """Results of PUBLISHED_CHECKS."""
    questions = published.eval_set.questions
    broken = broken_evidence(space, combination.corpus, questions)
    share = 1.0 if not questions else 1 - len(broken) / len(questions)
    return [
        dg.AssetCheckResult(
            check_name="evidence_in_document",
            passed=not broken,
            metadata={"share_proven": share, "broken": len(broken)},
        )
    ]


def _validated_by_itself(pair: QAPair) -> bool:
    made = pair.generation_metadata
    return made.generator_model.casefold() == made.validator_model.casefold()


def _pass_rate(space: Workspace, combination: Combination) -> dg.AssetCheckResult:
    results = results_of(space, space.store.read(CandidateSet.key(combination), CandidateSet))
    validated = sum(len(result.verdicts) for result in results)
    passed = sum(len(result.accepted) for result in results)
    wanted = space.corpus(combination.corpus).scenario(combination.scenario).min_pass_rate
    rate = passed / validated if validated else None
    return dg.AssetCheckResult(
        check_name="pass_rate",
        passed=rate is None or rate >= wanted,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={"validated": validated, "passed": passed, "wanted": wanted}
        | ({} if rate is None else {"pass_rate": round(rate, 4)}),
    )
