"""The set to publish and the interface of export formats: a set becomes files by relative path. Nothing is written to disk."""

from __future__ import annotations

from pydantic import AwareDatetime

from qagen_dagster.records.base import Record
from qagen_dagster.records.ids import Mode
from qagen_dagster.records.questions.published import (
    CorpusGenerationResult,
    PublishedQuestion,
    RejectedQuestion,
)
from qagen_dagster.records.questions.results import RetiredQA
from qagen_dagster.records.review import ReviewFacts


class SetFacts(Record):
    """How a set was made: configuration, plan, and what was spent. `planned_by_type` is empty where any type was welcome."""

    corpus_context: str
    scenario_name: str
    scenario_description: str
    profile: str
    strategy: str
    models: dict[str, str]  # role -> provider:model
    prompts: dict[str, str]  # prompt name -> hash
    documents_by_outcome: dict[str, int]
    planned: int
    planned_by_type: dict[str, int]
    calls: int
    input_tokens: int
    output_tokens: int
    usd: float | None
    unknown_price_calls: int


class EvalSet(Record):
    """The accepted questions of one combination, what was rejected, and what names the set towards a reader."""

    corpus_name: str
    corpus_path: str
    scenario: str
    mode: Mode
    questions: tuple[PublishedQuestion, ...]
    rejected: tuple[RejectedQuestion, ...] = ()
    retired: tuple[RetiredQA, ...] = ()
    made: SetFacts | None = None
    review: ReviewFacts | None = None  # None: nobody decided on its questions
    timestamp: AwareDatetime  # of the set, not of the export, so that the same set gives the same bytes

    def published(self) -> CorpusGenerationResult:
        """The set in its published form, ordered by document, place in the document, and id."""
        return CorpusGenerationResult(
            corpus_name=self.corpus_name,
            corpus_path=self.corpus_path,
            scenario=self.scenario,
            mode=self.mode,
            questions=tuple(sorted(self.questions, key=_place)),
            timestamp=self.timestamp.isoformat(),
        )


def _place(question: PublishedQuestion) -> tuple[str, str, int, str]:
    lines = [span.start_line for span in question.evidence if span.start_line is not None]
    return (question.source_document, question.document_id, min(lines, default=0), question.id)
