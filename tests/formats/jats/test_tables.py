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
