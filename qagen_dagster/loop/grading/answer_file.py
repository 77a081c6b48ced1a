"""Grades a file with the answers of another system: reads its rows, finds the documents that they name, and makes one report.

Documents are found by id or file name, and are not stored.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import cast

from qagen_dagster.errors import ConfigError, DocumentError
from qagen_dagster.formats.base import ParsedText, ParseOptions, RowFailure
from qagen_dagster.formats.jsonl import JsonlFormat
from qagen_dagster.formats.parser_pool import ParserPool
from qagen_dagster.grounding.grade import grade_document, report
from qagen_dagster.grounding.no_claim import abstained
from qagen_dagster.ingest.corpus_files import CorpusFile, files_under
from qagen_dagster.loop.grading.grade_answers import AnswerToGrade, DocumentAnswers, Grader, grade_all
from qagen_dagster.records.base import Record
from qagen_dagster.records.grading import DocumentGrades, GradedAnswer, GroundingReport
from qagen_dagster.records.ids import document_id
from qagen_dagster.untrusted_file import open_file

_BLANK = b" \t\r\n\xef\xbb\xbf"
MOST_BYTES = 16_000_000  # maximum bytes of a row


class RowFault(Record):
    """A row that was left out, by its 1-based line number."""

    line: int
    reason: str


@dataclass(frozen=True)
class AnswerRow:
    """The answer of a row, with its 1-based line number."""

    line: int
    asked: AnswerToGrade


@dataclass(frozen=True)
class AnswerFile:
    """A file's valid rows by document, in the order of the documents' first rows, and its invalid rows."""

    documents: dict[str, list[AnswerRow]]
    faults: tuple[RowFault, ...]


def read_answers(path: Path) -> AnswerFile:
    """Read a file of answers. A row that is not valid becomes a fault. Raises ConfigError if the file cannot be read."""
    documents: dict[str, list[AnswerRow]] = {}
    faults: list[RowFault] = []
    seen: dict[tuple[str, str], int] = {}
    try:
        for number, line in lines(path):
            try:
                document, asked = read_row(line)
                first = seen.setdefault((document, asked.id or str(number)), number)
                if asked.id and first != number:
                    raise ValueError(f"line {first} has the id {asked.id!r}, too")
                documents.setdefault(document, []).append(AnswerRow(number, asked))
            except ValueError as error:
                faults.append(RowFault(line=number, reason=str(error)))
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", file=path) from None
    return AnswerFile(documents, tuple(faults))


def read_row(line: bytes) -> tuple[str, AnswerToGrade]:
    """The document and the answer in one line. Raises ValueError with a description of the fault."""
    fields = read_object(line)
    document, question = _word_field(fields, "document"), _text_field(fields, "question")
    answer = _text_field(fields, "answer")
    id_ = _word_field(fields, "id") if fields.get("id") is not None else ""
    return document, AnswerToGrade(id=id_, question=question, answer=answer)


def read_object(line: bytes) -> dict[str, object]:
    """The JSON object in one line. Raises ValueError with a description of the fault."""
    if len(line.rstrip(b"\r\n")) > MOST_BYTES:
        raise ValueError(f"longer than {MOST_BYTES:,} bytes")
    try:
        text = line.removeprefix(b"\xef\xbb\xbf").decode("utf-8").strip()
        value: object = json.loads(text, object_pairs_hook=_once)
    except UnicodeDecodeError:
        raise ValueError("not UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} at column {error.colno}") from None
    except RecursionError:
        raise ValueError("JSON that is nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return cast("dict[str, object]", value)


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError(f"it has a field twice (its fields: {', '.join(name for name, _ in pairs)})")
    return fields


def _text_field(fields: dict[str, object], name: str) -> str:
    value = fields.get(name)
    if value is None:
        raise ValueError(f"it has no `{name}`")
    if not isinstance(value, str):
        raise ValueError(f"`{name}` is not text")
    return value.encode("utf-8", "replace").decode("utf-8")  # lone surrogates cannot be encoded


def _word_field(fields: dict[str, object], name: str) -> str:
    value = fields.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    text = _text_field(fields, name).strip()
    if not text:
        raise ValueError(f"`{name}` is empty")
    return text


def lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with 1-based numbers. A line that is too long is cut after MOST_BYTES + 1. Raises ConfigError."""
    number = 0
    with open_file(path) as file:
        while line := file.readline(MOST_BYTES + 1):
            number += 1
            if number == 1 and line.lstrip(_BLANK).startswith((b"\xff\xfe", b"\xfe\xff", b"[")):
                raise ConfigError(
                    "it is UTF-16 or a JSON array, not UTF-8 with an object in each line", file=path
                )
            if line.strip(_BLANK):
                yield number, line
            while len(line) > MOST_BYTES and not line.endswith(b"\n"):
                line = file.readline(MOST_BYTES + 1)


@dataclass
class GivenDocument:
    """A document under the name that the answers use. Its text is read on demand, and kept only for a row of a JSONL file."""

    id: str
    name: str
    file: CorpusFile
    reader: "Reader"
    title: str = ""
    kept: ParsedText | RowFailure | None = None

    def text(self) -> str:
        """The text of the document. Raises DocumentError if there is no text."""
        entry = self.kept or self.reader.entries(self.file)[0]
        if isinstance(entry, RowFailure):
            raise DocumentError(entry.outcome.value, entry.detail)
        self.title = entry.metadata.title or self.file.name
        return entry.text


@dataclass(frozen=True)
class Reader:
    """Reads files in worker processes, within the limits of the formats."""

    pool: ParserPool
    options: ParseOptions

    def entries(self, file: CorpusFile) -> tuple[ParsedText | RowFailure, ...]:
        """The documents in a file. Raises DocumentError if there are none."""
        if file.refused is not None:
            raise DocumentError("unsupported", file.refused)
        found = self.pool.parse(file.source, self.options)
        if not found.entries:
            raise DocumentError(found.outcome.value, found.detail)
        return found.entries


@dataclass(frozen=True)
class Found:
    """The documents by the names that the answers use, and the reasons why other names were not found."""

    documents: Mapping[str, GivenDocument]
    missing: Mapping[str, str]


def find_documents(place: Path, names: Iterable[str], reader: Reader) -> Found:
    """Find the document of each name.

    A name is compared in this order: with the path, id and name of files, with the ids of rows, and with the stems of file names.
    Files of rows are read only for names that are no path, id or name of a file. Raises ConfigError if there is nothing at `place`.
    """
    if not place.exists():
        raise ConfigError("is not a file or a folder", file=place)
    files = (
        files_under(place)
        if place.is_dir()
        else [CorpusFile(place.name, place, None if place.is_file() else "not a file")]
    )
    rows = [file for file in files if PurePosixPath(file.name).suffix.lower() in JsonlFormat.suffixes]
    whole = {file.name: file for file in files if file not in rows}
    search = _Search(place, reader, set(names))
    search.look(whole, lambda name: name)
    search.look(whole, document_id)
    search.look(whole, lambda name: PurePosixPath(name).name)
    for file in rows if search.left else ():
        search.look_into(file)
    search.look(whole, lambda name: PurePosixPath(name).stem)
    return search.end()


class _Search:
    """A search for the names in `left`, which are neither found nor missing yet."""

    def __init__(self, place: Path, reader: Reader, left: set[str]) -> None:
        self._place, self._reader, self.left = place, reader, left
        self._found: dict[str, GivenDocument] = {}
        self._missing: dict[str, str] = {}
        self._unread: list[str] = []

    def look(self, whole: Mapping[str, CorpusFile], known_as: Callable[[str], str]) -> None:
        """Find the names that equal `known_as(name of a file)`. A name that fits several files is not found."""
        known: dict[str, list[CorpusFile]] = {}
        for name, file in whole.items():
            known.setdefault(known_as(name), []).append(file)
        for name in self.left & set(known):
            self.left.discard(name)
            files = known[name]
            if len(files) > 1:
                several = ", ".join(file.name for file in files[:3])
                self._missing[name] = f"the document {name!r} may be {several}: give its path"
            else:
                self._found[name] = GivenDocument(document_id(files[0].name), name, files[0], self._reader)

    def look_into(self, file: CorpusFile) -> None:
        """Find names among the rows of the file. If two rows have the same name, the first row counts."""
        try:
            entries = self._reader.entries(file)
        except DocumentError as error:
            self._unread.append(f"{file.name}: {error.detail}")
            return
        for entry in entries:
            known_as = document_id(file.name, entry.row)
            for name in {entry.row or "", known_as} & self.left:
                self.left.discard(name)
                self._found[name] = GivenDocument(known_as, name, file, self._reader, kept=entry)

    def end(self) -> Found:
        unread = f" ({'; '.join(self._unread[:3])})" if self._unread else ""
        for name in self.left:
            self._missing[name] = f"there is no document {name!r} in {self._place}{unread}"
        return Found(self._found, self._missing)


Progress = Callable[[int, str], None]  # answers done since the last call, and the name of their document


class FileReport(GroundingReport):
    """The grades of a file, and its rows that were left out."""

    failed_rows: tuple[RowFault, ...]
    abstained: int  # number of answers that only state that there is no answer; they are not measured

    @property
    def graded(self) -> int:
        return self.grounded + self.ungrounded + self.not_measured

    @property
    def judge_failures(self) -> list[str]:
        """The reasons why answers have no verdict of the judge."""
        failures = (answer.grading.judge_failure for one in self.documents for answer in one.answers)
        return [failure for failure in failures if failure]


def grade_file(
    rows: AnswerFile,
    found: Found,
    grader: Grader,
    *,
    corpus: str,
    judge_model: str,
    progress: Progress | None = None,
) -> FileReport:
    """Grade all answers. The report also has the faults of rows and documents."""
    work = _by_document(rows, found)
    faults = [*rows.faults]
    for name, reason in found.missing.items():
        faults += [RowFault(line=one.line, reason=reason) for one in rows.documents[name]]
    graded: dict[int, DocumentGrades] = {}

    def done(index: int, answers: Sequence[GradedAnswer] | DocumentError) -> None:
        document, asked = work[index]
        if isinstance(answers, DocumentError):
            reason = f"the document {document.file.name!r} cannot be read: {answers}"
            faults.extend(RowFault(line=one.line, reason=reason) for one in asked)
        else:
            graded[index] = grade_document(document.name, document.title, answers)
        if progress is not None:
            progress(len(asked), document.file.name)

    documents = [DocumentAnswers(one.name, "", one.text, [row.asked for row in asked]) for one, asked in work]
    grade_all(documents, grader, done)
    whole = report(
        [graded[index] for index in sorted(graded)],
        corpus=corpus,
        method=grader.method,
        judge_model=judge_model,
        created=datetime.now(UTC).isoformat(timespec="microseconds"),
    )
    rows_left = tuple(sorted(faults, key=lambda fault: fault.line))
    none = sum(abstained(one.answer) for document in whole.documents for one in document.answers)
    return FileReport(**dict(whole), failed_rows=rows_left, abstained=none)


def _by_document(rows: AnswerFile, found: Found) -> list[tuple[GivenDocument, list[AnswerRow]]]:
    """The documents with their rows, in the order of their first rows. A document with several names is listed once."""
    together: dict[str, tuple[GivenDocument, list[AnswerRow]]] = {}
    for name, asked in rows.documents.items():
        document = found.documents.get(name)
        if document is not None:
            together.setdefault(document.id, (document, []))[1].extend(asked)
    return [(document, sorted(asked, key=lambda one: one.line)) for document, asked in together.values()]
