from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Literal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from qagen_dagster.agents.questions.evidence.quote_search import QuoteFinder, skeleton
from qagen_dagster.records.document import Document, Outcome, PageSpan
from qagen_dagster.records.questions.results import Evidence
from qagen_dagster.records.questions.submissions import EvidenceQuote

TEXT = """\
Calibration of the CT-15 probe
The probe is ineffective below \u22125 °C and above 41.5 °C.
It can't measure salt-free water. The cell con-
stant is 1,250 per metre; see the well-known paper by Smith\u2013Jones.
| Range | Error |
| 0\u201310  | 0.25  |
**Never** open the cell — it is “sealed”.
The cell was opened 12 times in 2019.
The cell was opened 123 times in 2021.
"""
LINES = tuple(TEXT.rstrip("\n").split("\n"))


def index(lines: tuple[str, ...] = LINES, pages: tuple[PageSpan, ...] = ()) -> QuoteFinder:
    document = Document(
        id="d", source="d.txt", format="text", outcome=Outcome.PARSED, source_sha256="0" * 64, pages=pages
    )
    return QuoteFinder(document, lines)


def find(quote: str, start_line: int | None = None, lines: tuple[str, ...] = LINES) -> Evidence | None:
    return index(lines).find(EvidenceQuote(quote=quote, start_line=start_line))


@pytest.mark.parametrize(
    ("quote", "first", "last"),
    [
        ("The probe is ineffective below \u22125 °C", 2, 2),
        ("the probe is ineffective below -5 °c", 2, 2),
        ("The cell constant is 1,250 per metre", 3, 4),
        ("The cell con-\nstant is 1,250 per metre", 3, 4),
        ("3| measure salt-free water. The cell con-\n4| stant is 1,250", 3, 4),
        ("    4|> stant is 1,250 per metre", 4, 4),
        ("salt-\nfree water", 3, 3),
        ("saltfree water", 3, 3),
        ("paper by Smith-Jones", 4, 4),
        ("paper by Smith—Jones", 4, 4),
        ("Range Error\n0-10 0.25", 5, 6),
        ("| 0\u201310 | 0.25 |", 6, 6),
        ('Never open the cell - it is "sealed".', 7, 7),
        ("--- page 3 ---\nNever open the cell", 7, 7),
        ("12 times in 2019", 8, 8),
        ("41.5", 2, 2),
    ],
)
def test_a_faithful_copy_is_found_on_its_lines(quote: str, first: int, last: int) -> None:
    found = find(quote)
    assert found is not None
    assert (found.start_line, found.end_line) == (first, last)
    assert found.quote in "\n".join(LINES[first - 1 : last])


@pytest.mark.parametrize(
    "quote",
    [
        "The probe is effective below \u22125 °C",  # another word
        "effective below \u22125 °C",  # the end of another word
        "The probe is ineffective below 5 °C",  # no sign
        "5 °C and above 41.5 °C",  # its sign cut off
        "below \u22125 °C and above 41",  # cut inside a number
        "5 °C and above 41.6 °C",
        "It can measure salt-free water",  # no negation
        "free water. The cell constant",  # cut inside a compound
        "The cell constant is 1,25",
        "250 per metre; see the well-known",
        "The cell was opened 12 times in 2021",
        "The cell was opened 1",
        "probe is ineffective ... above 41.5 °C",  # two pieces
        "It can",  # of can't
        "a",
        "...",
        "| | |",
        "Error Range",
    ],
)
def test_a_changed_or_clipped_copy_is_not_found(quote: str) -> None:
    assert find(quote) is None


def test_evidence_is_the_documents_own_text() -> None:
    found = find('never open the cell - it is "sealed"')
    assert found is not None
    assert found.quote == "Never** open the cell — it is “sealed”"


@pytest.mark.parametrize(("stated", "line"), [(1, 1), (2, 1), (4, 4), (9, 4), (None, 1)])
def test_of_equal_passages_the_one_nearest_to_the_stated_line_counts(stated: int | None, line: int) -> None:
    lines = ("the valve is open", "x", "y", "the valve is open")
    found = find("the valve is open", stated, lines)
    assert found is not None
    assert found.start_line == line


def test_a_copy_that_differs_on_the_stated_line_wins_over_an_exact_one_elsewhere() -> None:
    lines = ("the valve", "is open", "x", "the valve is open")
    found = find("the valve is open", 1, lines)
    assert found is not None
    assert (found.start_line, found.end_line) == (1, 2)


def test_the_page_is_that_of_the_first_line() -> None:
    pages = (PageSpan(page=1, start_line=1, end_line=3), PageSpan(page=2, start_line=4, end_line=9))
    quote = EvidenceQuote(quote="The cell constant is 1,250 per metre", start_line=None)
    found = index(pages=pages).find(quote, visual="Table 1")
    assert found is not None
    assert (found.page, found.visual) == (1, "Table 1")
    assert find("It can't measure") == Evidence(quote="It can't measure", start_line=3, end_line=3)


def test_letters_are_the_same_however_they_are_composed() -> None:
    assert find("cafe\u0301 in the fi\u0301ord", lines=("a café in the fíord",)) is not None
    assert find("a café in the fíord", lines=("a cafe\u0301 in the fi\u0301ord",)) is not None
    assert find("the final office", lines=("the \ufb01nal o\ufb03ce",)) is not None


@pytest.mark.parametrize("quote", ["he left his resume", "a large of", "inal demand is"])
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_copy_never_cuts_an_accent_or_a_ligature(quote: str, form: Literal["NFC", "NFD"]) -> None:
    text = unicodedata.normalize(form, "he left his resum\u00e9 a large o\ufb03ce \ufb01nal demand is")
    assert find(quote, lines=(text,)) is None


@pytest.mark.parametrize(
    "quote", ["a **salt**-free bath", "a salt-free bath", "a saltfree bath", "a salt - free bath"]
)
def test_markup_beside_a_dash_makes_no_difference(quote: str) -> None:
    assert find(quote, lines=("Use a **salt**-free bath.",)) is not None


def test_scripts_without_spaces_may_be_quoted_from_anywhere() -> None:
    found = find("水质合格标准为每升五毫克", lines=("本县水质合格标准为每升五毫克以下。",))
    assert found is not None


def test_an_empty_document_has_no_evidence() -> None:
    assert find("The probe is ineffective", lines=()) is None


# Any span of any document, copied by someone who wraps and hyphenates as they like.

WORD = st.text("abcdefghijklmnopqrstuvwxyéüß", min_size=2, max_size=8)
NUMBER = st.text("012345678", min_size=3, max_size=3)
TOKEN = st.one_of(
    WORD,
    NUMBER,
    st.builds("{}.{}".format, NUMBER, NUMBER),
    st.builds("{}-{}".format, WORD, WORD),
    st.builds("{}\u2013{}".format, WORD, WORD),
    st.builds("\u201c{}\u201d".format, WORD),
    st.builds("{}\u2019s".format, WORD),
    st.builds("**{}**".format, WORD),
    st.builds("{},".format, WORD),
)
BETWEEN = st.sampled_from([" ", " ", "\n", "\n\n", " | ", "  "])
COPIED_BETWEEN = st.sampled_from([" ", "\n", "  ", "\t", "\n12| ", "\n  7|> ", "\n\n1234567| "])


@dataclass(frozen=True)
class Placed:
    """A token and the lines it stands on."""

    token: str
    first: int
    last: int


@st.composite
def documents(draw: st.DrawFn) -> tuple[tuple[str, ...], list[Placed]]:
    text = ""
    placed: list[Placed] = []
    for token in draw(st.lists(TOKEN, min_size=4, max_size=40)):
        printed = token
        if token.isalpha() and len(token) > 3 and draw(st.booleans()):
            at = draw(st.integers(1, len(token) - 1))
            printed = f"{token[:at]}-\n{token[at:]}"
        first = text.count("\n") + 1
        text += printed
        placed.append(Placed(token, first, text.count("\n") + 1))
        text += draw(BETWEEN)
    return tuple(text.split("\n")), placed


@st.composite
def copies(draw: st.DrawFn) -> tuple[tuple[str, ...], list[Placed], str]:
    """A document, the tokens of a span, and a copy of them."""
    lines, placed = draw(documents())
    start = draw(st.integers(0, len(placed) - 1))
    span = placed[start : draw(st.integers(start + 1, len(placed)))]
    assume(sum(char.isalnum() for one in span for char in one.token) >= 9)
    copy = draw(st.sampled_from(["", "3| ", "  "]))
    for one in span:
        copy += _copied(draw, one.token) + draw(COPIED_BETWEEN)
    return lines, span, copy


def _copied(draw: st.DrawFn, token: str) -> str:
    token = draw(st.sampled_from([token, token.replace("*", "")]))
    for curly, straight in ('\u201c"', '\u201d"', "\u2019'", "\u2013-"):
        token = draw(st.sampled_from([token, token.replace(curly, straight)]))
    if token.isalpha() and len(token) > 3 and draw(st.booleans()):
        at = draw(st.integers(1, len(token) - 1))
        token = f"{token[:at]}-{draw(COPIED_BETWEEN)}{token[at:]}"
    return draw(st.sampled_from([token, token.upper()]))


@given(copies())
def test_any_copied_span_is_found_where_it_stands(case: tuple[tuple[str, ...], list[Placed], str]) -> None:
    lines, span, copy = case
    found = find(copy, span[0].first, lines)
    assert found is not None
    assert found.start_line
    assert found.end_line
    assert found.start_line == span[0].first
    assert found.quote in "\n".join(lines[found.start_line - 1 : found.end_line])
    assert skeleton(found.quote).text == skeleton("".join(one.token for one in span)).text


@given(copies(), st.data())
def test_a_span_with_one_changed_word_or_number_is_nowhere(
    case: tuple[tuple[str, ...], list[Placed], str], data: st.DataObject
) -> None:
    lines, span, _ = case
    tokens = [one.token for one in span]
    at = data.draw(st.integers(0, len(tokens) - 1))
    where = data.draw(st.integers(0, len(tokens[at]) - 1))
    other = "9" if tokens[at][where].isdigit() else "z"  # no document has them
    tokens[at] = tokens[at][:where] + other + tokens[at][where + 1 :]
    assume(any(char.isalnum() for char in tokens[at]))
    assert find(" ".join(tokens), None, lines) is None


@given(
    st.lists(WORD, min_size=4, max_size=8),
    st.one_of(NUMBER, st.builds("{}.{}".format, NUMBER, NUMBER), st.builds("{},{}".format, NUMBER, NUMBER)),
    st.lists(WORD, min_size=4, max_size=8),
    st.lists(BETWEEN, min_size=17, max_size=17),
    st.data(),
)
def test_a_number_is_never_clipped(
    before: list[str], number: str, after: list[str], between: list[str], data: st.DataObject
) -> None:
    text = "".join(one + gap for one, gap in zip([*before, number, *after], between, strict=False))
    lines = tuple(text.split("\n"))
    kept = data.draw(st.integers(1, len(number) - 1))
    assert find(" ".join([*before, number]), None, lines) is not None
    assert find(" ".join([number, *after]), None, lines) is not None
    assert find(" ".join([*before, number[:kept]]), None, lines) is None
    assert find(" ".join([number[-kept:], *after]), None, lines) is None


@given(st.text(max_size=400), st.text(min_size=1, max_size=40))
def test_no_text_breaks_the_search_and_what_is_found_stands_there(text: str, quote: str) -> None:
    lines = tuple(text.split("\n"))
    found = find(quote, None, lines)
    if found is not None:
        assert found.start_line
        assert found.end_line
        assert found.quote in "\n".join(lines[found.start_line - 1 : found.end_line])


def test_a_long_document_is_searched_in_linear_time() -> None:
    """A million characters of the worst kind: every place begins like the quote."""
    lines = ("ab" * 500,) * 1_000
    assert find("ab" * 400 + "c", None, lines) is None
    assert len(skeleton("\n".join(lines)).text) == 1_000_000


@pytest.mark.parametrize(
    ("text", "quote", "found"),
    [
        ("She began on June 6, 2003.2 Her carrier agreed.", "She began on June 6, 2003.", True),
        ("It ended on June 6, 2003.12\nShe agreed.", "It ended on June 6, 2003.", True),
        ("The cell constant is 12.2 per metre.", "The cell constant is 12.", False),
        ("The cell constant is 2003.25 per", "The cell constant is 2003.2", False),
        ("The cell constant is 2003.255 per", "The cell constant is 2003.", False),
    ],
)
def test_the_mark_of_a_footnote_may_be_left_out(text: str, quote: str, found: bool) -> None:
    assert (find(quote, lines=tuple(text.split("\n"))) is not None) == found


def test_a_short_quote_that_occurs_in_other_case_is_not_said_to_be_nowhere() -> None:
    said = index().disagreement(EvidenceQuote(quote="Range error", start_line=None))
    assert "agrees" not in said
    short = index().disagreement(EvidenceQuote(quote="RANGE", start_line=None))
    assert short.startswith("it is too short to be found in other case")
    assert "is nowhere" in index().disagreement(EvidenceQuote(quote="QUARTZ", start_line=None))
