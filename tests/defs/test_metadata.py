"""Tables as the UI shows them."""

from __future__ import annotations

from qagen_dagster.defs.metadata import INLINE, MAX_ROWS, markdown_table


def test_a_table_says_how_much_of_it_is_not_shown_and_an_empty_one_that_there_is_none() -> None:
    rows = [(number, "a | b\n`<i>`") for number in range(MAX_ROWS + 2)]
    shown = (markdown_table(("n", "text"), rows).value or "").splitlines()
    assert shown[:3] == ["| n | text |", "|---|---|", "| 0 | a \\| b '&lt;i&gt;' |"]
    assert (len(shown), shown[-1]) == (2 + MAX_ROWS + 2, "... and 2 more")
    assert markdown_table(("n", "text"), []).value == "none"


def test_the_ui_shows_a_narrow_table_at_once_and_a_wide_one_in_a_dialog() -> None:
    narrow, wide = (markdown_table(header, [header]).value or "" for header in ("abc", "abcd"))
    assert len(narrow) < INLINE <= len(wide)
    assert wide.splitlines()[2] == "| a | b | c | d |"
