"""What reading a PDF costs beside the bare library: `python -m benchmarks.parsing --folder DIR [--repeat 5] [--visuals]`.

Every PDF under the folder (or under the one that QAGEN_REAL_DATA names) is read in this one process by
PyMuPDF's `page.get_text()` on all its pages and by ours, text recognition off, in turns and in alternating order, in
several rounds over all files. CPU time is taken, because waiting for the machine is not work. By file the least time
counts, and the limit is held against the ratio of the file that has the median page. The ratios of the rounds show the spread. Files that cannot be opened are left out. The list of visuals is timed apart, and the peak memory of
reading the file with the most pages is taken in a process of its own.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import pymupdf

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import ParsedText, ParseOptions, Source
from qagen_dagster.formats.pdf.reader import PdfFormat

LIMIT = 1.6  # times the bare library's time, for the median page
MEMORY_LIMIT = 1_000_000_000  # bytes, for any one document
OPTIONS = ParseOptions(ocr=False)


class Timing(NamedTuple):
    """CPU seconds of one file in one round."""

    raw: float
    ours: float


class Measured(NamedTuple):
    """One file and its rounds."""

    file: Path
    pages: int
    rounds: list[Timing]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 if a limit is exceeded, 2 if there is nothing to measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--visuals", action="store_true", help="time the list of visuals, too")
    parser.add_argument("--memory", type=Path, default=None, help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.memory is not None:
        return _print_memory(chosen.memory)
    named = chosen.folder or (
        Path(os.environ["QAGEN_REAL_DATA"]) if "QAGEN_REAL_DATA" in os.environ else None
    )
    if named is None or not named.is_dir():
        print("name a folder of PDFs: --folder DIR, or QAGEN_REAL_DATA in the environment", file=sys.stderr)
        return 2
    return _measure(sorted(named.rglob("*.pdf")), chosen.repeat, visuals=chosen.visuals)


def _measure(files: list[Path], repeat: int, *, visuals: bool) -> int:
    measured = [Measured(file, pages, []) for file in files if (pages := _pages(file))]
    if not measured:
        print("no PDF there can be opened", file=sys.stderr)
        return 2
    for number in range(max(repeat, 1)):
        for one in measured:
            one.rounds.append(_time(one.file.read_bytes(), ours_first=number % 2 == 1))
    ratio = _print_files(measured)
    totals = [_ratio([one.rounds[number] for one in measured]) for number in range(max(repeat, 1))]
    shown = " ".join(f"{one:.2f}" for one in totals)
    print(f"ours to raw over all files, by round: {shown}; for the median page {ratio:.2f}  (limit {LIMIT})")
    largest = max(measured, key=lambda one: one.pages)
    peak = _memory_of(largest.file)
    limit = f"limit {MEMORY_LIMIT / 1e6:.0f} MB"
    print(
        f"peak memory of reading {largest.file.name} ({largest.pages} pages): {peak / 1e6:.0f} MB  ({limit})"
    )
    if visuals:
        _print_visuals(files)
    return 0 if ratio <= LIMIT and peak <= MEMORY_LIMIT else 1


def _print_files(measured: list[Measured]) -> float:
    """Print the least times by file. Returns the ratio for the median page."""
    print(f"{'file':44} {'pages':>6} {'raw ms':>9} {'ours ms':>9} {'ratio':>6}")
    least = [
        (one.file.name, one.pages, Timing(min(t.raw for t in one.rounds), min(t.ours for t in one.rounds)))
        for one in measured
    ]
    both = Timing(sum(t.raw for _, _, t in least), sum(t.ours for _, _, t in least))
    for name, pages, time_ in [*least, ("all files", sum(one.pages for one in measured), both)]:
        print(
            f"{name[-44:]:44} {pages:6} {time_.raw * 1e3:9.1f} {time_.ours * 1e3:9.1f} {_ratio([time_]):6.2f}"
        )
    return median([_ratio([time_]) for _, pages, time_ in least for _ in range(pages)])


def _ratio(timings: list[Timing]) -> float:
    return sum(one.ours for one in timings) / max(sum(one.raw for one in timings), 1e-9)


def _pages(file: Path) -> int:
    """How many pages we read of a file; 0 if none."""
    try:
        return _ours(file.read_bytes())
    except DocumentError:
        return 0


def _time(data: bytes, *, ours_first: bool) -> Timing:
    spent: dict[Callable[[bytes], int], float] = {}
    for run in (_ours, _raw) if ours_first else (_raw, _ours):
        began = time.process_time()
        run(data)
        spent[run] = time.process_time() - began
    return Timing(spent[_raw], spent[_ours])


def _raw(data: bytes) -> int:
    document = pymupdf.open(stream=data, filetype="pdf")
    count = document.page_count
    for number in range(count):
        try:
            document[number].get_text()
        except Exception:
            continue
    document.close()
    return count


def _ours(data: bytes) -> int:
    read = PdfFormat().parse(Source("benchmark.pdf", data), OPTIONS)[0]
    return (read.page_count or 0) if isinstance(read, ParsedText) else 0


def _print_visuals(files: list[Path]) -> None:
    print(f"{'visuals of':44} {'found':>6} {'ms':>9}")
    for file in files:
        began = time.process_time()
        try:
            found = len(PdfFormat().visuals(Source(file.name, file.read_bytes()), None, OPTIONS))
        except DocumentError:
            continue
        print(f"{file.name[-44:]:44} {found:6} {(time.process_time() - began) * 1e3:9.1f}")


def _memory_of(file: Path) -> int:
    """Peak resident bytes of a fresh process that reads the file."""
    command = [sys.executable, "-m", "benchmarks.parsing", "--memory", str(file)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(done.stdout)


def _print_memory(file: Path) -> int:
    _ours(file.read_bytes())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(peak if sys.platform == "darwin" else peak * 1024)  # macOS counts bytes, Linux kilobytes
    return 0


if __name__ == "__main__":
    sys.exit(main())
