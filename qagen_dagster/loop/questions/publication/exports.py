"""Exports a published set to formats of other programs: reads questions with their passages and pictures, and writes the files."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

from qagen_dagster.errors import ConfigError, DocumentError, StoreError
from qagen_dagster.ingest.corpus_files import stored_text, visual_image
from qagen_dagster.ingest.parsing import USABLE
from qagen_dagster.loop.questions.publication import publish
from qagen_dagster.loop.questions.publication.published_set import PassageText, hash_of
from qagen_dagster.loop.review_decisions import review_facts
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.publishing.questions import exported_set
from qagen_dagster.publishing.questions.export_formats import EXPORT_FORMATS
from qagen_dagster.publishing.questions.set_files import CARD_FILE as CARD
from qagen_dagster.records.document import Document, IndexEntry, Rights
from qagen_dagster.records.ids import Combination
from qagen_dagster.records.questions.published import (
    CorpusGenerationResult,
    LatestExports,
    LatestVersion,
    PublishedQuestion,
    PublishedVisual,
)
from qagen_dagster.records.questions.results import ValidatedSet
from qagen_dagster.store import Store


class ExportedRows:
    """Reads the questions of a published set. `no_picture` names the visuals that could not be rendered, with the reasons."""

    def __init__(self, space: Workspace, combination: Combination) -> None:
        self._space, self._combination = space, combination
        self._pictures: dict[tuple[str, str], exported_set.Picture | None] = {}
        self._text = cache(self._read)
        self._labels = publish.labels_of(space.store, combination)
        self.no_picture: list[str] = []

    def read(self, *, documents: bool) -> exported_set.ExportedSet:
        """The set. With `documents`, it includes all usable documents of the corpus. Raises StoreError if nothing is published, or if a
        quote is no longer in its document."""
        published, space, combination = self._published(), self._space, self._combination
        used = (key for question in published.questions for key in publish.documents_of(question))
        rights = publish.rights_of(space, combination.corpus, used)
        rows = tuple(self._row(question, rights) for question in published.questions)
        validated = space.store.find_valid(ValidatedSet.key(combination), ValidatedSet)
        return exported_set.ExportedSet(
            published,
            card=space.store.read_bytes(CorpusGenerationResult.file_key(combination, CARD)).decode(),
            rows=rows,
            documents=tuple(self._documents()) if documents else (),
            rights=rights,
            about=space.corpus(combination.corpus).config.corpus_context,
            review=None if validated is None else review_facts(space, combination, validated),
        )

    def _published(self) -> CorpusGenerationResult:
        combination = self._combination
        key = CorpusGenerationResult.key(combination)
        found = self._space.store.find(key, CorpusGenerationResult)
        if found is None:
            raise StoreError(f"{combination.key} has no published set: `qagen run` makes it")
        gone = [
            one.id for one in found.questions if not publish.documents_of(one).keys() <= self._entries.keys()
        ]
        broken = gone or publish.broken_evidence(self._space, combination.corpus, found.questions)
        if broken:
            raise StoreError(
                f"{combination.key} is not exported: the evidence of {', '.join(broken[:5])} is not in its document; "
                "`qagen run` brings the set up to date"
            )
        return found

    @cached_property
    def _entries(self) -> Mapping[str, IndexEntry]:
        return {entry.id: entry for entry in self._space.index(self._combination.corpus).documents}

    def _documents(self) -> Iterator[exported_set.ExportedDocument]:
        for entry in self._entries.values():
            if entry.outcome in USABLE:
                key = Document.key(self._combination.corpus, entry.id)
                title = self._space.store.read(key, Document).metadata.title or entry.source
                yield exported_set.ExportedDocument(entry.id, title, self._text(entry.id).passages)

    def _read(self, document_id: str) -> PassageText:
        store, corpus = self._space.store, self._combination.corpus
        document = store.read(Document.key(corpus, document_id), Document)
        text = stored_text(store, corpus, self._entries[document_id])
        return PassageText(document_id, text, document.wrapped)

    def _row(self, question: PublishedQuestion, rights: Mapping[str, Rights]) -> exported_set.ExportedRow:
        places = [self._text(one.document_id or question.document_id).place(one) for one in question.evidence]
        pictures = (self._picture(question.document_id, visual) for visual in question.visuals)
        evidence = tuple(
            one if place is None else one.model_copy(update={"quote": place.quote})
            for one, place in zip(question.evidence, places, strict=True)
        )
        return exported_set.ExportedRow(
            question.model_copy(update={"evidence": evidence}),
            tuple(one for one in places if one is not None),
            tuple(one for one in pictures if one is not None),
            publish.joint_rights(rights[key] for key in publish.documents_of(question)),
            tuple(self._graded(question.id)),
        )

    def _graded(self, question_id: str) -> Iterator[tuple[exported_set.Passage, int]]:
        """The judged passages whose text is the same as when they were judged, each with its grade."""
        for label in self._labels.get(question_id, ()):
            if label.grade is None or label.document_id not in self._entries:
                continue
            known = (one for one in self._text(label.document_id).passages if one.id == label.passage)
            yield from ((one, label.grade) for one in known if hash_of(one) == label.text_hash)

    def _picture(self, document_id: str, visual: PublishedVisual) -> exported_set.Picture | None:
        key = (document_id, visual.label)
        if key not in self._pictures:
            self._pictures[key] = self._rendered(document_id, visual)
        return self._pictures[key]

    def _rendered(self, document_id: str, visual: PublishedVisual) -> exported_set.Picture | None:
        corpus = self._space.corpus(self._combination.corpus)
        try:
            image = visual_image(corpus, self._entries[document_id], self._space.parsers(), visual)
        except DocumentError as error:
            self.no_picture.append(f"{document_id}: {visual.label}: {error.detail}")
            return None
        return None if image is None else exported_set.Picture(image.media_type, image.data)


FOLDER = "exports"  # beside corpus.json


@dataclass(frozen=True)
class Export:
    """A set in one format. `left_out` has the ids of the questions that the format cannot show, and `files` has the contents by path."""

    format: str
    questions: int
    left_out: tuple[str, ...]
    files: Mapping[str, bytes] = field(repr=False)


@dataclass(frozen=True)
class SetExports:
    """The exports of a set, and the visuals that could not be rendered, with the reasons."""

    exports: tuple[Export, ...]
    no_picture: tuple[str, ...]


def chosen_formats(names: Sequence[str]) -> tuple[exported_set.ExportFormat, ...]:
    """The formats with these names; all formats if there is no name. Raises ConfigError for an unknown name."""
    known = {one.name: one for one in EXPORT_FORMATS}
    for name in names:
        if name not in known:
            raise ConfigError(f"there is no export format {name!r} (formats: {', '.join(known)})")
    return tuple(one for name, one in known.items() if name in names or not names)


def export_set(
    space: Workspace, combination: Combination, formats: Sequence[exported_set.ExportFormat]
) -> SetExports:
    """The published set in these formats. Raises StoreError if nothing is published, or if a quote is no longer in its document."""
    rows = ExportedRows(space, combination)
    whole = rows.read(documents=any(one.whole_corpus for one in formats))
    return SetExports(tuple(_export(one, whole) for one in formats), tuple(rows.no_picture))


def store_exports(
    space: Workspace, combination: Combination, formats: Sequence[exported_set.ExportFormat]
) -> SetExports:
    """Write the exports beside the published set, and remove the files of other formats. Raises StoreError as `export_set` does."""
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
    """The reason why the stored exports are out of date, as one line; empty if they are up to date."""
    latest = space.store.find_valid(LatestVersion.key(combination), LatestVersion)
    stored = space.store.find_valid(LatestExports.key(combination), LatestExports)
    same = latest is not None and stored is not None and stored.made_from == latest.made_from
    return () if same else ("the published set has changed",)


def write_exports(store: Store, folder: str, made: SetExports) -> Iterator[str]:
    """Write the files of each format to its folder, and yield their keys. Unchanged files are not written again."""
    for one in made.exports:
        for path, data in one.files.items():
            key = f"{folder}/{one.format}/{path}"
            store.write_if_changed(key, data)
            yield key


def _export(form: exported_set.ExportFormat, whole: exported_set.ExportedSet) -> Export:
    taken = tuple(row for row in whole.rows if form.takes(row))
    ids = {row.question.id for row in taken}
    left_out = tuple(row.question.id for row in whole.rows if row.question.id not in ids)
    return Export(form.name, len(taken), left_out, form.export(replace(whole, rows=taken)))
