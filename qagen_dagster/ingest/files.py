"""Lists the files of a corpus. It reads only names and never follows a link out of the corpus."""

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
    """A file under documents/: its name there, its path, and the reason if it must not be read."""

    name: str
    path: Path
    refused: str | None = None


def discover(corpus: Corpus) -> list[CorpusFile]:
    """All files under documents/, by name. Hidden files and folders are left out."""
    return files_under(corpus.documents_folder)


def files_under(folder: Path) -> list[CorpusFile]:
    """All files under a folder, by name. Hidden files and folders are left out."""
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
    except (OSError, RuntimeError):  # a link to nothing, or links in a circle
        good = False
    return None if good else f"is a link out of {root.name}/ or not a file"


def parse_options(options: DocumentOptions) -> ParseOptions:
    """The corpus' reading options with their passwords. Raises ConfigError for an unset password variable."""
    return ParseOptions(
        passwords={name: document_password(variable) for name, variable in options.passwords.items()},
        max_bytes=int(options.max_megabytes * 1_000_000),
        max_pages=options.max_pages,
        ocr=options.ocr,
        ocr_languages=options.ocr_languages,
    )


def options_fingerprint(options: DocumentOptions, settings: Settings) -> str:
    """A fingerprint of reading options and limits, without passwords. When it changes, files must be parsed again."""
    limits = f"{settings.parser_seconds}/{settings.parser_memory_mb}"
    return hashlib.sha256(f"{options.model_dump_json()}{limits}".encode()).hexdigest()[:12]


def file_hash(path: Path) -> str:
    """SHA-256 of a file, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
