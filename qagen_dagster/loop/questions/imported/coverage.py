"""Reads a log of questions, and measures how well a set covers the log."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from qagen_dagster.errors import ConfigError, StoreError, TooLargeError
from qagen_dagster.formats.decoding import decode
from qagen_dagster.loop.grading.answer_file import MOST_BYTES, lines, read_object
from qagen_dagster.loop.questions.duplicates.similarity import find_duplicates
from qagen_dagster.loop.questions.validated_set import results_of
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.ids import Combination, normalise
from qagen_dagster.records.questions import imported
from qagen_dagster.records.questions.results import CandidateSet, RejectionReason, ValidatedSet
from qagen_dagster.untrusted_file import read_file

# questions with at least this cosine ask for the same, unless numbers, names or kinds of answers differ
ALIKE = 0.7


def read_log(path: Path) -> tuple[list[imported.LoggedQuestion], list[str]]:
    """The questions of a JSON Lines, CSV or TSV file, and a line for each row left out. Raises ConfigError if no question can be read."""
    found: list[imported.LoggedQuestion] = []
    faults: list[str] = []
    try:
        for number, row in _csv_rows(path) if path.suffix.lower() in (".csv", ".tsv") else lines(path):
            try:
                found.append(_logged(row if isinstance(row, Mapping) else read_object(row)))
            except ValueError as error:
                faults.append(f"{path}:{number}: {error}")
    except (OSError, TooLargeError, csv.Error) as error:
        raise ConfigError(f"cannot be read: {error}", file=path) from None
    if not found:
        raise ConfigError(f"it has no question ({'; '.join(faults[:1]) or 'it is empty'})", file=path)
    return found, faults


def _csv_rows(path: Path) -> Iterator[tuple[int, Mapping[str, object]]]:
    text = decode(read_file(path, MOST_BYTES)).text
    header = text.partition("\n")[0]
    table = csv.DictReader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=header.count))
    for row in table:
        yield table.line_num, row


def _logged(row: Mapping[str, object]) -> imported.LoggedQuestion:
    """The question of a row. Raises ValueError with a description of the fault."""
    fields = {str(name).strip().lower(): value for name, value in row.items()}
    texts = {name: fields.get(name) or "" for name in imported.LoggedQuestion.model_fields}
    for name, text in texts.items():
        if not isinstance(text, str | int | float):
            raise ValueError(f"`{name}` is not text")
    one = imported.LoggedQuestion(**{name: " ".join(str(text).split()) for name, text in texts.items()})
    if not one.question:
        raise ValueError(f"it has no text in `question` (fields: {', '.join(fields) or 'none'})")
    return one


def keep_log(
    space: Workspace, combination: Combination, new: Iterable[imported.LoggedQuestion], *, forget: bool
) -> imported.QuestionLog:
    """Add the questions to those of earlier imports, or replace earlier questions if `forget` holds. A question that is imported again replaces
    its earlier record. Raises StoreError if there is no question."""
    found = (
        None
        if forget
        else space.store.find_valid(imported.QuestionLog.key(combination), imported.QuestionLog)
    )
    before = found or imported.QuestionLog(questions=())
    every = {normalise(one.question): one for one in (*before.questions, *new)}
    if not every:
        raise StoreError(f"{combination.key} has no imported questions: name a file")
    log = before.model_copy(update={"questions": tuple(every.values())})
    space.store.write(imported.QuestionLog.key(combination), log)
    return log


def measure(space: Workspace, combination: Combination, log: imported.QuestionLog) -> imported.Coverage:
    """The fate of each question of the log, and the gaps of the set. The gaps are stored for the next run. Raises StoreError."""
    validated = space.store.read(ValidatedSet.key(combination), ValidatedSet)
    fates = _fates(space, combination, validated)
    why = "no document that was worked on is likely to answer it"
    questions = [
        fates.get(normalise(one.question))
        or imported.ImportedQuestion(question=one.question, outcome=imported.NOT_TRIED, detail=why)
        for one in log.questions
    ]
    in_set, asked = [pair.question for pair in validated.questions], [one.question for one in questions]
    subjects: dict[str, list[imported.ImportedQuestion]] = {}
    for one, same in zip(questions, find_duplicates(asked, in_set, space.encode, ALIKE), strict=True):
        subjects.setdefault(one.question if same is None else same.of, []).append(one)
    gaps: list[tuple[str, tuple[str, ...]]] = []
    missing = {name: list(known) for name, known in log.missing.items()}
    for about, group in subjects.items():
        refused = [one for one in group if one.outcome != imported.NOT_TRIED and not one.passages]
        covered = {imported.PUBLISHED, RejectionReason.DUPLICATE} & {one.outcome for one in group}
        if about not in in_set and refused and not covered:
            gaps.append((refused[0].document_id, tuple(one.question for one in group)))
            missing.setdefault(refused[0].document_id, []).append(refused[0].question)
    coverage = imported.Coverage(questions=tuple(questions), subjects=len(subjects), gaps=tuple(gaps))
    space.store.write(imported.Coverage.key(combination), coverage)
    kept = {name: tuple(dict.fromkeys(known)) for name, known in missing.items()}
    space.store.write(imported.QuestionLog.key(combination), log.model_copy(update={"missing": kept}))
    return coverage


def _fates(
    space: Workspace, combination: Combination, validated: ValidatedSet
) -> dict[str, imported.ImportedQuestion]:
    """The fates of the imported questions, by their normalised texts."""
    candidates = space.store.read(CandidateSet.key(combination), CandidateSet)
    lost = [one for result in results_of(space, candidates) for one in result.rejected]
    refused = {
        normalise(one.question): imported.ImportedQuestion(
            question=one.question,
            outcome=one.rejection_reason,
            document_id=one.document_id,
            detail=one.rejection_detail,
            passages=one.evidence if one.rejection_detail.startswith(imported.NO_DOCUMENT) else (),
        )
        for one in (*lost, *validated.removed)
        if one.origin == "imported"
    }
    return refused | {
        normalise(one.question): imported.ImportedQuestion(
            question=one.question, outcome=imported.PUBLISHED, document_id=one.document_id
        )
        for one in validated.questions
        if one.origin == "imported"
    }
