from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.agents.questions.batch.reading import Reading
from qagen_dagster.agents.questions.batch.spacing import unpadded
from qagen_dagster.agents.questions.evidence.quote_search import QuoteFinder
from qagen_dagster.records.questions.submissions import EvidenceQuote
from qagen_dagster.toolkit.document_view import DocumentView
from tests.support.documents import view_of

JUSTIFIED = [
    "            Subsequently,    the   keepers          renewed    their   claim     for",
    "",
    "damages.          At  the  keepers'   request,   the   court   granted   it   on  June   6,",
    "",
    "2003,  and  dismissed  41   of   the   complaints.        The  rest stands.  ",
]
PLAIN = [
    "            Subsequently, the keepers renewed their claim for",
    "",
    "damages. At the keepers' request, the court granted it on June 6,",
    "",
    "2003, and dismissed 41 of the complaints. The rest stands.",
]


def test_padding_goes_and_indents_stay() -> None:
    assert unpadded(JUSTIFIED) == PLAIN


@pytest.mark.parametrize(
    "table",
    [
        ["Month     Drift     Keeper", "May       0.3       Holm", "June      0.8       Berg"],
        ["Keeper         Town", "", "Ida Holm       Bergen", "", "Anna Berg      Oslo"],
        ["          Jan 1     10,000                      10,000"],
        ["Total        $ 410"],
        [
            "Date      Sum       Taken     Left",
            "- 12 -",
            "May 1     10                  10",
            "May 2               10         0",
        ],
        ["| a   | b    |"],
        ["pump\tfive   litres"],
        ["    Boat          Crew", "    Skua            14", "    Tern             9"],
    ],
)
def test_columns_keep_their_gaps(table: list[str]) -> None:
    assert unpadded([*JUSTIFIED, "", *table, "", *JUSTIFIED]) == [*PLAIN, "", *table, "", *PLAIN]


@given(st.lists(st.text(alphabet="ab1.|\t \u00a0\u2003", max_size=30), max_size=12))
def test_nothing_but_blanks_changes(lines: list[str]) -> None:
    shown = unpadded(lines)
    assert ["".join(line.split()) for line in shown] == ["".join(line.split()) for line in lines]
    assert [line.split() for line in shown] == [line.split() for line in lines]
    assert all(len(after) <= len(before) for after, before in zip(shown, lines, strict=True))


def shown_to_models(view: DocumentView) -> str:
    """The text of the prompt without line numbers, on one line."""
    return " ".join(re.sub(r"(?m)^\d+\| ", "", Reading(view).show(())).split("\n"))


@pytest.mark.parametrize(
    ("quote", "first", "last"),
    [
        ("At the keepers' request, the court granted it", 3, 3),
        ("the keepers renewed their claim for damages.", 1, 3),
        ("granted it on June 6,\n5| 2003, and dismissed 41 of the complaints.", 3, 5),
    ],
)
def test_what_is_quoted_as_shown_is_found_as_the_document_has_it(quote: str, first: int, last: int) -> None:
    view = view_of("\n".join(JUSTIFIED))
    assert quote.replace("\n5| ", " ") in shown_to_models(view)
    found = QuoteFinder(view.document, view.lines).find(EvidenceQuote(quote=quote, start_line=first))
    assert found is not None
    assert (found.start_line, found.end_line) == (first, last)
    assert found.quote in "\n".join(JUSTIFIED)
    assert "   " in found.quote
