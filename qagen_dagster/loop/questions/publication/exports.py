"""Exports a published set to formats of other programs, and writes the files to a store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.questions.publication.exported_rows import ExportedRows
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.publishing.questions.export_formats import EXPORT_FORMATS
from qagen_dagster.publishing.questions.exported_set import ExportedSet, ExportFormat
from qagen_dagster.records.ids import Combination
from qagen_dagster.records.questions.published import CorpusGenerationResult, LatestExports, LatestVersion
from qagen_dagster.store import Store

FOLDER = "exports"  # beside corpus.json


@dataclass(frozen=True)
class Export:
    """A set in one format: the number of its questions, the ids of those that do not fit into the format, its files."""

    format: str
    questions: int
    left_out: tuple[str, ...]
    files: Mapping[str, bytes] = field(repr=False)


@dataclass(frozen=True)
class SetExports:
    """The exports of a set, and the visuals of its questions that could not be rendered, with the reason."""

    exports: tuple[Export, ...]
    no_picture: tuple[str, ...]


def chosen_formats(names: Sequence[str]) -> tuple[ExportFormat, ...]:
    """The formats of these names; all if there is no name. Raises ConfigError."""
    known = {one.name: one for one in EXPORT_FORMATS}
    for name in names:
        if name not in known:
            raise ConfigError(f"there is no export format {name!r} (formats: {', '.join(known)})")
    return tuple(one for name, one in known.items() if name in names or not names)


def export_set(space: Workspace, combination: Combination, formats: Sequence[ExportFormat]) -> SetExports:
    """The published set in these formats.

    Raises StoreError when nothing is published, and when documents have changed so that a quote is not in its document.
    """
    rows = ExportedRows(space, combination)
    whole = rows.read(documents=any(one.whole_corpus for one in formats))
    return SetExports(tuple(_export(one, whole) for one in formats), tuple(rows.no_picture))


def store_exports(space: Workspace, combination: Combination, formats: Sequence[ExportFormat]) -> SetExports:
    """Write the exports beside the published set and remove older ones. Raises StoreError as `export_set` does."""
    made = export_set(space, combination, formats)
    folder = CorpusGenerationResult.file_key(combination, FOLDER)
    latest = space.store.read(LatestVersion.key(combination), LatestVersion)
    written = set(write_exports(space.store, folder, made)) | {LatestExports.key(combination)}
    for key in space.store.list(folder):
        if key not in written:
            space.store.remove(key)
    record = LatestExports(formats=tuple(one.name for one in formats), made_from=latest.made_from)
    if space.store.find_valid(LatestExports.key(combination), LatestExports) != record:
        space.store.write(LatestExports.key(combination), record)
    return made


def exported_formats(space: Workspace, combination: Combination) -> tuple[str, ...]:
    """The names of the formats that are stored beside the published set."""
    stored = space.store.find_valid(LatestExports.key(combination), LatestExports)
    return () if stored is None else stored.formats


def why_not_exported(space: Workspace, combination: Combination) -> tuple[str, ...]:
    """Why the stored exports do not show the published set, in one line; nothing if they do."""
    latest = space.store.find_valid(LatestVersion.key(combination), LatestVersion)
    stored = space.store.find_valid(LatestExports.key(combination), LatestExports)
    same = latest is not None and stored is not None and stored.made_from == latest.made_from
    return () if same else ("the published set has changed",)


def write_exports(store: Store, folder: str, made: SetExports) -> Iterator[str]:
    """Write each format to a folder of its own; unchanged files stay as they are. Gives the keys of all files."""
    for one in made.exports:
        for path, data in one.files.items():
            key = f"{folder}/{one.format}/{path}"
            store.write_if_changed(key, data)
            yield key


def _export(form: ExportFormat, whole: ExportedSet) -> Export:
    taken = tuple(row for row in whole.rows if form.takes(row))
    ids = {row.question.id for row in taken}
    left_out = tuple(row.question.id for row in whole.rows if row.question.id not in ids)
    return Export(form.name, len(taken), left_out, form.export(replace(whole, rows=taken)))
