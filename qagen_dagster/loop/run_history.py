"""Reads the history of runs from the store: their options, the sets that they made and published, and their ends.

Runs of older versions and killed runs lack some records. Their history is derived from the other records.
"""

import logging
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import TypeVar

from pydantic import BaseModel

from qagen_dagster.catalog import rows
from qagen_dagster.errors import StoreError
from qagen_dagster.publishing.questions.set_files import CORPUS_FILE
from qagen_dagster.records.document import DocumentChanges, IndexEntry
from qagen_dagster.records.ids import Combination
from qagen_dagster.records.questions import run_results
from qagen_dagster.records.questions.published import CorpusGenerationResult, PublishedQuestion
from qagen_dagster.records.questions.results import (
    CandidateDocument,
    CandidateSet,
    GenerationResult,
    QAPair,
    RejectedQA,
    ValidatedSet,
)
from qagen_dagster.records.run import CallSummary, RunRecord
from qagen_dagster.store import Store

RunKey = tuple[str, Combination]
RecordT = TypeVar("RecordT", bound=BaseModel)
_LOG = logging.getLogger(__name__)


def records(store: Store, keys: Iterable[str], kind: type[RecordT]) -> Iterator[RecordT]:
    """The records that can be read. Unreadable records are logged."""
    return _readable(keys, lambda key: store.read(key, kind))


def heads(store: Store, keys: Iterable[str], kind: type[RecordT], row: type[BaseModel]) -> Iterator[RecordT]:
    """The records as `records` yields them, but without their rows of the kind `row`, which the caller reads one at a time."""
    return _readable(keys, lambda key: store.read_head(key, kind, row))


def _readable(keys: Iterable[str], read: Callable[[str], RecordT]) -> Iterator[RecordT]:
    for key in keys:
        try:
            yield read(key)
        except StoreError as error:
            _LOG.warning("left out of the catalog: %s", error)


class RunHistory:
    """The runs of a store. `sets` are the current candidate sets; a store of an older version may have no other records of runs.

    Attributes:
        ended: the records of the runs that have one, by run id.
        collected: the runs that made a candidate set, each with the key of that set.
    """

    def __init__(self, store: Store, sets: Iterable[CandidateSet]) -> None:
        self._store = store
        self._runs = store.list("runs")
        self._files = [key for key in store.list("history") if key.count("/") == 5]
        ends = (key for key in self._runs if key.endswith("/run.json") and key.count("/") == 2)
        self.ended = {record.run_id: record for record in records(store, ends, RunRecord)}
        self.collected: dict[RunKey, str] = {
            (made.run_id, made.combination): CandidateSet.key(made.combination) for made in sets
        }
        for key in self._runs:
            _, run_id, *rest = key.removesuffix(".json").split("/")
            combination = _combination_named("/".join(rest))
            if combination is not None:
                self.collected[run_id, combination] = key

    def runs(self) -> Iterator[rows.TableRow]:
        """All runs. A run has one row for each of its combinations, or one row if it has none."""
        planned = dict.fromkeys(self._with(run_results.PLAN))
        shown = {run_id for run_id, _ in (*self.collected, *planned)}
        for run_id, combination in dict.fromkeys((*self.collected, *planned)):
            yield "runs", self._run(run_id, combination)
        for run_id, record in self.ended.items():
            if run_id not in shown:
                where = _combination_named(record.partition)
                named = {} if where is None else rows.combination_row(where)
                began = {"collected": False, "started": rows.utc(record.started)}
                yield "runs", {**_ending(record), **named, **began}

    def documents(self) -> Iterator[rows.TableRow]:
        """The results of each document in each run that collected its candidates."""
        for (run_id, combination), key in self.collected.items():
            made = self._removed(run_id, combination)
            removed: dict[str, list[RejectedQA]] = {}
            for question in () if made is None else made.removed:
                removed.setdefault(question.document_id, []).append(question)
            calls: dict[str, list[CallSummary]] = {}
            for call in () if made is None else made.calls:
                calls.setdefault(call.document_id, []).append(call)
            for document in self._given(run_id, combination, key):
                name = document.document_id
                paid = run_results.RunCost.on(calls.get(name, ()))
                yield rows.run_document(run_id, combination, document, removed.get(name, ()), paid)

    def published(self) -> Iterator[rows.TableRow]:
        """All versions of all published sets. The current version is included even if the history lacks it."""
        numbers = count(1)
        current = {
            Combination.from_key("/".join(key.split("/")[1:4])): self._store.hash_of(key)
            for key in self._store.list("published")
            if key.endswith(f"/{CORPUS_FILE}") and key.count("/") == 4
        }
        for run_id, combination in self._with(CORPUS_FILE):
            key = combination.history_key(run_id, CORPUS_FILE)
            is_current = current.get(combination) == self._store.hash_of(key)
            if is_current:
                del current[combination]
            yield from self._version(numbers, key, combination, run_id, current=is_current)
        for combination in current:
            key = CorpusGenerationResult.key(combination)
            for found in records(self._store, [key], CorpusGenerationResult):
                run_id = self._published_by(combination, found)
                yield from self._version(numbers, key, combination, run_id, current=True)

    def _version(
        self, numbers: Iterator[int], key: str, combination: Combination, run_id: str | None, *, current: bool
    ) -> Iterator[rows.TableRow]:
        for head in heads(self._store, [key], CorpusGenerationResult, PublishedQuestion):
            questions = self._store.rows(key, CorpusGenerationResult, PublishedQuestion)
            yield from rows.set_rows(
                next(numbers), combination, run_id, head.timestamp, questions, current=current
            )

    def versions(self) -> Iterator[rows.TableRow]:
        """The documents that runs found to be new, changed or gone."""
        keys = (key for key in self._runs if key.endswith("/documents.json") and key.count("/") == 3)
        for key in keys:
            for made in heads(self._store, [key], DocumentChanges, IndexEntry):
                changed = self._store.rows(key, DocumentChanges, IndexEntry)
                for entries, removed in ((changed, False), (made.removed, True)):
                    for entry in entries:
                        yield rows.version_row(made.corpus, entry, made.run_id, made.at, removed=removed)

    def _with(self, name: str) -> Iterator[RunKey]:
        """The runs that have a file of this name in the history."""
        for key in self._files:
            _, corpus, scenario, mode, run_id, file = key.split("/")
            if file == name:
                yield run_id, Combination.from_key(f"{corpus}/{scenario}/{mode}")

    def _run(self, run_id: str, combination: Combination) -> rows.Row:
        collected = self.collected.get((run_id, combination))
        keys = () if collected is None else (collected,)
        made = next(heads(self._store, keys, CandidateSet, CandidateDocument), None)
        plan = self._find(combination.history_key(run_id, run_results.PLAN), run_results.RunPlan)
        record = self.ended.get(run_id)
        asked = made or plan
        return {
            **rows.combination_row(combination),
            "run_id": run_id,
            "partition": combination.key,
            "collected": made is not None,
            "started": None if asked is None else rows.utc(asked.started),
            "ended": None if made is None else rows.utc(made.ended),
            **({} if asked is None else asked.model_dump(include=_ASKED)),
            **({} if plan is None else plan.model_dump(include=_TEXTS)),
            **({} if record is None else _ending(record)),
        }

    def _given(self, run_id: str, combination: Combination, key: str) -> Iterator[run_results.RunDocument]:
        results = combination.history_key(run_id, run_results.RESULTS)
        if self._store.find_head(results, run_results.RunResults, run_results.RunDocument) is not None:
            yield from self._store.rows(results, run_results.RunResults, run_results.RunDocument)
            return
        made = self._find(key, CandidateSet)
        for line in made.documents if made is not None else ():
            yield run_results.RunDocument.of(run_id, line, self._find(line.result_key, GenerationResult))

    def _removed(self, run_id: str, combination: Combination) -> ValidatedSet | None:
        kept = self._find(combination.history_key(run_id, run_results.REMOVED), ValidatedSet)
        if kept is not None:
            return kept
        last = self._store.find_head(ValidatedSet.key(combination), ValidatedSet, QAPair)
        return last if last is not None and last.run_id == run_id else None

    def _published_by(self, combination: Combination, found: CorpusGenerationResult) -> str | None:
        """The run that made the questions of a set; None if the validated set now has different questions."""
        made = self._find(ValidatedSet.key(combination), ValidatedSet)
        same = made is not None and {one.id for one in made.questions} == {one.id for one in found.questions}
        return made.run_id if made is not None and same else None

    def _find(self, key: str | None, kind: type[RecordT]) -> RecordT | None:
        """The record under a key; None if there is no key or no record. A damaged record is logged and counts as missing."""
        try:
            return None if key is None else self._store.find(key, kind)
        except StoreError as error:
            _LOG.warning("left out of the catalog: %s", error)
            return None


_TEXTS = {"strategy", "corpus_name", "corpus_context", "scenario_name", "scenario_description"}
_ASKED = {"profile", "fingerprint", "models", "prompts", "target_count"}


def _ending(record: RunRecord) -> rows.Row:
    return {
        "run_id": record.run_id,
        "partition": record.partition,
        "job": record.job,
        "assets": record.assets,
        "ended": rows.utc(record.ended),
        "status": record.status.value,
        "error": record.error or None,
    }


def _combination_named(partition: str) -> Combination | None:
    """The combination that a partition key names; None if the key names something else."""
    try:
        return Combination.from_key(partition)
    except ValueError:
        return None
