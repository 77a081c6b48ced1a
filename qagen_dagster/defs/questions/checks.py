"""Asset checks of validated and published sets."""

from collections import Counter

import dagster as dg

from qagen_dagster.defs.check_results import failing_result, warning_result
from qagen_dagster.loop.questions.publication.publish import Published, broken_evidence
from qagen_dagster.loop.questions.validated_set import results_of
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.ids import Combination, normalise
from qagen_dagster.records.questions.results import CandidateSet, QAPair, ValidatedSet

VALIDATED_CHECKS = {
    "no_duplicates": "Fails when two questions have the same words.",
    "validator_differs": "Fails when a question was validated by the model that generated it.",
    "pass_rate": "The share of validated candidates that were accepted. "
    "Warns when it is below `min_pass_rate` of the scenario.",
}
PUBLISHED_CHECKS = {
    "evidence_in_document": "Fails when a question has no evidence, or a quote is not in its document on the lines that it names."
}


def validated_results(
    space: Workspace, combination: Combination, validated: ValidatedSet
) -> list[dg.AssetCheckResult]:
    questions = validated.questions
    words = Counter(normalise(pair.question) for pair in questions)
    duplicates = [pair.id for pair in questions if words[normalise(pair.question)] > 1]
    same = [pair.id for pair in questions if _is_validated_by_generator(pair)]
    count = {"questions": len(questions)}
    return [
        failing_result("no_duplicates", duplicates, count),
        failing_result("validator_differs", same, count),
        _pass_rate(space, combination),
    ]


def published_results(
    space: Workspace, combination: Combination, published: Published
) -> list[dg.AssetCheckResult]:
    questions = published.eval_set.questions
    broken = broken_evidence(space, combination.corpus, questions)
    return [failing_result("evidence_in_document", broken, {"questions": len(questions)})]


def _is_validated_by_generator(pair: QAPair) -> bool:
    models = pair.generation_metadata
    return models.generator_model.casefold() == models.validator_model.casefold()


def _pass_rate(space: Workspace, combination: Combination) -> dg.AssetCheckResult:
    candidates = space.store.read(CandidateSet.key(combination), CandidateSet)
    counts = [(len(result.verdicts), len(result.accepted)) for result in results_of(space, candidates)]
    validated, accepted = (sum(count) for count in zip(*counts, strict=True)) if counts else (0, 0)
    minimum = space.corpus(combination.corpus).scenario(combination.scenario).min_pass_rate
    rate = accepted / validated if validated else None
    numbers = {"validated": validated, "accepted": accepted, "minimum": minimum}
    measured = {} if rate is None else {"pass_rate": round(rate, 4)}
    return warning_result("pass_rate", rate is None or rate >= minimum, numbers | measured)
