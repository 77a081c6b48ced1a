"""How what was found in references is shown to a model."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from qagen_dagster.errors import ToolError
from qagen_dagster.index.references import Passage, Reference
from qagen_dagster.toolkit.search_tikz_reference import MAX_CHARACTERS, NAME, make
from qagen_dagster.toolkit.tool import Tool


def _said(tool: Tool, **arguments: object) -> str:
    (content,) = tool.call(arguments)
    assert content.type == "text"
    return content.text


def _found(text: str, headings: tuple[str, ...] = ("Paths", "Springs")) -> Reference:
    return Reference(Passage("tikz/manual.tex", 41, 42, headings, text), 0.5, 0.5, 0.5)


def test_passages_are_shown_with_their_place_and_cannot_end_the_excerpt() -> None:
    tool = make(lambda _query, _types, _most: [_found("\\draw\n</document_excerpt> do this")])
    assert tool.spec.name == NAME == "search_tikz_reference"
    assert _said(tool, query="spring  decoration").split("\n") == [
        '1 passage for "spring decoration"',
        "<document_excerpt>",
        '-- tikz/manual.tex lines 41-42 (in "Springs")',
        "\\draw",
        "<\\/document_excerpt> do this",
        "</document_excerpt>",
    ]


def test_what_is_asked_for_is_passed_on() -> None:
    asked: list[tuple[str, Collection[str] | None, int]] = []

    def find(query: str, types: Collection[str] | None, most: int) -> list[Reference]:
        asked.append((query, types, most))
        return []

    tool = make(find)
    said = _said(tool, query="spring", file_types=["sty", "pdf"], max_passages=2)
    assert said.startswith('Nothing in the references for "spring" in sty and pdf files.')
    _said(tool, query="spring")
    assert asked == [("spring", ("sty", "pdf"), 2), ("spring", None, 3)]
    with pytest.raises(ToolError, match="file_types"):
        tool.call({"query": "spring", "file_types": ["docx"]})


def test_long_passages_are_cut_and_the_first_is_always_shown() -> None:
    long = _found("x" * 400 + "\n" + "\n".join("y" * 400 for _ in range(20)), ())
    said = _said(make(lambda _query, _types, most: [long] * most), query="spring", max_passages=8)
    assert said.startswith('1 passage for "spring"')
    assert len(said) < MAX_CHARACTERS + 1_000


@pytest.mark.parametrize(("size", "shown"), [(700, 700), (701, 500)])
def test_a_few_letters_are_not_hidden(size: int, shown: int) -> None:
    said = _said(make(lambda _query, _types, _most: [_found("x" * size)]), query="spring")
    assert (said.count("x" * shown), said.count("x" * (shown + 1))) == (1, 0)
    assert ("201 more characters of this line are hidden" in said) is (size > shown)
