r"""References: PDF, TeX and STY files are read, cut under their headings, and found by words and by meaning."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pymupdf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qagen_dagster.formats.parser_pool import ParserPool
from qagen_dagster.index import references
from qagen_dagster.index.references import (
    FILE_TYPES,
    MOST_CHARACTERS,
    ReferenceStore,
    passages_of,
    read_references,
    stem_words,
)
from tests.support.embeddings import WordEmbedder

PARSERS = ParserPool(workers=1)
_THINGS = (
    "spring",
    "capacitor",
    "pendulum",
    "prism",
    "lens",
    "pulley",
    "magnet",
    "transistor",
    "battery",
    "wedge",
)
_MANUAL = r"""% Copyright of somebody
% This file may be distributed under a licence.

\section{Path \emph{Decorations}}\label{x}
Paths can be decorated.
\subsection{Coils}
A coil is drawn by |decorate| with |coil|.
\section[short]{Angles}
Mark an angle by a pic.
"""


@pytest.fixture(scope="module", autouse=True)
def closed() -> Iterator[None]:
    yield
    PARSERS.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one file of each type, all of them about all things, and files of other types."""
    place = tmp_path_factory.mktemp("refs") / "tikz"
    (place / "deep").mkdir(parents=True)
    sections = "".join(f"\\section{{The {one}}}\nHow to draw a {one}.\n\n" for one in _THINGS)
    (place / "manual.tex").write_text(sections)
    (place / "deep" / "things.STY").write_text(
        "".join(f"\\newcommand\\draw{one}{{{one}}}\n\n" for one in _THINGS)
    )
    (place / "notes.txt").write_text("spring")
    (place / "old.tex").write_bytes("Gr\xf6\xdfe einer Feder\n".encode("latin-1"))
    with pymupdf.open() as pdf:
        for one in _THINGS:
            pdf.new_page().insert_text((72, 72), f"A page that shows the {one} as a picture.")  # pyright: ignore[reportUnknownMemberType]
        pdf.save(place / "pages.pdf")  # pyright: ignore[reportUnknownMemberType]
    return place


@pytest.fixture(scope="module")
def store(folder: Path) -> ReferenceStore:
    return read_references([folder], WordEmbedder(), PARSERS)


@settings(max_examples=100, deadline=None)
@given(thing=st.sampled_from(_THINGS), kind=st.sampled_from(FILE_TYPES), dotted=st.booleans())
def test_every_type_can_be_searched_alone_and_with_the_others(
    store: ReferenceStore, thing: str, kind: str, dotted: bool
) -> None:
    """**Feature: physics-question-pipeline, Property 12: Reference Search File Type Support**"""
    (best, *_) = store.search(thing, [f".{kind.upper()}" if dotted else kind])
    assert best.passage.file_type == kind
    assert thing in best.passage.text
    assert {one.passage.file_type for one in store.search(thing, limit=8)} == set(FILE_TYPES)


def test_files_are_named_with_their_folder_and_other_types_are_left_alone(store: ReferenceStore) -> None:
    paths = [one.path for one in store.passages]
    assert list(dict.fromkeys(paths)) == [
        "tikz/deep/things.STY",
        "tikz/manual.tex",
        "tikz/old.tex",
        "tikz/pages.pdf",
    ]
    assert store.skipped == ()
    assert store.search("Gr\xf6\xdfe")[0].passage.text == "Gr\xf6\xdfe einer Feder"


def test_what_is_missing_or_unreadable_is_logged_and_left_out(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "fine.tex").write_text("a spring")
    (tmp_path / "binary.sty").write_bytes(b"\x00\x01")
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    with caplog.at_level(logging.WARNING):
        found = read_references([folder / "none", tmp_path], WordEmbedder(), PARSERS)
    assert [one.passage.path for one in found.search("spring")] == [f"{tmp_path.name}/fine.tex"]
    assert len(found.skipped) == 3
    assert f"{folder / 'none'}: there is no such folder; it is left out" in found.skipped
    assert all("it is left out" in one for one in found.skipped)
    assert [record.getMessage() for record in caplog.records] == list(found.skipped)


def test_large_files_and_too_many_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.tex", "b.tex", "c.tex"):
        (tmp_path / name).write_text("a spring")
    (tmp_path / "b.tex").write_bytes(b"x" * 1_500_000)
    monkeypatch.setattr(references, "MOST_BYTES", 1_000_000)
    monkeypatch.setattr(references, "MOST_FILES", 2)
    found = read_references([tmp_path], WordEmbedder(), PARSERS)
    assert [one.path for one in found.passages] == [f"{tmp_path.name}/a.tex"]
    assert any("only the first 2" in one for one in found.skipped)
    assert any("larger than 1 MB" in one for one in found.skipped)


def test_nothing_is_found_where_nothing_is() -> None:
    empty = read_references([], WordEmbedder(), PARSERS)
    assert empty.search("spring") == []
    assert empty.version == ""


def test_the_version_changes_with_the_files_alone(
    folder: Path, tmp_path: Path, store: ReferenceStore
) -> None:
    assert read_references([folder], WordEmbedder(), PARSERS).version == store.version
    (tmp_path / "a.tex").write_text("a spring")
    first = read_references([tmp_path], WordEmbedder(), PARSERS).version
    (tmp_path / "a.tex").write_text("a lens")
    assert read_references([tmp_path], WordEmbedder(), PARSERS).version != first


def test_headings_are_embedded_once_and_only_when_asked(folder: Path) -> None:
    embedder = WordEmbedder()
    found = read_references([folder], embedder, PARSERS)
    assert embedder.asked == []
    found.search("spring")
    found.search("lens")
    assert embedder.asked.count("manual The spring") == 1


def test_without_an_embedder_that_works_words_alone_decide(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    found = read_references([folder], WordEmbedder(poison="The spring"), PARSERS)
    with caplog.at_level(logging.WARNING):
        (best, *_) = found.search("spring", ["tex"])
    assert "How to draw a spring" in best.passage.text
    assert "by words alone" in caplog.text


def test_one_long_manual_does_not_fill_the_results(tmp_path: Path) -> None:
    (tmp_path / "long.tex").write_text("".join(f"\\section{{Spring {n}}}\nspring spring\n" for n in range(9)))
    (tmp_path / "short.tex").write_text("one spring among many other words that say nothing of it")
    found = read_references([tmp_path], WordEmbedder(), PARSERS).search("spring", limit=5)
    assert [Path(one.passage.path).name for one in found] == ["long.tex", "long.tex", "short.tex"]


def test_passages_stand_below_their_headings() -> None:
    found = passages_of("m.tex", _MANUAL)
    assert [(one.headings, one.start_line, one.end_line) for one in found] == [
        (("Path Decorations",), 4, 5),
        (("Path Decorations", "Coils"), 6, 7),
        (("Angles",), 8, 9),
    ]
    assert found[1].text == "\\subsection{Coils}\nA coil is drawn by |decorate| with |coil|."


def test_an_example_stays_whole_and_code_in_comments_is_left_out() -> None:
    example = [
        "\\begin{codeexample}[]",
        "\\draw (0,0) circle (1);",
        "",
        *["\\node {a};"] * 180,
        "\\end{codeexample}",
    ]
    disused = ["% \\draw (1,1) -- (2,2);", "%\\symarrow{square}"] * 20
    text = "\n".join(
        ["\\section{Shapes}", "Words.", *example, "\\section{Old}", *disused, "\\section{New}", "More words."]
    )
    found = passages_of("m.tex", text)
    assert [one.headings for one in found] == [("Shapes",), ("New",)]
    assert found[0].text.endswith("\\end{codeexample}")
    assert len(found[0].text) > MOST_CHARACTERS


def test_words_of_a_files_name() -> None:
    assert stem_words("a/pgfmanual-en-library-3d.tex") == "pgfmanual en library 3d"
    assert stem_words("ctikzManUtils.sty") == "ctikz Man Utils"


@given(st.lists(st.text(alphabet="ab \\{}%", max_size=400), max_size=30))
def test_passages_are_lines_in_order_and_none_is_too_long(lines: list[str]) -> None:
    text = "\n".join(lines)
    place = 0
    for one in passages_of("x.sty", text):
        assert one.start_line > place
        assert one.text == "\n".join(lines[one.start_line - 1 : one.end_line])
        assert len(one.text) <= MOST_CHARACTERS + 400
        place = one.end_line
