"""`make fuzz`: readers of foreign text are given generated input until the time is up.

Every reader either returns or raises the error that it documents, within a few seconds. What this finds becomes a
small case in the tests of that reader. To repeat a round, give the seed that it printed: `--seed N --minutes 0`.
"""

from __future__ import annotations

import argparse
import io
import random
import sys
import time
import warnings
from collections.abc import Callable
from datetime import timedelta
from functools import partial

import hypothesis
from hypothesis import strategies as st
from PIL import Image

from qagen_dagster.agents.questions.batch import one_reply
from qagen_dagster.configuration.yaml_files import read_text
from qagen_dagster.english import sentences
from qagen_dagster.errors import ConfigError, DocumentError, ToolError
from qagen_dagster.formats.base import Format, ParsedText, ParseOptions, Source
from qagen_dagster.formats.image import ImageFormat
from qagen_dagster.formats.jats.reader import JatsFormat
from qagen_dagster.formats.jsonl import JsonlFormat
from qagen_dagster.formats.markdown import MarkdownFormat
from qagen_dagster.formats.pdf.reader import PdfFormat
from qagen_dagster.formats.plain_text import TextFormat
from qagen_dagster.latex import comparison, structure
from qagen_dagster.latex.structure import split_items
from qagen_dagster.loop.exams.code_checks import latex_fault
from qagen_dagster.loop.grading.answer_file import read_row
from qagen_dagster.mathematics.value_reading import read_unit, read_value
from qagen_dagster.models import structured_output
from qagen_dagster.models.ledger import unseal
from qagen_dagster.toolkit import matching
from tests.formats.pdf.samples import columns, pdf, scan

EXAMPLES = 200  # of each reader in a round
SLOW = timedelta(seconds=5)
OPTIONS = ParseOptions(ocr=False)

Read = Callable[[str], object]

MARKDOWN = "# h|---|title: [a|| a | b |\n|---|---|\n|```mermaid\n|```\n|![x](y)|<table>|</table>|<img src='a'>|> |- |$|**|Table 1. "
JATS = (
    "<article>|</article>|<front>|<article-meta>|</article-meta>|<body>|</body>|<sec>|</sec>|<title>|</title>|<p>|</p>|"
    "<list>|</list>|<list-item>|</list-item>|<table-wrap>|</table-wrap>|<table>|</table>|<tr>|</tr>|<td rowspan='9'>|</td>|"
    "<mml:math xmlns:mml='http://www.w3.org/1998/Math/MathML'>|</mml:math>|<mml:mfrac>|</mml:mfrac>|<fn>|</fn>|<ref/>|"
    "<xref>|</xref>|<label>|</label>|<fig>|</fig>|<caption/>|&amp;|<!--|-->|<![CDATA[|]]>|<contrib/>|<year>x</year>"
)
JSON = '{|}|[|]|"id": |"text": |"title": |"authors": |"a"|"\\ud800"|"\\u0000"|,|:|1e999|-0|NaN|true|null|9999999999|\n|```json\n|```|<think>|</think>'
TEX = (
    "\\begin{enumerate}|\\end{enumerate}|\\item |\\begin{solution}|\\end{solution}|\\begin{tikzpicture}|\\end{tikzpicture}|"
    "\\frac{1}{2}|\\frac|{|}|$|$$|\\(|\\)|\\[|\\]|%|\\%|\\boxed{|\\left(|\\right)|^|_|10^{3}|\\text{m}|\\sqrt[3]{2}|&|\\\\|\\verb|\\task |(A)"
)
VALUES = "1|2.5|1/2|-|+|e|10^|(|)|%|km|m/s|kg|*|sqrt(|pi|^2|\u00d710|\u00b2|\u03bc|\u221e|,|.| |\u00b1|\u2212|=|sin(|!|**"
YAML = "name: |- |\n|  |: |{|}|[|]|&a |*a|!!python/object:x |>|\n|---\n|'|\"|1_0|0x1|2020-01-01|~|? |<<: |#"
PROSE = (
    "Dr. |e.g. |Fig. 1 |. |? |\n|\n\n|Table 2: |\u2028|\x0c|[1]|(2) |a|B|3.5 |\u3002|\u201c|... |i.e., |- |\t"
)
PATTERN = "(|)|[|]|a|*|+|?|{2,9}|\\b|\\d|^|$|||(?i)|(?P<x>|\\|\\x|.|-|[^|\\1|(?="


def _formats() -> dict[str, tuple[str, Read]]:
    files: dict[str, tuple[str, Format]] = {
        "a.txt": (PROSE, TextFormat()),
        "a.md": (MARKDOWN, MarkdownFormat()),
        "a.xml": (JATS, JatsFormat()),
        "a.jsonl": (JSON, JsonlFormat()),
    }
    return {name: (words, partial(_document, one, name)) for name, (words, one) in files.items()}


def _document(one: Format, name: str, text: str) -> None:
    _parsed(one, Source(name, text.encode("utf-8", "surrogatepass")))


def _parsed(one: Format, source: Source) -> None:
    try:
        found = one.parse(source, OPTIONS)
        visuals = one.visuals(source, None, OPTIONS)
    except DocumentError:
        return
    documents = [entry for entry in found if isinstance(entry, ParsedText)]
    for entry in documents:
        count = len(entry.text.split("\n"))
        assert all(1 <= section.start_line <= count for section in entry.sections)
        assert all(1 <= page.start_line <= count + 1 and page.end_line <= count for page in entry.pages)
    if len(documents) == 1 and documents[0].text:
        count = len(documents[0].text.split("\n"))
        assert all(1 <= (one.start_line or 1) <= (one.end_line or count) <= count for one in visuals)


def _damaged(one: Format, name: str, whole: bytes, seed: str) -> None:
    """A real file with some bytes replaced, repeated or cut out."""
    chance, data = random.Random(seed), bytearray(whole)
    for _ in range(chance.randint(1, 12)):
        at = chance.randrange(len(data))
        if chance.random() < 0.7:
            data[at] = chance.randrange(256)
        else:
            data[at : at + chance.randint(0, 40)] = data[(other := chance.randrange(len(data))) : other + 20]
    _parsed(one, Source(name, bytes(data)))


def _refusing(kind: type[Exception], read: Read) -> Read:
    def call(text: str) -> None:
        try:
            read(text)
        except kind:
            return

    return call


def _all_structure(text: str) -> None:
    for read in (split_items, structure.item_faults, structure.structure_faults, structure.options_of):
        read(text)
    for read in (
        structure.statement_of,
        structure.question_of,
        structure.solution_of,
        structure.tikz_pictures,
    ):
        read(text)
    comparison.same_answer(text, text[::-1])
    comparison.same_numbers(text, text[1:])


def readers() -> dict[str, tuple[str, Read]]:
    """Each reader with the pieces, separated by `|`, of which its input is made."""
    return _formats() | {
        "structured_output": (JSON, _refusing(ValueError, structured_output.read_object)),
        "batch reply": (JSON + "|Q: |A: |1. ", lambda text: one_reply.questions([text], None)),
        "batch answer": (JSON, lambda text: one_reply.answer([text])),
        "answer row": (JSON, _refusing(ValueError, lambda text: read_row(text.encode("utf-8", "surrogatepass")))),
        "ledger": (JSON + '|"sha256": |"entry": ', _refusing(ValueError, lambda text: unseal(text.encode("utf-8", "surrogatepass"), "k"))),
        "tex": (TEX, _all_structure),
        "formula": (TEX, latex_fault),
        "value": (VALUES, _refusing(ValueError, read_value)),
        "unit": (VALUES, _refusing(ValueError, read_unit)),
        "yaml": (YAML, _refusing(ConfigError, read_text)),
        "sentences": (PROSE, sentences.split),
        "claims": (PROSE, sentences.claims),
        "pattern": (PATTERN, _refusing(ToolError, lambda text: matching.regex(text, ignore_case=True))),
        "a.pdf": ("", partial(_damaged, PdfFormat(), "a.pdf", pdf("one\ntwo", columns))),
        "scan.pdf": ("", partial(_damaged, PdfFormat(), "scan.pdf", pdf(scan))),
        "a.png": ("", partial(_damaged, ImageFormat(), "a.png", _png())),
    }  # fmt: skip


def _png() -> bytes:
    buffer = io.BytesIO()
    Image.effect_noise((60, 40), 80).save(buffer, "PNG")
    return buffer.getvalue()


def _texts(words: str) -> st.SearchStrategy[str]:
    if not words:
        return st.integers(0, 2**63).map(str)  # the seed of the damage
    piece = st.sampled_from(words.split("|")) | st.text(max_size=6)
    flat = st.lists(piece, max_size=40).map("".join)
    return flat | st.builds(lambda text, times: text * times, flat, st.integers(2, 300))


def fuzz(name: str, seed: int) -> None:
    """One round of one reader. Raises whatever the reader should not have raised."""
    words, read = readers()[name]

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=EXAMPLES,
        deadline=SLOW,
        database=None,
        report_multiple_bugs=False,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(_texts(words))
    def run(text: str) -> None:
        read(text)

    run()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1, help="of the first round")
    parser.add_argument("--only", nargs="*", choices=sorted(readers()), help="these readers alone")
    wishes = parser.parse_args()
    warnings.simplefilter("ignore")
    end, seed, failed = time.monotonic() + wishes.minutes * 60, wishes.seed, set[str]()
    while seed == wishes.seed or time.monotonic() < end:
        for name in wishes.only or readers():
            if name not in failed:
                try:
                    fuzz(name, seed)
                except Exception as error:  # of the reader, whatever it is
                    failed.add(name)
                    notes = "\n".join(getattr(error, "__notes__", []))
                    print(
                        f"FOUND {name}, seed {seed}: {type(error).__name__}: {error}\n{notes}"[:3_000],
                        flush=True,
                    )
        print(
            f"seed {seed}: {EXAMPLES} examples for each of {len(wishes.only or readers())} readers",
            flush=True,
        )
        seed += 1
    print(f"{len(failed)} of {len(wishes.only or readers())} readers failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
