"""The limits of the search for visuals count what is on the pages, and say which pages were left out."""

from __future__ import annotations

import itertools
import time

import pytest

from qagen_dagster.formats.pdf.visuals import manifest
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


def test_a_busy_machine_gives_the_same_visuals(monkeypatch: pytest.MonkeyPatch) -> None:
    document, (page,) = pages()
    grid(page, 60, 90, CELLS)
    alone = visuals_of(document)
    hours = itertools.count(step=3_600.0)
    for clock in ("monotonic", "perf_counter", "time", "thread_time", "process_time"):
        monkeypatch.setattr(time, clock, lambda: next(hours))
    assert visuals_of(document) == alone != ()
