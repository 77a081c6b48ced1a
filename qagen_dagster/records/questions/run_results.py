"""The records that a run of a combination keeps for the catalog: its plan, and the result of each document.

A later run writes its own records and does not change these.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Self

from qagen_dagster.records.base import Record
from qagen_dagster.records.corpus_options import Strategy
from qagen_dagster.records.ids import OfCombination
from qagen_dagster.records.questions.results import (
    CONTROLLED,
    CandidateDocument,
    DocumentEnd,
    GenerationResult,
)
from qagen_dagster.records.run import CallSummary, Usage

PLAN, RESULTS, REMOVED = "plan.json", "results.json", "removed.json"  # REMOVED holds a ValidatedSet


class RunPlan(OfCombination):
    """The plan of a run: the models, the prompts, and the texts of the corpus and the scenario."""

    run_id: str
    started: str  # ISO 8601, UTC
    profile: str
    models: dict[str, str]  # role -> provider:model
    prompts: dict[str, str]  # prompt name -> hash
    fingerprint: str
    target_count: int
    strategy: Strategy
    corpus_name: str
    corpus_context: str
    scenario_name: str
    scenario_description: str


class RunCost(Record):
    """The cost of calls. Replayed calls cost nothing, so only their number is counted."""

    calls: int = 0
    replayed_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0  # cost of the calls with a known price; None: no price is known
    unknown_price_calls: int = 0
    seconds: float = 0.0

    @classmethod
    def on(cls, calls: Sequence[CallSummary | Usage]) -> Self:
        paid = [call for call in calls if not call.replayed]
        prices = [call.usd for call in paid if call.usd is not None]
        return cls(
            calls=len(paid),
            replayed_calls=len(calls) - len(paid),
            input_tokens=sum(call.input_tokens for call in paid),
            output_tokens=sum(call.output_tokens for call in paid),
            usd=sum(prices) if prices or not paid else None,
            unknown_price_calls=len(paid) - len(prices),
            seconds=sum(call.seconds for call in paid),
        )


class RunDocument(Record):
    """The result of one document in a run, before corpus-wide deduplication, as numbers.

    `validated`, `passed`, `reused`, and the counts by reason and type are None if the result no longer exists.
    """

    document_id: str
    document_version: str
    end: DocumentEnd
    detail: str = ""
    accepted: int = 0
    rejected: int = 0
    validated: int | None = None  # candidates with a verdict
    passed: int | None = None  # candidates with a positive verdict that code did not reject afterwards
    rejected_by_reason: dict[str, int] | None = None
    accepted_by_type: dict[str, int] | None = None
    reused: bool | None = None  # whether an earlier run made the result and paid for it
    spent: RunCost | None = None  # None: the result was reused, or it no longer exists

    @classmethod
    def of(cls, run_id: str, line: CandidateDocument, result: GenerationResult | None) -> Self:
        """The numbers of the entry `line` in the candidate set of a run. `result` is None if the result no longer exists."""
        if result is not None:
            return cls.made(run_id, result)
        return cls(**line.shared(cls), detail=line.end_detail)

    @classmethod
    def made(cls, run_id: str, result: GenerationResult) -> Self:
        """The numbers of `result` in the run `run_id`, which made or reused the result."""
        reused = result.run_id != run_id
        controlled = {pair.attempt_number for pair in result.rejected if pair.rejection_reason in CONTROLLED}
        return cls(
            **result.shared(cls, accepted=len(result.accepted), rejected=len(result.rejected)),
            detail=result.end_detail,
            validated=len(result.verdicts),
            passed=sum(verdict.passed and verdict.attempt not in controlled for verdict in result.verdicts),
            rejected_by_reason=Counter(pair.rejection_reason.value for pair in result.rejected),
            accepted_by_type=Counter(accepted.question_type for accepted in result.accepted),
            reused=reused,
            spent=None if reused else RunCost.on(result.calls),
        )


class RunResults(OfCombination):
    """The results of all documents of a combination in one run, as numbers."""

    run_id: str
    documents: tuple[RunDocument, ...]
