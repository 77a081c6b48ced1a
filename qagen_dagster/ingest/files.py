"""Lists the files of a corpus by name, without reading them. Links out of the corpus are not followed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from qagen_dagster.configuration.corpora import Corpus
from qagen_dagster.formats.base import ParseOptions
from qagen_dagster.records.corpus import DocumentOptions
from qagen_dagster.settings import Settings, document_password


@dataclass(frozen=True)
class CorpusFile:
    """A file in documents/: its name there, its path and, if it must not be read, the reason."""

    name: str
    path: Path
    refused: str | None = None


def discover(corpus: Corpus) -> list[CorpusFile]:
    """All files in documents/, sorted by name. Hidden files and folders are skipped."""
    return files_under(corpus.documents_folder)


def files_under(folder: Path) -> list[CorpusFile]:
    """All files in a folder, sorted by name. Hidden files and folders are skipped."""
    root = folder.resolve()
    found: list[CorpusFile] = []
    for path in folder.rglob("*"):
        name = path.relative_to(folder)
        if any(part.startswith(".") for part in name.parts) or (path.is_dir() and not path.is_symlink()):
            continue
        printable = name.as_posix().encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        refused = _refusal(path, root) if printable == name.as_posix() else "its name is not UTF-8"
        found.append(CorpusFile(printable, path, refused))
    return sorted(found, key=lambda file: file.name)


def _refusal(path: Path, root: Path) -> str | None:
    try:
        good = path.resolve(strict=True).is_relative_to(root) and path.is_file()
    except (OSError, RuntimeError):  # a broken link, or a cycle of links
        good = False
    return None if good else f"is a link out of {root.name}/ or not a file"


def parse_options(options: DocumentOptions) -> ParseOptions:
    """The parse options of a corpus with their passwords. Raises ConfigError for a password variable that is not set."""
    return ParseOptions(
        passwords={name: document_password(variable) for name, variable in options.passwords.items()},
        max_bytes=int(options.max_megabytes * 1_000_000),
        max_pages=options.max_pages,
        ocr=options.ocr,
        ocr_languages=options.ocr_languages,
    )


def options_fingerprint(options: DocumentOptions, settings: Settings) -> str:
    """A hash of the parse options and limits, without the passwords. When it changes, files are parsed again."""
    limits = f"{settings.parser_seconds}/{settings.parser_memory_mb}"
    return hashlib.sha256(f"{options.model_dump_json()}{limits}".encode()).hexdigest()[:12]


def file_hash(path: Path) -> str:
    """The SHA-256 of a file, which is read in chunks."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
