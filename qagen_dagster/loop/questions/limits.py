"""When the work on a document ends: how many questions a run wants, and after how many attempts and failures it stops."""

from __future__ import annotations

from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.base import Record
from qagen_dagster.records.corpus import BatchOptions, QuestionType, ScenarioConfig, Strategy
from qagen_dagster.records.grading import Method
from qagen_dagster.records.ids import Combination, digest
from qagen_dagster.records.questions.results import CandidateDocument, CandidateSet

Wanted = tuple[tuple[QuestionType, int], ...]
_LEAST = ("max_attempts", "max_consecutive_failures")


class QALimits(Record):
    """When the loop of a document ends."""

    target_count: int
    max_consecutive_failures: int
    max_attempts: int


class BatchLimits(QALimits):
    """When work on a document by the batch strategy ends. `target_count` is the sum of the mix if there is one."""

    options: BatchOptions
    method: Method

    def wanted(self, document_id: str) -> Wanted:
        """The number of questions of each type, in order, without types that have 0.

        Without a mix the target is spread evenly. The remainder goes to other types from document to document, so that a corpus has
        about the same number of each.
        """
        if self.options.mix is not None:
            return tuple(self.options.mix.items())
        types = tuple(dict.fromkeys(self.options.question_types or self.options.complexity.question_types))
        each, more = divmod(self.target_count, len(types))
        first = int(digest(document_id)[:8], 16) % len(types)
        counts = {kind: each + ((place - first) % len(types) < more) for place, kind in enumerate(types)}
        return tuple((kind, count) for kind, count in counts.items() if count)


def batch_limits(scenario: ScenarioConfig, target_count: int | None) -> BatchLimits:
    """The limits of a scenario. A mix replaces the target."""
    options = scenario.batch or BatchOptions()
    target = sum(options.mix.values()) if options.mix is not None else target_count or scenario.target_count
    return BatchLimits(
        target_count=target,
        max_consecutive_failures=scenario.max_consecutive_failures,
        max_attempts=scenario.max_attempts or max(10, 4 * target),
        options=options,
        method=scenario.grading.method,
    )


def limits_of(scenario: ScenarioConfig, target_count: int | None) -> QALimits:
    """The limits of the loop, with `target_count` in place of the scenario's if it is given."""
    if scenario.strategy is Strategy.BATCH:
        return batch_limits(scenario, target_count)
    target = target_count or scenario.target_count
    return QALimits(
        target_count=target,
        max_consecutive_failures=scenario.max_consecutive_failures,
        max_attempts=scenario.max_attempts or max(10, 4 * target),
    )


def wanted_limits(
    workspace: Workspace, combination: Combination, profile: str, target_count: int | None, *, replace: bool
) -> QALimits:
    """The limits of a run with a profile. `target_count` replaces the scenario's if it is given.

    Without `replace` they are at least those of the set that the same profile made: a run adds questions.
    """
    scenario = workspace.corpus(combination.corpus).scenario(combination.scenario)
    limits = limits_of(scenario, target_count)
    made = workspace.store.find_head(CandidateSet.key(combination), CandidateSet, CandidateDocument)
    mix = mix_of(limits)
    if made is None or replace or (mix is None) != (made.mix is None) or made.profile != profile:
        return limits
    if isinstance(limits, BatchLimits) and mix is not None and made.mix is not None:
        most = {kind: max(mix.get(kind, 0), made.mix.get(kind, 0)) for kind in (*made.mix, *mix)}
        options_of_mix = limits.options.model_copy(update={"mix": most})
        limits = batch_limits(scenario.model_copy(update={"batch": options_of_mix}), None)
    else:
        limits = limits_of(scenario, max(limits.target_count, made.target_count))
    least = {name: max(getattr(limits, name), getattr(made, name)) for name in _LEAST}
    return limits.model_copy(update=least)


def mix_of(limits: QALimits) -> dict[QuestionType, int] | None:
    """The number of questions of each type that a scenario asks for; None without a mix."""
    return limits.options.mix if isinstance(limits, BatchLimits) else None
