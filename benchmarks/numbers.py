"""Numbers of PDFs as we read them, beside those of other readers: `python -m benchmarks.numbers FOLDER [--pdftotext PROGRAM]`.

Every PDF under the folder is read by ours, by MuPDF (`get_text`) and, if the program is there, by Poppler's `pdftotext`, without text
recognition. For each page the numbers, with their signs, that only one side has are listed. A number that both other readers
have and ours has not is a lost fact, unless the page is marked: its text is garbled, hidden text was left out, or the number stands in
a line with U+FFFD. A number that only ours has is a wrong one. Raised and lowered numbers count in both forms (`20^12` is 20 and 12,
or 2012), since the others do not mark them.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import pymupdf

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import ParsedText, ParseOptions, Source
from qagen_dagster.formats.pdf.reader import PdfFormat

_NUMBER = re.compile(r"(?:(?<![\w)\].,-])-)?\d+(?:[.,]\d+)*")
_MARKS = re.compile(r"[\^_]\(?")
_MINUS = str.maketrans(dict.fromkeys("\u2212\u2013\u2012\u2010\u2011\u00ad\ufe63\uff0d", "-"))
_SECONDS = 120


class Difference(NamedTuple):
    """The numbers of one page that only one side has."""

    page: int
    lost: Counter[str]
    new: Counter[str]
    marked: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare and print; 1 if a number differs on a page that is not marked, 2 if there is nothing to compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pdftotext", default=shutil.which("pdftotext"))
    chosen = parser.parse_args(arguments)
    files = sorted(chosen.folder.rglob("*.pdf"))
    if not files:
        print("there is no PDF", file=sys.stderr)
        return 2
    numbers = pages = bad = 0
    for file in files:
        compared = list(_compared(file, chosen.pdftotext))
        found = [one for one, _ in compared if one.lost or one.new]
        numbers, pages = numbers + sum(count for _, count in compared), pages + len(compared)
        for one in found:
            bad += 0 if one.marked else 1
            print(
                f"{file.name} {one.page}: lost {_shown(one.lost)} new {_shown(one.new)} {one.marked}".rstrip()
            )
    print(f"{len(files)} files, {pages} pages, {numbers} numbers; {bad} pages differ without a mark")
    return int(bad > 0)


def _compared(file: Path, program: str | None) -> Iterator[tuple[Difference, int]]:
    """The difference of each page, and how many numbers the others have there."""
    try:
        (entry,) = PdfFormat().parse(Source(file.name, file.read_bytes()), ParseOptions(ocr=False))
    except DocumentError as error:
        print(f"{file.name}: {error.outcome}: {error.detail}")
        return
    assert isinstance(entry, ParsedText)
    lines = entry.text.split("\n")
    with pymupdf.open(file) as document:
        for span in entry.pages:
            ours = "\n".join(lines[span.start_line - 1 : span.end_line])
            plain = cast("str", cast("Any", document[span.page - 1]).get_text())
            readers = [_numbers(plain), *([_numbers(_poppler(program, file, span.page))] if program else [])]
            split, glued = _numbers(_MARKS.sub(" ", ours)), _numbers(_MARKS.sub("", ours))
            lost = (readers[0] if len(readers) == 1 else readers[0] & readers[1]) - (split | glued)
            new = (split & glued) - (readers[0] if len(readers) == 1 else readers[0] | readers[1])
            yield Difference(span.page, lost, new, _mark(entry.detail, ours)), sum(readers[0].values())


def _numbers(text: str) -> Counter[str]:
    return Counter(_NUMBER.findall(unicodedata.normalize("NFKC", text.translate(_MINUS)).translate(_MINUS)))


def _poppler(program: str, file: Path, page: int) -> str:
    command = [program, "-f", str(page), "-l", str(page), str(file), "-"]
    done = subprocess.run(command, capture_output=True, check=False, timeout=_SECONDS)
    return done.stdout.decode("utf-8", "replace")


def _mark(detail: str, ours: str) -> str:
    marks = ["U+FFFD"] if "\ufffd" in ours else []
    return f"[{'; '.join([*marks, detail])}]" if marks or detail else ""


def _shown(numbers: Counter[str]) -> str:
    shown = [f"{number} x{count}" if count > 1 else number for number, count in sorted(numbers.items())]
    return f"{' '.join(shown[:12])}{' ...' if len(shown) > 12 else ''}" or "-"


if __name__ == "__main__":
    sys.exit(main())
