"""What reading a PDF costs beside the bare library: `python -m benchmarks.parsing --folder DIR [--repeat 5] [--visuals]`.

Every PDF under the folder (or under the one that QAGEN_REAL_DATA names) is read in this one process by
PyMuPDF's `page.get_text()` on all its pages and by ours, text recognition off, in turns and in alternating order; the
least CPU time of several rounds counts, because waiting for the machine is not work. Files that cannot be opened
without a password, or at all, are left out on both sides. The list of visuals is timed apart, and the peak memory of
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
from typing import NamedTuple

import pymupdf

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import ParsedText, ParseOptions, Source
from qagen_dagster.formats.pdf import PdfFormat

LIMIT = 1.3  # times the bare library's time, over all files
MEMORY_LIMIT = 1_000_000_000  # bytes, for any one document
OPTIONS = ParseOptions(ocr=False)


class Timing(NamedTuple):
    """Least CPU seconds of one file."""

    name: str
    pages: int
    raw: float
    ours: float


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
    timings = [one for file in files if (one := _time(file, repeat)) is not None]
    if not timings:
        print("no PDF there can be opened", file=sys.stderr)
        return 2
    print(f"{'file':44} {'pages':>6} {'raw ms':>9} {'ours ms':>9} {'ratio':>6}")
    for one in timings:
        print(
            f"{one.name[-44:]:44} {one.pages:6} {one.raw * 1e3:9.1f} {one.ours * 1e3:9.1f} {one.ours / one.raw:6.2f}"
        )
    raw, ours = sum(one.raw for one in timings), sum(one.ours for one in timings)
    pages = sum(one.pages for one in timings)
    ratio = ours / raw
    print(f"{'all files':44} {pages:6} {raw * 1e3:9.1f} {ours * 1e3:9.1f} {ratio:6.2f}  (limit {LIMIT})")
    largest = max(timings, key=lambda one: one.pages)
    peak = _memory_of(next(file for file in files if file.name == largest.name))
    limit = f"limit {MEMORY_LIMIT / 1e6:.0f} MB"
    print(f"peak memory of reading {largest.name} ({largest.pages} pages): {peak / 1e6:.0f} MB  ({limit})")
    if visuals:
        _print_visuals(files)
    return 0 if ratio <= LIMIT and peak <= MEMORY_LIMIT else 1


def _time(file: Path, repeat: int) -> Timing | None:
    """The least times of a file; None if it cannot be read."""
    data = file.read_bytes()
    try:
        pages = _ours(data)
    except DocumentError:
        return None
    runs: list[Callable[[bytes], int]] = [_raw, _ours]
    least = {_raw: float("inf"), _ours: float("inf")}
    for _ in range(max(repeat, 1)):
        for run in runs:
            began = time.process_time()
            run(data)
            least[run] = min(least[run], time.process_time() - began)
        runs.reverse()
    return Timing(file.name, pages, max(least[_raw], 1e-6), least[_ours])


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
