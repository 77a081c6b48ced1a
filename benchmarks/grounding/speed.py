"""100 answers of 5 sentences against one long PDF: `python -m benchmarks.grounding.speed [--folder DIR | --file PDF]`.

The document is parsed once, not timed here; the answers are sentences of it, half of them with a number or name changed.
Reported: making the search lists, grading by our detector, and grading by the described rule on the windows that the search
finds.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pymupdf

from benchmarks.grounding.described import Described
from qagen_dagster.formats.base import ParsedText, ParseOptions
from qagen_dagster.formats.base import Source as File
from qagen_dagster.formats.pdf.reader import PdfFormat
from qagen_dagster.grounding.grade_by_code import grade_by_code
from qagen_dagster.grounding.source import Source

ANSWERS, SENTENCES = 100, 5


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=os.environ.get("QAGEN_REAL_DATA"))
    parser.add_argument("--file", type=Path, default=None)
    parser.add_argument("--described", type=int, default=2, help="answers graded by the described rule")
    chosen = parser.parse_args(arguments)
    file = chosen.file or (_longest(Path(chosen.folder)) if chosen.folder else None)
    if file is None:
        print("name a folder of PDFs: --folder DIR, or QAGEN_REAL_DATA in the environment", file=sys.stderr)
        return 2
    _measure(file, chosen.described)
    return 0


def _measure(file: Path, described: int) -> None:
    parsed = next(iter(PdfFormat().parse(File(file.name, file.read_bytes()), ParseOptions(ocr=False))))
    if not isinstance(parsed, ParsedText):
        raise SystemExit(f"{file} cannot be read")
    source = Source(parsed.text)
    start = time.perf_counter()
    answers = _answers(source)
    source.candidates(["warm"], 1)
    print(f"{file.name}: {len(parsed.text):,} characters, {len(source.sentences):,} sentences")
    print(f"search lists: {time.perf_counter() - start:.1f} s")
    start = time.perf_counter()
    grades = [grade_by_code(answer, source) for answer in answers]
    spent = time.perf_counter() - start
    grounded = sum(one.is_grounded is True for one in grades[::2])
    print(
        f"ours: {len(answers)} answers of {SENTENCES} sentences in {spent:.1f} s; of {len(grades[::2])} that are copies {grounded} grounded"
    )
    start = time.perf_counter()
    rule = Described(source)
    for answer in answers[:described]:
        rule.score(answer)
    spent = time.perf_counter() - start
    print(f"described: {described} answers in {spent:.1f} s, {rule.encoded:,} windows encoded")


def _answers(source: Source) -> list[str]:
    chance = random.Random(7)
    usable = [one.text for one in source.sentences if 8 <= len(one.text.split()) <= 40]
    answers: list[str] = []
    for number in range(ANSWERS):
        chosen = [" ".join(text.split()) for text in chance.sample(usable, SENTENCES)]
        if number % 2:
            chosen[0] = chosen[0].replace("the", "the unmentioned", 1) + " In 1873 it was 4,711."
        answers.append(" ".join(chosen))
    return answers


def _longest(folder: Path) -> Path | None:
    found: list[tuple[int, Path]] = []
    for file in folder.rglob("*.pdf"):
        try:
            with pymupdf.open(file) as document:
                found.append((len(document), file))
        except (RuntimeError, ValueError):
            continue
    return max(found)[1] if found else None


if __name__ == "__main__":
    sys.exit(main())
