from __future__ import annotations

import pytest

from qagen_dagster.records.document import Section
from tests.support.documents import view_of

BODY = [f"The pump of station {number} was mended by its keeper." for number in range(60)]
LISTING = [f"[{number}] A. Holm, Pumps of the north, {1950 + number}." for number in range(60)]


def found_in(lines: list[str], *sections: Section) -> list[tuple[str, int, int]]:
    view = view_of("\n".join(lines), sections=sections)
    return [(one.title, one.start, one.end) for one in view.back_matter]


@pytest.mark.parametrize(
    "title",
    [
        "References",
        "8. Bibliography",
        "Acknowledgments",
        "ACKNOWLEDGEMENTS",
        "Author notes",
        "Authors\u2019 contributions",
        "Competing interests",
        "Declaration of Competing Interest",
        "Conflict of interest statement",
        "Funding information",
        "Data availability",
        "Availability of data and materials",
        "Supplementary material",
        "Supporting information:",
        "Additional files",
        "Decision letter",
    ],
)
def test_titles_of_back_matter(title: str) -> None:
    known = Section(title=title, level=2, start_line=11), Section(title="Results", level=1, start_line=31)
    assert [place[1:] for place in found_in(BODY, *known)] == [(11, 30)]


@pytest.mark.parametrize(
    "title",
    [
        "Results",
        "Funding of the pumps",
        "Appendix A: Proofs",
        "Limitations",
        "Notes",
        "Data",
        "Interest",
        "Reference values",
        "The authors",
        "Index of refraction",
        "",
    ],
)
def test_titles_of_the_body(title: str) -> None:
    assert found_in(BODY, Section(title=title, level=1, start_line=11)) == []


def test_a_list_of_references_is_known_where_its_title_is_none_of_a_section() -> None:
    lines = [*BODY, "", "References", "", *LISTING]
    assert found_in(lines) == [("references", 62, len(lines))]
    known = Section(title="Pumps", level=1, start_line=1), Section(title="Tables", level=1, start_line=101)
    assert found_in(lines, *known) == [("references", 62, 100)]


def test_such_a_list_ends_where_years_become_rare() -> None:
    lines = [*BODY, "", "REFERENCES", "", *LISTING, *[""] * 2, *BODY, *BODY]
    ((title, start, end),) = found_in(lines)
    assert (title, start) == ("references", 62)
    assert 61 + 60 < end < 62 + 60 + 45


@pytest.mark.parametrize(
    "lines",
    [
        [*BODY, "", "References", "", *BODY],  # no list follows
        [*BODY, "References", "", *LISTING],  # stands among other lines
        [*BODY, "", "References", *LISTING],
        [*BODY, "", "references", "", *LISTING],  # a word
        [*BODY, "", "References"],  # nothing follows
    ],
)
def test_the_word_alone_begins_no_list(lines: list[str]) -> None:
    assert found_in(lines) == []


def test_a_list_under_its_section_is_told_once() -> None:
    lines = [*BODY, "", "References", "", *LISTING]
    assert found_in(lines, Section(title="References", level=1, start_line=62)) == [
        ("references", 62, len(lines))
    ]
