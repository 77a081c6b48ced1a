"""Streams the store as rows for the catalog, builds the catalog's file, and opens it for readers."""

import logging
import tempfile
from collections.abc import Container, Generator, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from itertools import count, groupby
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from qagen_dagster.catalog import bank_rows, queries, rows
from qagen_dagster.catalog.database import LOCK_SECONDS, rebuild
from qagen_dagster.errors import StoreError
from qagen_dagster.loop.run_history import RecordT, RunHistory, RunKey, heads, records
from qagen_dagster.publishing.questions.set_files import RETIRED_FILE
from qagen_dagster.records.decisions import Decision
from qagen_dagster.records.document import CorpusIndex, Document, IndexEntry, VisualManifest
from qagen_dagster.records.evaluation import REPORTS, EvaluationReport, Kind
from qagen_dagster.records.exams import bank as bank_records
from qagen_dagster.records.exams.paper import Sitting
from qagen_dagster.records.exams.submissions import ExamPart
from qagen_dagster.records.grading import DocumentGrades, GroundingReport
from qagen_dagster.records.ids import Combination
from qagen_dagster.records.problems.result import ProblemBank, TaskResult
from qagen_dagster.records.questions.published import RetiredQuestion
from qagen_dagster.records.questions.results import (
    CandidateDocument,
    CandidateSet,
    GenerationResult,
    QAPair,
    ValidatedSet,
)
from qagen_dagster.records.run import RunRecord, RunStatus
from qagen_dagster.store import Store
from qagen_dagster.store_lock import lease

CATALOG = "catalog.duckdb"


@contextmanager
def catalog_file(store: Store) -> Generator[Path]:
    """The catalog as a local file. Raises StoreError if there is none."""
    local = store.local_path(CATALOG)
    if local is not None:
        yield local
        return
    data = store.get(CATALOG)
    if data is None:
        raise StoreError(f"{store.path(CATALOG)} is missing: run `qagen run` first")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / CATALOG
        file.write_bytes(data)
        yield file


_LOG = logging.getLogger(__name__)


def rebuild_catalog(store: Store, lock_seconds: float = LOCK_SECONDS) -> dict[str, int]:
    """Derive the catalog from the store and publish it. Returns the number of rows by table."""
    local = store.local_path(CATALOG)
    if local is not None:
        return rebuild(rows_of(store), local, lock_seconds=lock_seconds)
    with lease(store, "locks/catalog"), tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / CATALOG
        counts = rebuild(rows_of(store), file)
        store.publish_file(CATALOG, file)
    return counts


def catalog_knows(store: Store, combinations: Iterable[Combination]) -> bool:
    """Whether this version can read the catalog, and the catalog contains the current set of each combination."""
    return _has_sets(store, combinations, _known(store)[1])


def _known(store: Store) -> tuple[set[str], dict[str, str]]:
    """The result of `queries.known_runs` for the catalog; empty if there is no catalog that this version can read."""
    try:
        with catalog_file(store) as file:
            found = file.stat()
            return _known_runs(file, (found.st_ino, found.st_size, found.st_mtime_ns))
    except (FileNotFoundError, NotADirectoryError, StoreError):
        return set(), {}


@lru_cache(maxsize=1)
def _known_runs(file: Path, _version: tuple[int, int, int]) -> tuple[set[str], dict[str, str]]:
    """`queries.known_runs`, kept until the file changes, because one tick of a sensor asks several times."""
    return queries.known_runs(file)


def _has_sets(store: Store, combinations: Iterable[Combination], known: dict[str, str]) -> bool:
    found = (
        (combination.key, store.find_head(CandidateSet.key(combination), CandidateSet, CandidateDocument))
        for combination in combinations
    )
    return all(made is not None and known.get(key) == made.run_id for key, made in found)


def runs_to_add(store: Store) -> list[str]:
    """The ids of the finished runs that the catalog lacks."""
    return _runs_without(store, _known(store)[0])


def _runs_without(store: Store, known: set[str]) -> list[str]:
    ids = {key.split("/")[1] for key in store.list("runs") if key.endswith("/run.json")} - known
    found = ((run_id, store.find_valid(RunRecord.key(run_id), RunRecord)) for run_id in sorted(ids))
    return [run_id for run_id, run in found if run is not None and run.status is not RunStatus.STARTED]


def is_behind(store: Store) -> bool:
    """Whether the store has finished runs or sets that its catalog lacks. A missing or unreadable catalog lacks all of them."""
    runs, sets = _known(store)
    if _runs_without(store, runs):
        return True
    keys = [Combination.from_key("/".join(key.split("/")[1:4])) for key in store.list("validated")]
    made = [one for one in keys if store.find_head(CandidateSet.key(one), CandidateSet, CandidateDocument)]
    return not _has_sets(store, made, sets)


def rows_of(store: Store) -> Iterator[rows.TableRow]:
    """The rows of all tables. Damaged files are logged and left out.

    If a document has several results or failures in a combination, the one recorded last counts. Model calls of all results count,
    because they were paid. Only a part of the rows is in memory at a time, because a set of a large corpus takes much memory.
    """
    keys = (key for key in store.list("documents") if key.count("/") == 2)
    corpora = [index.corpus for index in heads(store, keys, CorpusIndex, IndexEntry)]
    keys = (key for key in store.list("candidates") if key.endswith("/set.json"))
    sets = list(heads(store, keys, CandidateSet, CandidateDocument))
    history = RunHistory(store, sets)
    yield from _documents(store, corpora)
    yield from _results(store, sets, history.collected)
    for validated in _validated(store):
        yield from rows.validated_rows(validated)
    yield from _retired(store)
    yield from _decisions(store)
    for report in _gradings(store):
        yield from rows.grade_rows(report)
    yield from history.runs()
    yield from history.documents()
    for record in history.ended.values():
        yield from rows.check_rows(record)
    yield from history.published()
    yield from history.versions()
    latest = _reports(store, (key for key in store.list("evaluation") if key.count("/") == 4))
    yield from rows.evaluation_rows(_evaluations(store), latest)
    yield from _exams(store)
    keys = (key for key in store.list("exams") if key.split("/")[2] == "responses")
    for sitting in records(store, keys, Sitting):
        yield from bank_rows.sitting_rows(sitting)
    yield from _problems(store)


def _evaluations(store: Store) -> list[EvaluationReport[Any]]:
    """All reports of all runs, oldest first."""
    names = {f"{kind.value}.json" for kind in Kind}
    keys = (key for key in store.list("history") if key.rsplit("/", 1)[1] in names)
    return sorted(_reports(store, keys), key=lambda report: report.created)


def _reports(store: Store, keys: Iterable[str]) -> Iterator[EvaluationReport[Any]]:
    for key in keys:
        yield from records(store, [key], REPORTS[Kind(key.rsplit("/", 1)[1].removesuffix(".json"))])


def _documents(store: Store, corpora: list[str]) -> Iterator[rows.TableRow]:
    for corpus in corpora:
        for entry in store.rows(CorpusIndex.key(corpus), CorpusIndex, IndexEntry):
            for document in records(store, [Document.key(corpus, entry.id)], Document):
                yield from rows.document_rows(corpus, document)
            manifest = store.find_valid(VisualManifest.key(corpus, entry.id), VisualManifest)
            yield from rows.visual_rows(corpus, entry.id, manifest.visuals if manifest else ())


def _lines(store: Store, candidates: CandidateSet) -> Iterator[CandidateDocument]:
    return store.rows(CandidateSet.key(candidates.combination), CandidateSet, CandidateDocument)


def _validated(store: Store) -> Iterator[ValidatedSet]:
    for key in store.list("validated"):
        for head in heads(store, [key], ValidatedSet, QAPair):
            yield head
            for pair in store.rows(key, ValidatedSet, QAPair):
                yield head.model_copy(update={"questions": (pair,), "removed": (), "calls": ()})


def _decisions(store: Store) -> Iterator[rows.TableRow]:
    """The decision that counts, for each question and reviewer."""
    # Imported where the catalog is built, because the import is slow.
    from qagen_dagster.loop.review_decisions import state_of

    for _, keys in groupby(store.list("reviews"), lambda key: key.rpartition("/")[0]):
        yield from map(rows.decision_row, state_of(records(store, keys, Decision)).by_reviewer.values())


def _gradings(store: Store) -> Iterator[GroundingReport]:
    for key in store.list("grounding"):
        for head in heads(store, [key], GroundingReport, DocumentGrades):
            for document in store.rows(key, GroundingReport, DocumentGrades):
                yield head.model_copy(update={"documents": (document,)})


def _results(store: Store, sets: list[CandidateSet], collected: Container[RunKey]) -> Iterator[rows.TableRow]:
    """All results, then the failures. A result of a current set counts as recorded at the time of its set."""
    current = {
        document.result_key: candidates.ended
        for candidates in sets
        for document in _lines(store, candidates)
        if document.result_key is not None
    }
    numbers = count(1)
    for key in store.list("candidates"):
        found = () if key.endswith("/set.json") else records(store, [key], GenerationResult)
        for result in found:
            combination = Combination.from_key("/".join(key.split("/")[1:4]))
            known = not result.run_id or (result.run_id, combination) in collected
            when = current.get(key) or result.finished
            yield from rows.result_rows(next(numbers), combination, result, when, collected=known)
    for made in sets:
        for document in _lines(store, made):
            if document.result_key is None:
                yield rows.failure_row(next(numbers), made.combination, document, made.run_id, made.ended)


def _retired(store: Store) -> Iterator[rows.TableRow]:
    """The retired questions of the published sets."""
    for key in store.list("published"):
        path = key.split("/")
        if path[4:] == [RETIRED_FILE]:
            combination = Combination.from_key("/".join(path[1:4]))
            for retired in _json_lines(store, key, RetiredQuestion):
                yield rows.retired_row(combination, retired)


def _json_lines(store: Store, key: str, kind: type[RecordT]) -> Iterator[RecordT]:
    """The records in a file of JSON lines. A line that is not valid is logged and left out."""
    for number, line in enumerate((store.get(key) or b"").splitlines(), 1):
        try:
            row = kind.model_validate_json(line)
        except ValidationError:
            _LOG.warning("left out of the catalog: line %d of %s is not valid", number, store.path(key))
        else:
            yield row


def _exams(store: Store) -> Iterator[rows.TableRow]:
    """All slots of the current sets. The last bank states which slots are duplicates and which were rejected by reviewers."""
    # Imported where the catalog is built, because the import is slow.
    from qagen_dagster.loop.exams.code_checks import flaws_of

    keys = [key for key in store.list("exams") if key.split("/")[2] == "sets"]
    left_out: dict[tuple[ExamPart, int], bank_records.RejectedItem] = {}
    for exam in sorted({key.split("/")[1] for key in keys}):
        for line in _json_lines(
            store, bank_records.ItemBank.file_key(exam, bank_records.REJECTED), bank_records.RejectedItem
        ):
            if line.stage in (bank_records.DUPLICATE_STAGE, bank_records.REVIEW_STAGE):
                part = ExamPart(exam=line.exam, schema_id=line.schema_id, difficulty=line.difficulty)
                left_out[part, line.slot] = line
    for made in records(store, keys, bank_records.PartSet):
        for name in made.results:
            for result in records(store, (name,), bank_records.SlotResult):
                lost = left_out.get((made.part, result.slot)) if result.item is not None else None
                models = made.models_of(name, result.item or result.rejected)
                last = result.attempts[-1] if result.attempts else None
                flaws = last and last.package and tuple(flaws_of(last.package, last.style))
                yield from bank_rows.slot_rows(result, made.schema_title, models, lost, flaws)


def _problems(store: Store) -> Iterator[rows.TableRow]:
    """The problems, and all stored results of tasks. A result is `current` if a bank was made with it."""
    current: set[str] = set()
    keys = (key for key in store.list("problems") if key.endswith("/bank.json") and key.count("/") == 2)
    for bank in records(store, keys, ProblemBank):
        for position, record in enumerate(bank.problems, 1):
            yield bank_rows.problem_row(bank.name, position, record)
            made = ((one.task.key, one.fingerprint) for one in record.tasks if one.fingerprint)
            current.update(TaskResult.key(bank.name, record.id, *task) for task in made)
    for key in store.list("problems"):
        _, name, folder, problem, *_ = (*key.split("/"), "", "")
        for result in records(store, [key], TaskResult) if folder == "tasks" else ():
            yield from bank_rows.task_rows(name, problem, result, current=key in current)
