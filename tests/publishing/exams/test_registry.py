from __future__ import annotations

from qagen_dagster.publishing.exams.formats import BANK_EXPORTERS
from tests.support.exams.items import bank, hard_item, item


def test_names_are_unique_and_files_apart() -> None:
    names = [one.name for one in BANK_EXPORTERS]
    assert names == ["qti", "moodle", "gift", "inspect", "latex", "html"]
    files = [path for one in BANK_EXPORTERS for path in one.export(bank(item(), hard_item()))]
    assert len(set(files)) == len(files) == 6


def test_an_empty_bank_has_files_too() -> None:
    for one in BANK_EXPORTERS:
        assert one.export(bank())
