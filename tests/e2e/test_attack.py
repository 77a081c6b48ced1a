"""The short form of `make attack`: a few attacks of each group of `benchmarks/attack`."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.attack.__main__ import GROUPS

# `make test` has quicker tests of the same: faulty servers in `tests/loop/questions`, hostile files in `tests/ingest`,
# kills in `test_kill.py`.
ELSEWHERE = ("faults", "documents", "kills")


@pytest.mark.parametrize(
    "group", [pytest.param(name, marks=[pytest.mark.long] if name in ELSEWHERE else []) for name in GROUPS]
)
def test_the_short_form_has_no_surprise(group: str, tmp_path: Path) -> None:
    rows = list(GROUPS[group](tmp_path, True))
    assert rows
    assert [row for row in rows if not row.held] == []
