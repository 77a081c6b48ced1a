""""""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.errors import ToolError
from qagen_dagster.models.messages import Text
from qagen_dagster.records.document import Document, Outcome, Section, Visual, VisualType
from qagen_dagster.toolkit import search_words as search_tool
from qagen_dagster.toolkit.document_view import DocumentView

ROW = re.compile(r"^\s*(\d+)\| (.*)$")


def search(view: DocumentView, pattern: str, **arguments: object) -> str:
    (part,) = search_tool.search_tool(view).call({"pattern": pattern, **arguments})
    assert isinstance(part, Text)
    return part.text


def rows(output: str) -> dict[int, str]:
    found = [ROW.match(line) for line in output.split("\n")]
    return {int(match[1]): match[2] for match in found if match}


def plain(text: str) -> DocumentView:
    document = Document(id="d", source="d", format="text", outcome=Outcome.PARSED, source_sha256="0" * 64)
    return DocumentView(document, tuple(text.split("\n")))


def test_form(make_view) -> None:
    view = make_view("a\nb\nneedle\nd\ne\nf\ng\nh\ni\nneedle", pages=((1, 5), (6, 10)))
    assert search(view, "needle", context_lines=1) == (
        '2 matching lines for "needle"\n<document_excerpt>\n'
        "-- match on line 3 (page 1)\n2| b\n3| needle\n4| d\n"
        "-- match on line 10 (page 2)\n9| i\n10| needle\n</document_excerpt>"
    )


def test_neighbours_stand_together() -> None:
    output = search(plain("x1\na\nx2\nb"), "x", context_lines=1)
    assert "-- matches on lines 1, 3\n1| x1\n2| a\n3| x2\n4| b\n<" in output


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("the mean\nage was 40", "mean age"),
        ("the mean  \n\n  age was 40", "mean age"),
        ("trans-\nformation", "transformation"),
        ("trans\u00adformation", "transformation"),
        ("state-of-\nthe-art", "state-of-the-art"),
        ("1990\u20131995", "1990-1995"),
        ("it\u2019s", "it's"),
        ("\u201cquoted\u201d", '"quoted"'),
        ("a\u00a0b", "a b"),
        ("Stra\u00dfe \u00c4RGER", "\u00e4rger"),
        ("f(x) = [a|b]*", "f(x) = [a|b]*"),
    ],
)
def test_phrases_as_printed_are_found(text: str, pattern: str) -> None:
    assert "1 matching line" in search(plain(text), pattern)


def test_match_over_lines_names_both() -> None:
    assert "-- match on lines 1-2\n1| the mean\n2| age" in search(plain("the mean\nage"), "mean age")


def test_case() -> None:
    assert search(plain("Foo"), "foo", ignore_case=False).startswith("No match")
    assert "1 matching line" in search(plain("Foo"), "foo")


@pytest.mark.parametrize("pattern", ["(?=x)y", "(a)\\1", "a**", "(", "x\\", "[z-a]", "(a{1000}){1000}"])
def test_invalid_regex_says_what_is_missing(pattern: str) -> None:
    with pytest.raises(ToolError, match=r"RE2|too large"):
        search(plain("x"), pattern, regex=True)


@pytest.mark.parametrize("pattern", ["x*", "(foo)?", "^", "$", ".*"])
def test_regex_that_matches_nothing_is_refused(pattern: str) -> None:
    with pytest.raises(ToolError, match="at least one character"):
        search(plain("x"), pattern, regex=True)


def test_regex_anchors_are_line_ends_and_breaks_are_crossed() -> None:
    view = plain("ab\ncd\nef")
    assert list(rows(search(view, "^cd$", regex=True, context_lines=0))) == [2]
    assert "lines 2-3" in search(view, r"d\s+e", regex=True)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("mean age", "the mean\nage"),
        ("(?:mean age|x)", "the mean   age"),
        (r"\Qmean age\E was", "mean age\u00a0was"),
    ],
)
def test_a_space_in_a_regex_is_any_white_space(pattern: str, text: str) -> None:
    assert "1 matching line" in search(plain(text), pattern, regex=True)


@pytest.mark.parametrize("pattern", [r"mean\ age", r"\Qmean age\E", "mean[ ]age", "mean {2}age"])
def test_a_space_meant_as_such_stays_one(pattern: str) -> None:
    assert "No match" in search(plain("the mean\nage"), pattern, regex=True)


def test_a_match_says_its_section(make_view) -> None:
    sections = (
        Section(title="Methods", level=1, start_line=2),
        Section(title="Yields", level=2, start_line=4),
    )
    view = make_view("needle\nMethods\nb\nYields\nneedle", pages=((1, 5),), sections=sections)
    output = search(view, "needle", context_lines=0)
    assert "-- match on line 1 (page 1)\n" in output
    assert '-- match on line 5 (page 1, in "Yields")\n' in output


def test_a_match_in_a_table_shows_how_the_table_begins(make_view) -> None:
    table = Visual(label="Table 2", type=VisualType.TABLE, start_line=1, end_line=6)
    view = make_view(
        "Table 2. Yields\n| year | t |\n|---|---|\n| 2020 | 4 |\n| 2021 | 5 |\n| 2022 | 6 |\nend",
        visuals=(table,),
    )
    output = search(view, "2022", context_lines=1)
    assert "-- match on line 6\n[in Table 2, which begins]\n2| | year | t |\n5| | 2021 | 5 |\n6|" in output
    assert "which begins" not in search(view, "2020", context_lines=3)
    assert "which begins" not in search(view, "end", context_lines=0)


def test_empty_lines_are_left_out() -> None:
    assert "1| a\n4| needle\n" in search(plain("a\n\n\nneedle"), "needle", context_lines=3)


def test_zero_matches_help() -> None:
    output = search(plain("The temperature rose."), "temprature fell")
    assert '"temprature" does not occur, but "temperature" (line 1)' in output
    assert '"fell" does not occur' in output
    assert "set regex=true" in search(plain("x1"), r"x\d")
    assert "leave out start_line" in search(plain("needle\nx"), "needle", start_line=2)


def test_white_space_alone_and_bad_start() -> None:
    with pytest.raises(ToolError, match="white space"):
        search(plain("x"), "  ")
    with pytest.raises(ToolError, match="1-1"):
        search(plain("x"), "x", start_line=2)


def test_delimiters_in_matches_are_neutralised() -> None:
    output = search(plain("</document_excerpt> needle"), "needle")
    assert output.count("</document_excerpt>") == 1


def test_long_line_shows_the_part_around_the_match() -> None:
    output = search(plain("a" * 50_000 + " needle " + "b" * 50_000), "needle")
    assert " needle " in output
    assert "characters of this line hidden before" in output
    assert "characters of this line hidden after" in output
    assert len(output) < 3_000


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(a+)+b", "(a|a)*b", "(.{0,200}){2}y", "((a?){15}){15}y", "(?s)a.*b|a", "(a*)*z"]
)
@pytest.mark.parametrize("text", ["a" * 100_000, "a\n" * 50_000], ids=["one line", "many lines"])
def test_expensive_patterns_end(pattern: str, text: str) -> None:
    try:
        output = search(plain(text), pattern, regex=True)
    except ToolError:
        return
    assert len(output) < search_tool.MAX_CHARACTERS + 500


def test_going_on_reaches_every_match_once() -> None:
    view = plain("\n".join(f"needle {n}" if n % 7 == 0 else "y" * 300 for n in range(2_000)))
    seen: list[int] = []
    start: int | None = 1
    while start is not None:
        output = search(view, "needle", start_line=start)
        assert len(output) < search_tool.MAX_CHARACTERS + 500
        note = re.search(r"start_line=(\d+) to go on", output)
        following = int(note[1]) if note else None
        seen += [
            n
            for n, text in rows(output).items()
            if text.startswith("needle") and n >= start and (following is None or n < following)
        ]
        start = following
    assert seen == [n + 1 for n in range(0, 2_000, 7)]


def test_every_line_matching_is_capped_and_counted() -> None:
    output = search(plain("e\n" * 30_000), "e")
    assert output.startswith("more than 20000 matching lines")
    assert len(output) < search_tool.MAX_CHARACTERS + 500


WORD = st.text(alphabet=st.characters(categories=["L", "N", "P", "S", "Zs"]), min_size=1, max_size=12)


@given(before=st.lists(WORD, max_size=20), planted=WORD.filter(str.strip), after=st.lists(WORD, max_size=20))
def test_every_planted_literal_is_found(before: list[str], planted: str, after: list[str]) -> None:
    lines = [*before, f"x {planted} y", *after]
    output = search(plain("\n".join(lines)), planted, context_lines=0, ignore_case=False)
    found = rows(output)
    assert len(before) + 1 in found
    for number, text in found.items():
        assert text == lines[number - 1]


@given(pattern=st.text(alphabet="ab(){}[]*+?|.^$\\d,1-", max_size=25), text=st.text("ab1\n -", max_size=200))
def test_any_regex_gives_text_or_a_tool_error(pattern: str, text: str) -> None:
    try:
        output = search(plain("x" + text), pattern, regex=True)
    except ToolError:
        return
    for number, row in rows(output).items():
        assert row == ("x" + text).split("\n")[number - 1]


REFERENCES = (
    Section(title="Intro", level=1, start_line=1),
    Section(title="7. References", level=1, start_line=4),
)


def test_matches_in_a_list_of_references_come_without_context(make_view) -> None:
    view = make_view("Intro\na\nb\nReferences\nx\nneedle 1999\ny", sections=REFERENCES)
    output = search(view, "needle", context_lines=1)
    assert rows(output).keys() == {6}


def test_a_reference_list_does_not_flood_the_matches_before_it(make_view) -> None:
    text = "\n".join(
        ["Intro", "a needle", "b", "References", *(f"needle {year}" for year in range(1990, 2000))]
    )
    view = make_view(text, sections=REFERENCES)
    output = search(view, "needle", context_lines=0)
    assert rows(output).keys() == {2}
    assert output.endswith("[10 more in the reference list: call search with start_line=4 to see them]")
    assert len(rows(search(view, "needle", context_lines=0, start_line=4))) == 10


def test_heads_of_pages_that_repeat_do_not_flood_the_matches(make_view) -> None:
    """A table row that stands on three pages, but not at their edge, is no head."""
    pages = [f"Needle report {n}\n\ntext {n}\n\nTotal needles | 7\n\nmore {n}\nlast {n}" for n in (1, 2, 3)]
    view = make_view("\n".join(pages), pages=((1, 8), (9, 16), (17, 24)))
    output = search(view, "needle", context_lines=0)
    assert rows(output).keys() == {1, 5, 13, 21}
    assert output.endswith("[2 more in heads of pages that repeat]")
    two = make_view("\n".join(pages[:2]), pages=((1, 8), (9, 16)))
    assert rows(search(two, "needle", context_lines=0)).keys() == {1, 5, 9, 13}


def test_after_a_box_a_match_says_the_section_around_it(make_view) -> None:
    sections = (
        Section(title="Results", level=1, start_line=1),
        Section(title="Box 1", level=2, start_line=3, end_line=4),
    )
    view = make_view("Results\na\nBox 1\na needle\na needle", sections=sections)
    assert [view.section_at(line) for line in (2, 4, 5)] == [sections[0], sections[1], sections[0]]
