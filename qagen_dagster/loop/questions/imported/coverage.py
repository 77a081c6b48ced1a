"""Reads a log of questions, and measures how a set covers it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from qagen_dagster.errors import ConfigError, StoreError, TooLargeError
from qagen_dagster.loop.grading.answer_file import MOST_BYTES, lines, read_object
from qagen_dagster.loop.questions.duplicates.similarity import find_duplicates
from qagen_dagster.loop.questions.validated_set import results_of
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.ids import Combination, normalise
from qagen_dagster.records.questions.imported import (
    Coverage,
    Gap,
    ImportedQuestion,
    LoggedQuestion,
    QuestionLog,
)
from qagen_dagster.records.questions.results import CandidateSet, RejectedQA, RejectionReason, ValidatedSet
from qagen_dagster.untrusted_file import read_file

ALIKE = 0.7  # from this cosine on, questions ask about one thing, unless numbers, names or the kind of answer differ
_CSV_BYTES = 4 * MOST_BYTES


def read_log(path: Path) -> tuple[list[LoggedQuestion], list[str]]:
    """The questions of a JSON Lines or CSV file, and a line for each row that is left out. Raises ConfigError if it cannot be read."""
    found: dict[str, LoggedQuestion] = {}
    faults: list[str] = []
    try:
        for number, row in _csv_rows(path) if path.suffix.lower() == ".csv" else _json_rows(path):
            try:
                one = _logged(row)
                found.setdefault(normalise(one.question), one)
            except ValueError as error:
                faults.append(f"{path}:{number}: {error}")
    except (OSError, UnicodeDecodeError, TooLargeError, csv.Error) as error:
        raise ConfigError(f"cannot be read: {error}", file=path) from None
    if not found:
        raise ConfigError(f"it has no question{f': {faults[0]}' if faults else ''}", file=path)
    return list(found.values()), faults


def _json_rows(path: Path) -> Iterator[tuple[int, Mapping[str, object] | ValueError]]:
    for place, line in lines(path):
        try:
            yield place.line, read_object(line)
        except ValueError as error:
            yield place.line, error


def _csv_rows(path: Path) -> Iterator[tuple[int, Mapping[str, object] | ValueError]]:
    table = csv.DictReader(io.StringIO(read_file(path, _CSV_BYTES).decode("utf-8-sig"), newline=""))
    for row in table:
        yield table.line_num, {str(name).strip().lower(): value for name, value in row.items()}


def _logged(row: Mapping[str, object] | ValueError) -> LoggedQuestion:
    """Raises ValueError with a description of the fault."""
    if isinstance(row, ValueError):
        raise row
    texts = {name: row.get(name) or "" for name in LoggedQuestion.model_fields}
    wrong = next((name for name, text in texts.items() if not isinstance(text, str)), None)
    if wrong:
        raise ValueError(f"`{wrong}` is not text")
    one = LoggedQuestion(**{name: " ".join(str(text).split()) for name, text in texts.items()})
    if not one.question:
        raise ValueError("it has no `question`")
    return one


def keep_log(
    space: Workspace, combination: Combination, new: Iterable[LoggedQuestion], *, forget: bool
) -> QuestionLog:
    """Store the questions beside those of earlier imports, or in their place. An answer of a later import replaces an earlier one."""
    before = space.store.find_valid(QuestionLog.key(combination), QuestionLog)
    known = () if before is None or forget else before.questions
    every = {normalise(one.question): one for one in (*known, *new)}
    log = QuestionLog(
        questions=tuple(every.values()), missing={} if before is None or forget else before.missing
    )
    if not log.questions:
        raise StoreError(f"{combination.key} has no imported questions: name a file")
    if log != before:
        space.store.write(QuestionLog.key(combination), log)
    return log


def measure(space: Workspace, combination: Combination, log: QuestionLog) -> Coverage:
    """What became of each question of the log, and the gaps of the set. The gaps are kept for the next run. Raises StoreError."""
    validated = space.store.read(ValidatedSet.key(combination), ValidatedSet)
    candidates = space.store.read(CandidateSet.key(combination), CandidateSet)
    lost = [one for result in results_of(space, candidates) for one in result.rejected]
    refused = {
        normalise(one.question): one for one in (*lost, *validated.removed) if one.origin == "imported"
    }
    accepted = {normalise(one.question): one for one in validated.questions if one.origin == "imported"}
    published: list[ImportedQuestion] = []
    others: list[ImportedQuestion] = []
    for one in log.questions:
        key = normalise(one.question)
        pair = accepted.get(key)
        if pair is not None:
            published.append(ImportedQuestion(question=one.question, document_id=pair.document_id))
        else:
            others.append(_refused(one, refused.get(key)))
    in_set = [one.question for one in validated.questions]
    clusters = _clusters(space, in_set, [one.question for one in log.questions])
    fates = {one.question: one for one in others}
    coverage = Coverage(
        published=tuple(published),
        refused=tuple(one for one in others if one.reason is not RejectionReason.UNANSWERABLE),
        unanswerable=tuple(one for one in others if one.reason is RejectionReason.UNANSWERABLE),
        clusters=len(clusters),
        gaps=tuple(_gaps(clusters, {*in_set}, fates)),
    )
    space.store.write(Coverage.key(combination), coverage)
    missing = {name: list(known) for name, known in log.missing.items()}
    for gap in coverage.gaps:
        missing.setdefault(gap.document_id, []).append(gap.questions[0])
    kept = {name: tuple(dict.fromkeys(known)) for name, known in missing.items()}
    if kept != log.missing:
        space.store.write(QuestionLog.key(combination), log.model_copy(update={"missing": kept}))
    return coverage


def _refused(one: LoggedQuestion, found: RejectedQA | None) -> ImportedQuestion:
    if found is None:
        return ImportedQuestion(question=one.question, detail="no document was worked on that may answer it")
    nearest = found.evidence if found.rejection_reason is RejectionReason.UNANSWERABLE else ()
    return ImportedQuestion(
        question=one.question,
        document_id=found.document_id,
        reason=found.rejection_reason,
        detail=found.rejection_detail,
        passages=nearest,
    )


def _clusters(space: Workspace, in_set: list[str], asked: list[str]) -> dict[str, list[str]]:
    """The questions of the log by what they are about: a question of the set, or else the first of them."""
    found: dict[str, list[str]] = {}
    for question, same in zip(asked, find_duplicates(asked, in_set, space.encode, ALIKE), strict=True):
        found.setdefault(question if same is None else same.of, []).append(question)
    return found


def _gaps(
    clusters: Mapping[str, list[str]], covered: set[str], fates: Mapping[str, ImportedQuestion]
) -> Iterator[Gap]:
    for about, questions in clusters.items():
        known = [fates[one] for one in questions if one in fates]
        answered = [
            one for one in known if one.document_id and one.reason is not RejectionReason.UNANSWERABLE
        ]
        duplicate = any(one.reason is RejectionReason.DUPLICATE for one in known)
        if about not in covered and answered and not duplicate:
            first = answered[0]
            rest = (one for one in questions if one != first.question)
            yield Gap(questions=(first.question, *rest), document_id=first.document_id)
