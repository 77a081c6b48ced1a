"""Cells of tables: their rows and their text."""

from __future__ import annotations

import pytest

from tests.formats.jats.test_reader import lines


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        (
            "<tbody><tr><td rowspan='3'>x</td><td>1</td></tr></tbody><tbody><tr><td>y</td><td>3</td></tr></tbody>",
            ["| x | 1 |", "| y | 3 |"],
        ),
        ("<tr><td rowspan='0'>x</td><td>1</td></tr><tr><td>2</td></tr>", ["| x | 1 |", "| x | 2 |"]),
        (
            "<tr><td><list><list-item><p>5 mg</p></list-item><list-item><p>6 mg</p></list-item></list></td></tr>",
            ["| 5 mg; 6 mg |"],
        ),
        ("<tr><td>5 mg<p>daily</p></td></tr>", ["| 5 mg; daily |"]),
        ("<tr><td>x <disp-formula><tex-math>a=5</tex-math></disp-formula></td></tr>", ["| x; $a=5$ |"]),
        ("<tr><td>5<fn><p>not sure</p></fn></td><td><graphic/></td></tr>", ["| 5; not sure | \ufffd |"]),
    ],
)
def test_cells_keep_their_rows_and_all_of_their_text(table: str, rows: list[str]) -> None:
    assert lines(f"<table-wrap><table>{table}</table></table-wrap>") == rows


def _oasis(*groups: str) -> str:
    names = "".join(f"<colspec colname='c{number}'/>" for number in (1, 2, 3))
    return "".join(f"<tgroup>{names}{group}</tgroup>" for group in groups)


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        (
            _oasis(
                "<thead><row><entry>h</entry><entry namest='c2' nameend='c3'>A</entry></row></thead>"
                "<tbody><row><entry morerows='1'>r</entry><entry>1</entry><entry>2</entry></row>"
                "<row><entry colname='c3'>9</entry></row></tbody>"
            ),
            ["| h | A | A |", "|---|---|---|", "| r | 1 | 2 |", "| r |  | 9 |"],
        ),
        (
            "<tgroup><colspec colname='c1'/><colspec colname='c2'/><colspec/><tbody>"
            "<row><entry>a</entry><entry>b</entry><entry>c</entry></row>"
            "<row><entry colname='c1'>1</entry><entry colname='c2'>2</entry><entry>3</entry></row></tbody></tgroup>",
            ["| a | b | c |", "| 1 | 2 | 3 |"],
        ),
        (_oasis(*(f"<tbody><row><entry>{n}</entry></row></tbody>" for n in (1, 2))), ["| 1 |", "| 2 |"]),
    ],
)
def test_cells_of_oasis_tables_are_in_their_columns(table: str, rows: list[str]) -> None:
    assert lines(f"<table-wrap><table>{table}</table></table-wrap>") == rows


def test_all_text_below_a_table_is_written() -> None:
    foot = (
        "<table-wrap-foot><attrib>Source 5</attrib><fn-group><title>Notes</title><fn><label>a</label><p>x</p></fn>"
        "</fn-group><list><list-item><label>1</label><p>y</p></list-item></list></table-wrap-foot>"
    )
    body = f"<table-wrap><table><tr><td>1</td></tr></table><p>More</p>{foot}<attrib>Me</attrib></table-wrap>"
    assert lines(body) == ["| 1 |", "More", "Source 5", "Notes", "a x", "1 y", "Me"]


def test_notes_of_a_table_that_is_only_a_picture_are_written() -> None:
    body = "<table-wrap><graphic/><table-wrap-foot><p>Doses in mg.</p><def-list><def-item><term>NS</term><def><p>not seen</p></def>"
    body += "</def-item></def-list><fn><p>x <disp-formula><tex-math>5</tex-math></disp-formula></p></fn></table-wrap-foot></table-wrap>"
    assert lines(f"<p>x</p>{body}") == ["x", "Doses in mg.", "NS: not seen", "x $5$"]
