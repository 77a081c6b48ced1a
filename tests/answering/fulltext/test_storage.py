from __future__ import annotations

from pathlib import Path

import pytest

from qagen_dagster.answering.fulltext.storage import RECORD, TEXT, add_fulltext, stored_text
from qagen_dagster.formats.sandbox import ParserPool
from qagen_dagster.records.answer import FulltextRecord
from qagen_dagster.records.corpus import FulltextOptions
from qagen_dagster.records.document import Document
from qagen_dagster.store import Store
from tests.formats.pdf.samples import pdf


@pytest.mark.parametrize("name", [RECORD, TEXT])
def test_a_damaged_full_text_counts_as_missing_until_it_is_stored_again(tmp_path: Path, name: str) -> None:
    store, key = Store(tmp_path), Document.file_key("notes", "a.txt", name)

    def add() -> None:
        with ParserPool(workers=1, seconds=60) as pool:
            add_fulltext(store, "notes", "a.txt", pdf("The mast is high."), FulltextOptions(), pool)

    add()
    assert stored_text(store, "notes", "a.txt") == "The mast is high."
    store.write_bytes(key, b'{"damaged')
    assert stored_text(store, "notes", "a.txt") is None
    add()
    assert stored_text(store, "notes", "a.txt") == "The mast is high."
    assert store.find_valid(Document.file_key("notes", "a.txt", RECORD), FulltextRecord) is not None
    assert (store.get(f"{key}.damaged") is not None) == (name == RECORD)
