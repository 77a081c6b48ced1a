"""Finds the documents that given answers name, by id or file name, and reads their text. Nothing is stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from qagen_dagster.errors import ConfigError, DocumentError
from qagen_dagster.formats.base import ParsedText, ParseOptions, RowFailure
from qagen_dagster.formats.jsonl import JsonlFormat
from qagen_dagster.formats.sandbox import ParserPool
from qagen_dagster.ingest.files import CorpusFile, files_under
from qagen_dagster.records.ids import document_id


@dataclass
class GivenDocument:
    """A document under the name that the answers use. Its text is read on demand, and kept only if it came from a file of rows."""

    id: str
    name: str
    file: CorpusFile
    reader: Reader
    title: str = ""
    kept: ParsedText | RowFailure | None = None

    def text(self) -> str:
        """Raises DocumentError when there is no text."""
        entry = self.kept or self.reader.only_entry(self.file)
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
        """Raises DocumentError when the file has no content."""
        if file.refused is not None:
            raise DocumentError("unsupported", file.refused)
        found = self.pool.parse(file.source, self.options)
        if not found.entries:
            raise DocumentError(found.outcome.value, found.detail)
        return found.entries

    def only_entry(self, file: CorpusFile) -> ParsedText | RowFailure:
        return self.entries(file)[0]


@dataclass(frozen=True)
class Found:
    """Documents by the names that the answers use, and why the others were not found."""

    documents: Mapping[str, GivenDocument]
    missing: Mapping[str, str]


def find_documents(place: Path, names: Iterable[str], reader: Reader) -> Found:
    """Find the document of each name: by path, id or name of a file, by id of a row, then by file name without extension.

    Files of rows are read only for names that match no file. Raises ConfigError when there is nothing at `place`.
    """
    if not place.exists():
        raise ConfigError("is not a file or a folder", file=place)
    files = (
        files_under(place)
        if place.is_dir()
        else [CorpusFile(place.name, place, None if place.is_file() else "not a file")]
    )
    wanted = set(names)
    rows = [file for file in files if PurePosixPath(file.name).suffix.lower() in JsonlFormat.suffixes]
    whole = {file.name: file for file in files if file not in rows}
    search = _Search(place, reader)
    search.look(wanted, {name: [file] for name, file in whole.items()})
    search.look(wanted, _by((document_id(name), file) for name, file in whole.items()))
    search.look(wanted, _by((PurePosixPath(name).name, file) for name, file in whole.items()))
    for file in rows if search.left(wanted) else ():
        search.look_into(wanted, file)
    search.look(wanted, _by((PurePosixPath(name).stem, file) for name, file in whole.items()))
    return search.end(wanted)


class _Search:
    def __init__(self, place: Path, reader: Reader) -> None:
        self._place, self._reader = place, reader
        self._found: dict[str, GivenDocument] = {}
        self._missing: dict[str, str] = {}
        self._unread: list[str] = []

    def left(self, wanted: set[str]) -> set[str]:
        return wanted - set(self._found) - set(self._missing)

    def look(self, wanted: set[str], known: Mapping[str, list[CorpusFile]]) -> None:
        """Take the names that are in `known`."""
        for name in self.left(wanted) & set(known):
            files = known[name]
            if len(files) > 1:
                several = ", ".join(file.name for file in files[:3])
                self._missing[name] = f"the document {name!r} may be {several}: give its path"
            else:
                self._found[name] = GivenDocument(document_id(files[0].name), name, files[0], self._reader)

    def look_into(self, wanted: set[str], file: CorpusFile) -> None:
        """Take the names of rows in the file. Of two rows with the same name the first counts."""
        try:
            entries = self._reader.entries(file)
        except DocumentError as error:
            self._unread.append(f"{file.name}: {error.detail}")
            return
        left = self.left(wanted)
        for entry in entries:
            known_as = document_id(file.name, entry.row)
            for name in {entry.row or "", known_as} & left:
                left.discard(name)
                self._found[name] = GivenDocument(known_as, name, file, self._reader, kept=entry)

    def end(self, wanted: set[str]) -> Found:
        unread = f" ({'; '.join(self._unread[:3])})" if self._unread else ""
        for name in self.left(wanted):
            self._missing[name] = f"there is no document {name!r} in {self._place}{unread}"
        return Found(self._found, self._missing)


def _by(pairs: Iterable[tuple[str, CorpusFile]]) -> dict[str, list[CorpusFile]]:
    found: dict[str, list[CorpusFile]] = {}
    for name, file in pairs:
        found.setdefault(name, []).append(file)
    return found
