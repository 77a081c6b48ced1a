"""Every file of the folder of real documents parses, or ends in the outcome its notes predict.

Writes `.make/real-formats.tsv`, and prints its rows of PDF and JATS files, to be compared with their pages.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import ParsedFile, ParsedText, ParseOptions
from qagen_dagster.formats.parser_pool import FileSource, ParserPool
from qagen_dagster.records.document import Visual, VisualType
from tests.formats.test_registry import check_positions

REAL = Path(os.environ.get("QAGEN_REAL_DATA", ""))
FOLDERS = ("pdf", "jats", "md", "txt", "jsonl")
PRINTED = ("pdf", "jats")
HEADER = "file\toutcome\tpages\tlines\ttitle\tauthors\ttables\tfigures\theadings\tseconds\tdetail"
TABLE = Path(__file__).parents[2] / ".make" / "real-formats.tsv"

PASSWORDS = {
    "bug1782186.pdf": "Hello",
    "issue15893_reduced.pdf": "test",
    "issue6010_1.pdf": "abc",
    "libreoffice-writer-password.pdf": "openpassword",
}
# What the notes of the folder's manifest say of files that do not simply parse.
EXPECTED = {
    "pdf/not-a-pdf.pdf": {"not_what_it_says"},
    "pdf/TAMReview.pdf": {"garbled"},
    "pdf/ThuluthFeatures.pdf": {"garbled"},
    "pdf/poppler-742-0-fuzzed.pdf": {"corrupt"},
    "pdf/poppler-85140-0.pdf": {"corrupt"},
    "pdf/poppler-67295-0.pdf": {"corrupt"},
    "pdf/tracemonkey-truncated.pdf": {"corrupt"},
    "pdf/PDFBOX-3148-2-fuzzed.pdf": {"parsed", "no_text", "corrupt"},
    "pdf/Pages-tree-refs.pdf": {"parsed", "no_text", "empty", "corrupt"},
    "pdf/bomb_giant.pdf": {"corrupt"},
    "txt/enc/binary.txt": {"binary"},
    "txt/enc/empty.txt": {"empty"},
    **{f"pdf/{name}": {"encrypted"} for name in PASSWORDS},
}
# Pictures of pages: text only where the machine can recognise it; and drawings without any.
SCANS = {"parsed", "no_text"}
ANYTHING_READABLE = {"pdf": SCANS | {"empty"}, "md": {"parsed", "unsupported", "no_text"}}

pytestmark = pytest.mark.real


@dataclass(frozen=True)
class Line:
    parsed: ParsedFile
    visuals: list[Visual]
    trouble: str
    seconds: float

    def row(self) -> str:
        texts = [one for one in self.parsed.entries if isinstance(one, ParsedText)]
        said = [one.metadata for one in texts[:1]]
        tables = sum(one.type is VisualType.TABLE for one in self.visuals)
        fields = (
            self.parsed.name,
            self.parsed.outcome,
            sum(one.page_count or 0 for one in texts),
            sum(one.text.count("\n") + 1 for one in texts if one.text),
            " ".join(one.title or "-" for one in said),
            "; ".join(name for one in said for name in one.authors),
            tables,
            len(self.visuals) - tables,
            sum(len(one.sections) for one in texts),
            f"{self.seconds:.2f}",
            self.trouble or self.parsed.detail,
        )
        return "\t".join(map(str, fields))


def test_every_real_file_parses_or_has_the_outcome_it_should(capsys: pytest.CaptureFixture[str]) -> None:
    files = sorted(path for folder in FOLDERS for path in (REAL / folder).rglob("*") if path.is_file())
    assert files, f"no files under {REAL}: QAGEN_REAL_DATA names the folder"
    with ParserPool(workers=2, seconds=300) as pool, ThreadPoolExecutor(2) as threads:
        lines = list(threads.map(lambda path: look(pool, path, ParseOptions()), files))
    TABLE.parent.mkdir(exist_ok=True)
    TABLE.write_text("\n".join([HEADER, *(line.row() for line in lines)]) + "\n")
    with capsys.disabled():
        sys.stdout.write(report(lines))
    wrong = [line.row() for line in lines if line.trouble or not is_expected(line.parsed)]
    assert not wrong, "\n" + "\n".join(wrong)


def test_passwords_open_what_they_should() -> None:
    options = ParseOptions(passwords=PASSWORDS)
    with ParserPool(workers=1, seconds=60) as pool:
        for name in PASSWORDS:
            line = look(pool, REAL / "pdf" / name, options)
            assert line.parsed.outcome in SCANS | {"empty"}, line.row()


def test_ticked_and_empty_boxes_of_a_form_are_read() -> None:
    with ParserPool(workers=1, seconds=60) as pool:
        (entry,) = look(pool, REAL / "pdf" / "prefilled_f1040.pdf", ParseOptions()).parsed.entries
    assert isinstance(entry, ParsedText)
    assert "Check     if \u2612\n" in entry.text  # the form breaks the line here
    assert "\u2610 Yes. Complete below." in entry.text


def look(pool: ParserPool, path: Path, options: ParseOptions) -> Line:
    source = FileSource(path.relative_to(REAL).as_posix(), path)
    start = time.perf_counter()
    parsed = pool.parse(source, options)
    visuals, trouble = list[Visual](), ""
    try:
        for entry in parsed.entries:
            if isinstance(entry, ParsedText):
                check_positions(entry)
                known = replace(options, known_pages=entry.pages)
                found = pool.visuals(source, entry.row, known) if entry.row is None else ()
                visuals += found
                check_visuals(entry, found)
    except DocumentError as error:
        trouble = f"visuals: {error}"
    except AssertionError as error:
        trouble = f"positions: {error}".replace("\n", " ")[:300]
    return Line(parsed, visuals, trouble, time.perf_counter() - start)


def check_visuals(entry: ParsedText, visuals: tuple[Visual, ...]) -> None:
    count = entry.text.count("\n") + 1 if entry.text else 0
    labels = [one.label for one in visuals]
    assert len(labels) == len(set(labels)), f"labels twice: {labels}"
    for one in visuals:
        assert one.page is None or 1 <= one.page <= (entry.page_count or 0), one
        if one.start_line is not None and one.end_line is not None:
            assert 1 <= one.start_line <= one.end_line <= count, one


def is_expected(parsed: ParsedFile) -> bool:
    usual = ANYTHING_READABLE.get(parsed.name.split("/")[0], {"parsed"})
    return parsed.outcome.value in EXPECTED.get(parsed.name, usual)


def report(lines: list[Line]) -> str:
    by_outcome = Counter((line.parsed.name.split("/")[0], line.parsed.outcome.value) for line in lines)
    seconds = sum(line.seconds for line in lines)
    rows = [f"  {folder:6} {outcome:18} {count:5}" for (folder, outcome), count in sorted(by_outcome.items())]
    shown = [line.row() for line in lines if line.parsed.name.split("/")[0] in PRINTED]
    return "\n".join(
        ["", HEADER, *shown, f"\n{len(lines)} files, {seconds:.1f} s; table in {TABLE}", *rows, ""]
    )
