"""The limits of the search for visuals count what is on the pages, and say which pages were left out."""

from __future__ import annotations

import itertools
import time

import pytest

from qagen_dagster.formats.pdf.visuals import manifest, tables
from tests.formats.pdf.visuals.test_manifest import CELLS, grid, pages, visuals_of


def test_limits_count_what_is_on_the_pages_and_name_the_pages_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    document, all_pages = pages(6)
    for number, page in enumerate(all_pages):
        grid(page, 60 + 9 * number, 90 + 15 * number, CELLS)
    monkeypatch.setattr(manifest, "MAX_WORK", 80)
    *listed, note = visuals_of(document)
    assert [one.page for one in listed] == list(range(1, note.page))
    assert (
        note.caption
        == f"The list ends here after {len(listed)} visuals: pages {note.page} to 6 may show more."
    )


def test_pages_without_a_search_for_ruled_tables_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    document, all_pages = pages(3)
    for number, page in enumerate(all_pages):
        for row in range(5):
            for column in range(3):  # boxes in no clear columns, so that only the library can tell
                x, y = 60 + 9 * number + 100 * column + 17 * row, 90 + 15 * number + 18 * row
                page.draw_rect((x, y, x + 100, y + 18))
                page.insert_text((x + 4, y + 13), f"Box {row}", fontsize=9)
    assert "not searched" not in str(visuals_of(document))
    monkeypatch.setattr(tables, "MAX_SEARCHED", 30)
    assert visuals_of(document)[-1].caption == "Ruled tables were not searched on 1 page: 3."


def test_a_busy_machine_gives_the_same_visuals(monkeypatch: pytest.MonkeyPatch) -> None:
    document, (page,) = pages()
    grid(page, 60, 90, CELLS)
    alone = visuals_of(document)
    hours = itertools.count(step=3_600.0)
    for clock in ("monotonic", "perf_counter", "time", "thread_time", "process_time"):
        monkeypatch.setattr(time, clock, lambda: next(hours))
    assert visuals_of(document) == alone != ()
