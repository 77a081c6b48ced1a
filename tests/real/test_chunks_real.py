"""The chunks of every readable real document keep the rules, CJK and Arabic ones among them."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from qagen_dagster.formats.base import ParsedText, ParseOptions
from qagen_dagster.formats.parser_pool import FileSource, ParserPool
from qagen_dagster.index.chunks import chunks_of
from qagen_dagster.records.index_options import IndexOptions
from tests.index.chunk_rules import check

REAL = Path(os.environ.get("QAGEN_REAL_DATA", ""))
FOLDERS = ("pdf", "jats", "md", "txt", "jsonl")
LARGEST = 1_000_000  # bytes: parsing the largest is another test's, and takes minutes
MOST_PER_FOLDER = 40  # of a folder's folder: many alike teach no more

pytestmark = pytest.mark.real


def test_chunks_of_real_documents_cover_them_and_cut_no_character() -> None:
    files = [path for folder in FOLDERS for path in _some(REAL / folder)]
    assert files, f"no files under {REAL}: QAGEN_REAL_DATA names the folder"
    options = IndexOptions()
    with ParserPool(workers=2, seconds=300) as pool, ThreadPoolExecutor(2) as threads:
        sources = [FileSource(path.relative_to(REAL).as_posix(), path) for path in files]
        parsed = threads.map(lambda source: pool.parse(source, ParseOptions(ocr=False)), sources)
        wrong: list[str] = []
        texts = 0
        for file in parsed:
            for entry in file.entries:
                if isinstance(entry, ParsedText):
                    texts += 1
                    text = entry.text.encode("utf-8", "replace").decode("utf-8")
                    try:
                        check(text, chunks_of(text, options), options)
                    except AssertionError as error:
                        wrong.append(f"{file.name} {entry.row}: {str(error)[:200]}")
    assert texts > len(files) // 2
    assert wrong == []


def _some(folder: Path) -> list[Path]:
    by_parent: dict[Path, list[Path]] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.stat().st_size <= LARGEST:
            by_parent.setdefault(path.parent, []).append(path)
    return [path for paths in by_parent.values() for path in paths[:MOST_PER_FOLDER]]
