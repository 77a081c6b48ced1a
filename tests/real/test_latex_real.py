r"""Real TeX: items are cut exactly and compile, or the engine says why not; what is hostile is stopped.

Tests marked `tex` need a TeX engine (`make test-tex`): on Debian and Ubuntu texlive-latex-base, texlive-latex-extra, texlive-pictures and texlive-science.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from qagen_dagster.formats.base import ParsedText, ParseOptions, Source
from qagen_dagster.formats.registry import parse_file
from qagen_dagster.latex.comparison import numbers_of, words_of
from qagen_dagster.latex.engine import MISSING, Engine, compile_item, find_engine
from qagen_dagster.latex.structure import (
    TexItems,
    item_faults,
    options_of,
    plain_of,
    split_items,
    tikz_pictures,
)
from qagen_dagster.records.problems.result import CompileOutcome
from tests.real.rexams import item_of_rmd

REAL = Path(os.environ.get("QAGEN_REAL_DATA", ""))
DIAGRAMS = 20
_EXAMPLE = re.compile(
    r"\\begin\{codeexample\}(?:\[(?P<options>.*?)\])?\n(?P<code>.*?)\\end\{codeexample\}", re.DOTALL
)
_LIBRARIES = re.compile(r"\\usetikzlibrary\{([^}]*)\}")
_SECRET = "root:"  # of /etc/passwd

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def engine() -> Engine:
    found = find_engine()
    assert found is not None, MISSING
    return found


@pytest.fixture(scope="module")
def written() -> TexItems:
    """The file of forty items."""
    (path,) = (REAL / "physics").glob("*.tex")
    cut = split_items(path.read_text(encoding="utf-8"))
    assert len(cut.items) == 40
    return cut


@pytest.fixture(scope="module")
def converted() -> dict[str, str]:
    sources = sorted((REAL / "physics" / "rmd").glob("*.Rmd"))
    assert len(sources) > 50, f"no sources under {REAL}: QAGEN_REAL_DATA names the folder"
    return {path.stem: item_of_rmd(path.read_text(encoding="utf-8")) for path in sources}


def test_every_tex_file_comes_back_character_for_character() -> None:
    files = sorted(
        [*(REAL / "physics").rglob("*.tex"), *(REAL / "tikz").rglob("*.tex"), *(REAL / "tikz").rglob("*.sty")]
    )
    assert files, f"no files under {REAL}: QAGEN_REAL_DATA names the folder"
    for path in files:
        text = path.read_text(encoding="utf-8", errors="replace")
        cut = split_items(text)
        assert cut.text == text, path
        assert all(item.startswith("\\item") for item in cut.items), path


def test_the_items_of_the_file_are_its_body(written: TexItems) -> None:
    body = written.text.partition("\\begin{enumerate}\n")[2].partition("\\end{enumerate}")[0]
    assert "".join(written.items) == body
    for item in written.items:
        assert item_faults(item) == ()
        assert sum(one.right for one in options_of(item)) == 1
        assert words_of(item)


def test_converted_items_come_back_from_one_file(converted: dict[str, str]) -> None:
    body = "\n".join(converted.values())
    text = f"\\begin{{document}}\n\\begin{{enumerate}}\n{body}\\end{{enumerate}}\n\\end{{document}}\n"
    cut = split_items(text)
    assert "".join(cut.items) == body
    assert [item.strip() for item in cut.items] == [item.strip() for item in converted.values()]
    faulty = {name: faults for name, item in converted.items() if (faults := item_faults(item))}
    assert faulty == {}
    assert sum(bool(numbers_of(item)) for item in converted.values()) > len(converted) / 2


@pytest.mark.tex
def test_forty_items_compile(engine: Engine, written: TexItems) -> None:
    made = [compile_item(engine, item, written.preamble) for item in written.items]
    wrong = [(n, one.compiled.message) for n, one in enumerate(made, 1) if one.pdf is None]
    assert wrong == []


@pytest.mark.tex
def test_converted_items_compile_or_are_reported(engine: Engine, converted: dict[str, str]) -> None:
    made = {name: compile_item(engine, item).compiled for name, item in converted.items()}
    failed = {name: one.message for name, one in made.items() if one.outcome is not CompileOutcome.COMPILED}
    assert all(failed.values())
    assert len(failed) <= len(made) / 10, failed


@pytest.mark.tex
def test_diagrams_compile_or_are_reported(engine: Engine) -> None:
    diagrams = _diagrams()
    assert len(diagrams) >= DIAGRAMS
    made = {name: compile_item(engine, code, "", libraries) for name, (code, libraries) in diagrams.items()}
    failed = {name: one.compiled.message for name, one in made.items() if one.pdf is None}
    assert all(failed.values())
    assert len(made) - len(failed) >= DIAGRAMS, failed


@pytest.mark.tex
@pytest.mark.parametrize(
    "hostile",
    [
        r"\immediate\write18{cat /etc/passwd > stolen.tex}\input{stolen}",
        r"\input{/etc/passwd}",
        r"\input{../../../../etc/passwd}",
        r"\input{|cat /etc/passwd}",
        r"\newread\r\openin\r=/etc/passwd \read\r to\x \x",
        r"\includegraphics{/etc/passwd}",
        r"\pdffiledump length 100 {/etc/passwd}",
        r"\def\a{\a}\a",
        r"\loop\iftrue\repeat",
        r"\def\a{xxxxxxxxxx}\loop\edef\a{\a\a}\iftrue\repeat",
        r"\newcount\n\loop\advance\n by1 \expandafter\xdef\csname m\the\n\endcsname{\a\a\a\a\a\a\a\a}\iftrue\repeat",
        r"\newwrite\w\loop\immediate\openout\w=big \loop\immediate\write\w{\romannumeral900000}\iftrue\repeat\iftrue\repeat",
        r"\newwrite\w\immediate\openout\w=/tmp/written-by-tex.txt \immediate\write\w{x}",
    ],
)
def test_what_is_hostile_reads_nothing_and_ends(engine: Engine, hostile: str) -> None:
    item = f"\\item {hostile}\n\\begin{{solution}}\nNone.\n\\end{{solution}}"
    made = compile_item(engine, item)
    assert made.pdf is None or _SECRET not in _shown(made.pdf)
    assert _SECRET not in made.compiled.message
    assert made.pdf is not None or made.compiled.outcome is CompileOutcome.FAILED
    assert not Path("/tmp/written-by-tex.txt").exists()


def _shown(pdf: bytes) -> str:
    """The text of a PDF."""
    parsed = parse_file(Source("made.pdf", pdf), ParseOptions(ocr=False))
    return "".join(one.text for one in parsed.entries if isinstance(one, ParsedText))


def _diagrams() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Up to two whole pictures of each manual, with the libraries that they name."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for path in sorted((REAL / "tikz").rglob("*.tex")):
        text = path.read_text(encoding="utf-8", errors="replace")
        examples = [(one.group("code"), one.group("options") or "") for one in _EXAMPLE.finditer(text)]
        examples += [(code, text) for code in tikz_pictures(text) if "feynman" in code]
        whole = [
            one
            for one in examples
            if tikz_pictures(one[0]) and "..." not in one[0] and plain_of(one[0]).strip()
        ]
        for number, (code, options) in enumerate(whole[:2], 1):
            names = ",".join(_LIBRARIES.findall(options)).split(",")
            found[f"{path.stem}-{number}"] = (
                tikz_pictures(code)[0],
                tuple(one.strip() for one in names if one.strip()),
            )
    return found
