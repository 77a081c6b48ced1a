"""Makes the rows of a published set, each with its document, verdict and grade, and the facts that its card states."""

import posixpath
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from qagen_dagster.agents.questions.mix import hops
from qagen_dagster.grounding.grade import letter
from qagen_dagster.loop.questions.no_answer.stage import KINDS, is_across
from qagen_dagster.loop.questions.plan import results_of
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.publishing.questions.set_files import SetFacts
from qagen_dagster.records.corpus_options import Span, Strategy
from qagen_dagster.records.document import CorpusIndex, Document, IndexEntry, VisualManifest
from qagen_dagster.records.grading import AnswerGrade, DocumentGrades, GroundingReport
from qagen_dagster.records.ids import Combination
from qagen_dagster.records.questions import results as result_records
from qagen_dagster.records.questions.published import (
    CorpusGenerationResult,
    PublishedGrade,
    PublishedQuestion,
    PublishedVerdict,
    PublishedVisual,
    RejectedQuestion,
)
from qagen_dagster.records.questions.run_results import RunCost
from qagen_dagster.records.run import CallSummary, Usage

_WITHOUT_QUESTIONS = (result_records.DocumentEnd.NOT_USABLE, result_records.DocumentEnd.NO_VISUALS)


def set_facts(
    workspace: Workspace,
    candidates: result_records.CandidateSet,
    validated: result_records.ValidatedSet,
    results: Iterable[result_records.GenerationResult],
) -> SetFacts:
    """The facts of a set. The same results and configuration give the same facts. `results` is read once."""
    corpus = workspace.corpus(candidates.corpus).config
    scenario = corpus.scenarios[candidates.scenario]
    planned: list[int] = []
    by_type: Counter[str] = Counter()
    missing: list[str] = []

    def read() -> Iterator[CallSummary]:
        for result in results:
            if result.end not in _WITHOUT_QUESTIONS:
                planned.append(result.stats.target_count)
                by_type.update(_planned(result, scenario.strategy))
                missing.extend(
                    f"{one.missing} {one.question_type} of {result.document_id}: {one.reason}"
                    for one in result.shortfalls
                )
            yield from result.calls

    spent = RunCost.on(_once_each(chain(read(), validated.calls)))
    return SetFacts(
        corpus_context=corpus.corpus_context,
        scenario_name=scenario.name,
        scenario_description=scenario.description,
        **candidates.shared(SetFacts),
        strategy=scenario.strategy.value,
        documents_by_outcome=Counter(one.end.value for one in candidates.documents),
        planned=sum(planned),
        closed_book=scenario.closed_book,
        audience=scenario.audience,
        planned_by_type=dict(by_type),
        shortfalls=tuple(missing),
        **spent.model_dump(include=set(SetFacts.model_fields)),
    )


def _once_each(calls: Iterable[CallSummary]) -> list[Usage]:
    """The usage of the calls for a set, each call once. A call that was only replayed counts as paid, because it was paid earlier."""
    paid: list[Usage] = []
    known: set[str] = set()
    earlier: dict[str, Usage] = {}
    for one in calls:
        if one.replayed:
            earlier[one.request_key] = Usage.of(one)._replace(replayed=False)
        else:
            known.add(one.request_key)
            paid.append(Usage.of(one))
    return [*paid, *(one for key, one in earlier.items() if key not in known)]


def _planned(result: result_records.GenerationResult, strategy: Strategy) -> dict[str, int]:
    """The number of wanted questions by kind: from the document's plan, else from a shortfall, else the number of accepted questions."""
    accepted_counts = Counter(pair.question_type for pair in result.accepted if not is_across(pair))
    wanted = accepted_counts | Counter({one.question_type: one.wanted for one in result.shortfalls})
    shown = {kind: count for kind, count in wanted.items() if strategy is Strategy.BATCH or kind in KINDS}
    return result.planned | {
        kind: count for kind, count in shown.items() if kind in KINDS or not {*result.planned} - {Span.ACROSS}
    }


class _Given(NamedTuple):
    """The parts of a document's result that rows need."""

    rejected: tuple[result_records.RejectedQA, ...]
    retired: tuple[result_records.RetiredQA, ...]
    verdicts: tuple[result_records.VerdictRecord, ...]


@dataclass(frozen=True)
class PublishedRows:
    """Makes the rows of a validated set, and reads what they need. Raises StoreError."""

    space: Workspace
    combination: Combination
    validated: result_records.ValidatedSet

    def questions(self) -> tuple[PublishedQuestion, ...]:
        return tuple(self._question(pair) for pair in self.validated.questions)

    def rejected(self) -> tuple[RejectedQuestion, ...]:
        """The rejected candidates of each document, then the questions that were removed from the set."""
        found = (one for parts in self._given.values() for one in parts.rejected)
        return tuple(self._rejected(one) for one in (*found, *self.validated.removed))

    def retired(self) -> tuple[result_records.RetiredQA, ...]:
        """The unpublished questions of earlier versions of documents and of removed documents, sorted by document."""
        published = {pair.id for pair in self.validated.questions}
        found = (one for parts in self._given.values() for one in parts.retired)
        removed = self.candidates.retired if self.candidates is not None else ()
        lost = {one.id: one for one in (*found, *removed) if one.id not in published}
        return tuple(sorted(lost.values(), key=lambda one: (one.source_document, one.id)))

    def _question(self, pair: result_records.QAPair) -> PublishedQuestion:
        folder = posixpath.dirname(CorpusGenerationResult.key(self.combination))
        return PublishedQuestion(
            **pair.shared(PublishedQuestion),
            text_path=posixpath.relpath(Document.text_key(self.combination.corpus, pair.document_id), folder),
            row=self._sources.get(pair.document_id, ("", None))[1],
            mode=pair.category,
            hops=hops(pair.evidence),
            visuals=self._visuals(pair),
            verdict=self._verdict_on(pair),
            grade=self._grades.get(pair.id),
            answerable=pair.no_answer is None,
        )

    def _rejected(self, one: result_records.RejectedQA) -> RejectedQuestion:
        source, row = self._sources.get(one.document_id, ("", None))
        return RejectedQuestion(
            **dict(one),
            source_document=f"documents/{source}" if source else "",
            row=row,
            verdict=self._verdict(one.document_id, one.attempt_number, one.question),
        )

    @cached_property
    def _given(self) -> Mapping[str, _Given]:
        found = results_of(self.space, self.candidates) if self.candidates is not None else ()
        return {one.document_id: _Given(one.rejected, one.retired, one.verdicts) for one in found}

    @cached_property
    def candidates(self) -> result_records.CandidateSet | None:
        return self.space.store.find_valid(
            result_records.CandidateSet.key(self.combination), result_records.CandidateSet
        )

    @cached_property
    def _sources(self) -> Mapping[str, tuple[str, str | None]]:
        """The file of each document, and the row of the document in this file."""
        store, key = self.space.store, CorpusIndex.key(self.combination.corpus)
        known = store.find_head(key, CorpusIndex, IndexEntry) is not None
        entries = store.rows(key, CorpusIndex, IndexEntry) if known else ()
        return {entry.id: (entry.source, entry.row) for entry in entries}

    @cached_property
    def _grades(self) -> Mapping[str, PublishedGrade]:
        store, key = self.space.store, GroundingReport.key(self.combination)
        known = store.find_head(key, GroundingReport, DocumentGrades) is not None
        documents = store.rows(key, GroundingReport, DocumentGrades) if known else ()
        return {one.id: _grade(one.grading) for document in documents for one in document.answers}

    def _visuals(self, pair: result_records.QAPair) -> tuple[PublishedVisual, ...]:
        if not pair.labels:
            return ()
        key = VisualManifest.key(self.combination.corpus, pair.document_id)
        manifest = self.space.store.find_valid(key, VisualManifest)
        known = {one.label: one for one in manifest.visuals} if manifest is not None else {}
        shown = (known[label] for label in pair.labels if label in known)
        return tuple(PublishedVisual(**one.shared(PublishedVisual)) for one in shown)

    def _verdict_on(self, pair: result_records.QAPair) -> PublishedVerdict | None:
        edited = None if self.validated.review is None else self.validated.review.verdicts.get(pair.id)
        if edited is not None:
            return PublishedVerdict.of(edited)
        return self._verdict(pair.document_id, pair.generation_metadata.attempt_number, pair.question)

    def _verdict(self, document_id: str, attempt: int, question: str) -> PublishedVerdict | None:
        parts = self._given.get(document_id)
        for one in () if parts is None else parts.verdicts:
            if (one.attempt, one.question) == (attempt, question):
                return PublishedVerdict.of(one)
        return None


def _grade(found: AnswerGrade) -> PublishedGrade:
    return PublishedGrade(
        grade=None if found.confidence is None else letter(found.confidence),
        confidence=found.confidence,
        is_grounded=found.is_grounded,
        decided_by=found.decided_by,
    )
