"""Lists, notes, captions and floats of JATS: numbers, labels and texts that must not be lost."""

from __future__ import annotations

import pytest

from qagen_dagster.formats.base import ParsedText, ParseOptions, Source
from qagen_dagster.formats.jats.reader import JatsFormat
from tests.formats.jats.test_reader import article, lines, parse

CAPTION = "<label>Fig 1</label><caption><title>T</title><p>{}</p></caption>"
ITEMS = "<list-item><p>a</p></list-item><list-item><p>b</p></list-item>"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (f"<list list-type='roman-lower'>{ITEMS}</list>", ["i. a", "ii. b"]),
        (f"<list list-type='order' prefix-word='Step'>{ITEMS}</list>", ["Step 1. a", "Step 2. b"]),
        (
            f"<list list-type='order' id='l'>{ITEMS}</list><list list-type='order' continued-from='l'>{ITEMS}</list>",
            ["1. a", "2. b", "3. a", "4. b"],
        ),
        (
            "<list><label>A</label><title>T</title><list-item><title>Dose</title><p>a</p></list-item></list>",
            ["A T", "- Dose", "  a"],
        ),
        (
            "<def-list><term-head>Word</term-head><def-head>Meaning</def-head><def-item><label>1</label><term>a</term>"
            "<def><p>x</p></def></def-item><def-list><def-item><term>b</term></def-item></def-list></def-list>",
            ["Word: Meaning", "1 a: x", "b"],
        ),
    ],
)
def test_lists_keep_their_numbers_and_heads(body: str, text: list[str]) -> None:
    assert lines(body) == text


def test_items_of_long_roman_lists_have_numbers_of_their_own() -> None:
    found = lines(f"<list list-type='roman-upper'>{ITEMS * 21}</list>")
    assert [found[n - 1] for n in (4, 9, 10, 19, 20, 21, 39, 40, 42)] == [
        "IV. b", "IX. a", "X. b", "XIX. a", "XX. b", "XXI. a", "XXXIX. a", "40. b", "42. b",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (f"<fig>{CAPTION.format(f'Doses: <list>{ITEMS}</list>')}</fig>", ["Fig 1. T Doses: a b"]),
        (f"<fig>{CAPTION.format('Dose<fn><p>in mg</p></fn>')}</fig>", ["Fig 1. T Dose in mg"]),
        (
            f"<fig>{CAPTION.format('x = <disp-formula><tex-math>5</tex-math></disp-formula> mg')}</fig>",
            ["Fig 1. T x = $5$ mg"],
        ),
        (
            f"<fig>{CAPTION.format('x')}<p>More</p><list>{ITEMS}</list><attrib>Me</attrib><table><tr><td>5</td></tr></table></fig>",
            ["Fig 1. T x", "More", "- a", "- b", "Me", "| 5 |"],
        ),
        (f"<fig-group>{CAPTION.format('x')}<fig><label>A</label></fig></fig-group>", ["Fig 1. T x", "A"]),
        (
            f"<table-wrap>{CAPTION.format('x<supplementary-material><label>S1</label><p>y</p></supplementary-material>')}"
            "<table><tr><td>5</td></tr></table></table-wrap>",
            ["Fig 1. T x", "| 5 |", "S1", "y"],
        ),
        (
            "<supplementary-material><label>S1</label><media><caption><p>Film</p></caption></media><p>y</p></supplementary-material>",
            ["S1", "Film", "y"],
        ),
        (
            "<disp-formula-group><label>(3)</label><disp-formula><tex-math>a</tex-math></disp-formula></disp-formula-group>",
            ["(3)", "$a$"],
        ),
        ("<chem-struct-wrap><label>1</label><chem-struct>2H</chem-struct></chem-struct-wrap>", ["1", "2H"]),
    ],
)
def test_floats_keep_all_of_their_text(body: str, text: list[str]) -> None:
    assert lines(body) == text


def test_notes_keep_their_labels_in_all_places() -> None:
    note = "<fn><label>1</label><p>Not 6.</p></fn>"
    assert lines(f"<p>dose <italic>5{note}</italic> mg</p>") == ["dose 5^1 mg", "1 Not 6."]
    assert lines(f"<list><list-item><p>5{note}</p></list-item></list>") == ["- 5^1", "1 Not 6."]
    assert lines(f"<sec><title>Dose{note}</title><p>x</p></sec>") == ["Dose^1", "1 Not 6.", "x"]
    assert parse(article("<p>x</p>", back=f"<fn-group>{note}</fn-group>")).text.endswith("Notes\n\n1 Not 6.")
    front = "<article-meta/><notes><title>Data</title><p>On request.</p></notes>"
    assert parse(article("<p>x</p>", front=front)).text.endswith("Data\n\nOn request.")
    inner = f"<article-meta/><notes><title>All</title>{front.removeprefix('<article-meta/>')}</notes>"
    assert parse(article("<p>x</p>", front=inner)).text.endswith("x\n\nAll\n\nData\n\nOn request.")


def test_a_formula_that_is_only_a_picture_is_counted() -> None:
    entry = parse(article("<p>x <disp-formula><label>(2)</label><graphic/></disp-formula> y</p>"))
    assert entry.text.endswith("x\n\n\ufffd (2)\n\ny")
    assert entry.detail == "1 sign without a text, shown as U+FFFD"


def test_editors_are_no_authors() -> None:
    groups = "".join(
        f"<person-group person-group-type='{kind}'><name><surname>{name}</surname></name></person-group>"
        for kind, name in (("author", "Finch"), ("editor", "Wren"))
    )
    back = f"<ref-list><ref><element-citation>{groups}<year>2004</year></element-citation></ref></ref-list>"
    assert parse(article("<p>x</p>", back)).text.endswith("Finch, Wren (ed) (2004)")


def test_all_articles_and_parts_of_articles_are_read() -> None:
    one, two = (article(f"<p>{text}</p>", front="<article-meta/>") for text in ("one", "two"))
    found = JatsFormat().parse(
        Source("a.xml", f"<set><list>{one}</list>{two}</set>".encode()), ParseOptions()
    )
    assert [each.text for each in found if isinstance(each, ParsedText)] == ["one", "two"]
    stub = (
        "<front-stub><author-notes><fn><label>1</label><p>Not 6.</p></fn></author-notes>"
        "<abstract><p>Short.</p></abstract><kwd-group><kwd>tide</kwd></kwd-group></front-stub>"
    )
    inner = "<sub-article><body><p>Inner.</p></body></sub-article>"
    entry = parse(
        article("<p>x</p>", more=f"<sub-article>{stub}<body><p>Outer.</p></body>{inner}</sub-article>")
    )
    assert [line for line in entry.text.split("\n") if line][-9:] == [
        "Part 1", "Abstract", "Short.", "Keywords: tide", "Outer.", "Author notes", "1 Not 6.", "Part 1", "Inner.",
    ]  # fmt: skip


def test_notes_within_notes_are_read_once() -> None:
    text = lines(f"<p>a{'<fn><p>x' * 60}{'</p></fn>' * 60}</p>")
    assert text == ["a", *["x"] * 60]
