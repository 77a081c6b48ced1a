"""Counts the results of an exam: outcomes, the checks that failed attempts, costs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from qagen_dagster.configuration.exams.loading import Exam
from qagen_dagster.loop.calls import unique_calls
from qagen_dagster.loop.exams.findings import finding_of
from qagen_dagster.records.exams.bank import BankStats, Counts, ExamItem, PartSet, RejectedItem
from qagen_dagster.records.exams.config import StyleThresholds
from qagen_dagster.records.exams.result import SlotResult, Stage


def stats_of(
    exam: Exam,
    sets: Sequence[PartSet],
    results: Sequence[SlotResult],
    items: Sequence[ExamItem],
    left_out: Sequence[RejectedItem],
) -> BankStats:
    """The counts of a whole exam. Items that passed all checks, but are not in the bank, are `left_out`."""
    rejected = [*(one.rejected for one in results if one.rejected is not None), *left_out]
    every: list[tuple[str, str, str]] = [
        (one.schema_id, one.difficulty.value, kind)
        for kind, group in (("accepted", items), ("rejected", rejected))
        for one in group
    ]
    calls = unique_calls(call for result in results for call in result.calls)
    prices = [call.usd for call in calls]
    return BankStats(
        exam=exam.key,
        name=exam.config.name,
        accepted=len(items),
        rejected=len(rejected),
        unfinished=sum(one.unfinished for one in sets),
        by_schema=_counts((schema, kind) for schema, _, kind in every),
        by_difficulty=_counts((difficulty, kind) for _, difficulty, kind in every),
        by_part=_counts((f"{schema}/{difficulty}", kind) for schema, difficulty, kind in every),
        failure_types=dict(Counter(one.failure_type for one in rejected)),
        caught_by=caught_by(results, exam.config.thresholds) | Counter(one.stage for one in left_out),
        proofs=dict(Counter(item.proof.status.value for item in items)),
        first_time=sum(item.attempts == 1 for item in items),
        attempts=sum(len(result.attempts) for result in results),
        calls=len(calls),
        input_tokens=sum(call.input_tokens for call in calls),
        output_tokens=sum(call.output_tokens for call in calls),
        usd=None if None in prices else float(sum(price or 0.0 for price in prices)),
        models=_models(sets, results),
    )


def caught_by(results: Iterable[SlotResult], thresholds: StyleThresholds) -> dict[str, int]:
    """The number of failed attempts and failed designs, by the check that found the failure."""
    return dict(Counter(_stages(results, thresholds)))


def _stages(results: Iterable[SlotResult], thresholds: StyleThresholds) -> Iterator[str]:
    for result in results:
        if result.plan is None and result.rejected is not None:
            yield Stage.DESIGNER.value
        for attempt in result.attempts:
            finding = finding_of(attempt, thresholds)
            if finding is not None:
                yield finding.stage.value


def _counts(pairs: Iterable[tuple[str, str]]) -> dict[str, Counts]:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for name, kind in pairs:
        found[name][kind] += 1
    return {
        name: Counts(accepted=one["accepted"], rejected=one["rejected"])
        for name, one in sorted(found.items())
    }


def _models(sets: Sequence[PartSet], results: Sequence[SlotResult]) -> dict[str, list[str]]:
    """By role; `results` are those of the sets, in order, and others."""
    found: dict[str, set[str]] = defaultdict(set)
    parts = [one.part for one in sets]
    listed = [one for one in results if one.part in parts]
    keys = ((one, key) for one in sets for key in one.results)
    of_results = (
        made.models_of(key, one.item or one.rejected) for (made, key), one in zip(keys, listed, strict=True)
    )
    for models in (*(one.models for one in sets if one.slots), *of_results):
        for role, model in models.items():
            found[role].add(model)
    return {role: sorted(models) for role, models in sorted(found.items())}
