"""Lists the files of a corpus, refuses some without parsing them, and opens stored documents as views for agents.

Links out of the corpus are not followed.
"""

import errno
import hashlib
import os
from collections.abc import Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event

from qagen_dagster.configuration.corpora import Corpus
from qagen_dagster.errors import DocumentError, StoreError, TooLargeError
from qagen_dagster.formats.base import PageImage, ParsedFile, ParseOptions, RenderOptions
from qagen_dagster.formats.parser_pool import FileSource, ParserPool
from qagen_dagster.records.corpus_options import DocumentOptions
from qagen_dagster.records.document import Document, IndexEntry, Outcome, VisualManifest
from qagen_dagster.records.ids import content_hash
from qagen_dagster.records.questions.published import PublishedVisual
from qagen_dagster.settings import Settings, document_password
from qagen_dagster.store import Store
from qagen_dagster.toolkit.document_view import DocumentView
from qagen_dagster.untrusted_file import checked_size, open_file

_PIECE = 1_000_000  # bytes


@dataclass(frozen=True, slots=True)
class CorpusFile:
    """A file in documents/. `refused` is the reason why it must not be read; None if it may be read. It is read only inside `within`."""

    name: str
    path: Path
    refused: str | None = None
    within: Path | None = None

    @property
    def source(self) -> FileSource:
        return FileSource(self.name, self.path, self.within)


def discover(corpus: Corpus) -> list[CorpusFile]:
    """All files in documents/, sorted by name. Hidden files and folders are skipped."""
    return files_under(corpus.documents_root())


def source_of(corpus: Corpus, name: str) -> FileSource:
    """The file of a document, for the parser workers."""
    root = corpus.documents_root()
    return FileSource(name, root / name, root)


def files_under(folder: Path) -> list[CorpusFile]:
    """All files in a folder, sorted by name, and folders that cannot be listed, as refused files. Hidden files and folders are skipped."""
    root = folder.resolve()
    found: list[CorpusFile] = []
    for path, fault in _paths(root):
        name = path.relative_to(root).as_posix()
        printable = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        refused = fault or (_refusal(path, root) if printable == name else "its name is not UTF-8")
        found.append(CorpusFile(printable, path, refused, root))
    return sorted(found, key=lambda file: file.name)


def _paths(root: Path) -> Iterator[tuple[Path, str | None]]:
    """All files below `root` that are not hidden, and folders that cannot be listed, with the reason."""
    pending = [root]
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name.startswith("."):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(folder / entry.name)
                    else:
                        yield folder / entry.name, None
        except OSError as error:
            yield folder, f"the folder cannot be listed: {error.strerror}"


def _refusal(path: Path, root: Path) -> str | None:
    try:
        good = path.resolve(strict=True).is_relative_to(root) and path.is_file()
    except (OSError, RuntimeError) as error:  # a broken link, or a cycle of links
        if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
            return f"cannot be read: {error.strerror}"
        good = False
    return None if good else f"is a link out of {root.name}/ or not a file"


def parse_options(options: DocumentOptions) -> ParseOptions:
    """The parse options of a corpus with their passwords. Raises ConfigError for a password variable that is not set."""
    return ParseOptions(
        passwords={name: document_password(variable) for name, variable in options.passwords.items()},
        encodings=dict(options.encoding),
        max_bytes=int(options.max_megabytes * 1_000_000),
        max_pages=options.max_pages,
        ocr=options.ocr,
        ocr_languages=options.ocr_languages,
    )


def options_fingerprint(options: DocumentOptions, settings: Settings) -> str:
    """A hash of the parse options and limits, without the passwords. When the hash changes, files are reparsed."""
    limits = f"{settings.parser_seconds}/{settings.parser_memory_mb}"
    # Without encodings, the hash is the same as before this option existed
    dumped = options.model_dump_json(exclude=None if options.encoding else {"encoding"})
    return hashlib.sha256(f"{dumped}{limits}".encode()).hexdigest()[:12]


def hash_or_outcome(file: CorpusFile, max_bytes: int, stopped: Event) -> str | ParsedFile:
    """The hash of a file's content, or the outcome for a file that is not read."""
    if file.refused is not None:
        return ParsedFile(file.name, Outcome.UNSUPPORTED, file.refused)
    try:
        return file_hash(file.source, max_bytes, stopped)
    except TooLargeError as error:
        return ParsedFile(file.name, Outcome.TOO_LARGE, error.detail, bytes=error.size)
    except OSError as error:
        return ParsedFile(file.name, Outcome.CORRUPT, f"cannot be read: {error.strerror}")


def file_hash(file: FileSource, max_bytes: int, stopped: Event) -> str:
    """The SHA-256 of a file, which is read in pieces. Raises OSError, TooLargeError before anything is read,
    and CancelledError when `stopped` is set."""
    sha256 = hashlib.sha256()
    with open_file(file.path, file.within) as opened:
        checked_size(opened, max_bytes)
        while piece := opened.read(_PIECE):
            if stopped.is_set():
                raise CancelledError
            sha256.update(piece)
    return sha256.hexdigest()


def has_text(text: bytes | None, entry: IndexEntry | Document) -> bool:
    """Whether `text` has the hash of the document's parsed text."""
    return text is not None and content_hash(text) == entry.text_sha256


def stored_text(store: Store, corpus: str, entry: IndexEntry | Document) -> str:
    """The parsed text of a document, empty if it has none. Raises StoreError when the stored text is not the parsed text."""
    key = Document.text_key(corpus, entry.id)
    text = store.get(key)
    if entry.text_sha256 and not has_text(text, entry):
        raise StoreError(f"{store.path(key)} is damaged: materialize parsed_documents to parse it again")
    return (text or b"").decode("utf-8")


def open_view(
    corpus: Corpus, entry: IndexEntry, store: Store, pool: ParserPool, *, max_image_pixels: int
) -> DocumentView:
    """The document as tools see it. Raises StoreError when its record is missing, or one of its files is damaged."""
    document = store.read(Document.key(corpus.key, entry.id), Document)
    text = stored_text(store, corpus.key, entry)
    manifest = store.find(VisualManifest.key(corpus.key, entry.id), VisualManifest)
    current = manifest is not None and manifest.document_version == entry.version
    source = source_of(corpus, entry.source)
    return DocumentView(
        document=document,
        lines=tuple(text.split("\n")) if text else (),
        visuals=manifest.visuals if manifest is not None and current else (),
        render=partial(_render, pool, source, parse_options(corpus.config.documents)),
        max_image_pixels=max_image_pixels,
    )


def visual_image(
    corpus: Corpus, entry: IndexEntry, pool: ParserPool, visual: PublishedVisual, *, whole_page: bool = False
) -> PageImage | None:
    """A picture of a visual, or with `whole_page`, of its page with a frame around the visual; None if its document has no pages.

    Raises DocumentError when the visual cannot be rendered, and when the file has changed since it was parsed.
    """
    if visual.page is None:
        return None
    source, options = source_of(corpus, entry.source), parse_options(corpus.config.documents)
    try:
        known = file_hash(source, options.max_bytes, Event())
    except OSError as error:
        raise DocumentError("corrupt", f"{source.name} cannot be read: {error.strerror}") from error
    if known != entry.source_sha256:
        raise DocumentError("corrupt", f"{source.name} has changed since it was parsed")
    how = RenderOptions(frame=visual.box) if whole_page else RenderOptions(crop=visual.box)
    return pool.render(source, visual.page, options, how)


def _render(
    pool: ParserPool, source: FileSource, options: ParseOptions, page: int, how: RenderOptions
) -> PageImage | None:
    if not Path(source.path).is_file():
        raise DocumentError("corrupt", f"{source.name} is no longer there")
    return pool.render(source, page, options, how)
