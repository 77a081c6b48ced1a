from __future__ import annotations

import pytest

from qagen_dagster.errors import StoreError
from qagen_dagster.loop.questions.publication.published_set import PublishedSet, read_published
from qagen_dagster.records.questions.published import LatestVersion, PublishedQuestion
from tests.loop.conftest import COMBINATION, PlayedWorkspace, put_documents, texts
from tests.loop.questions.publication.test_publish import finish, make


def latest(workspace: PlayedWorkspace) -> PublishedSet:
    return read_published(workspace.store, COMBINATION)


def test_a_set_is_its_typed_questions_and_their_texts(workspace: PlayedWorkspace) -> None:
    make(workspace)
    finish(workspace)
    found = latest(workspace)
    assert found.content_id == workspace.store.read(LatestVersion.key(COMBINATION), LatestVersion).content_id
    assert [one.id for one in found] == [one.id for one in found.questions]
    assert len(found) == 2
    assert set(found.texts()) == set(texts(3))
    quote = found.questions[0].evidence[0]
    assert quote.start_line is not None
    assert quote.quote in found.texts()[found.questions[0].document_id].split("\n")[quote.start_line - 1]


def test_an_older_version_is_read_by_its_content_id(workspace: PlayedWorkspace) -> None:
    make(workspace)
    finish(workspace)
    before = latest(workspace)
    put_documents(workspace, {"z.txt": f"{next(iter(texts(1).values()))}\nAnother."})
    make(workspace, "run-2")
    finish(workspace)
    after = latest(workspace)
    assert after.content_id != before.content_id
    assert read_published(workspace.store, COMBINATION, before.content_id) == before
    assert read_published(workspace.store, COMBINATION, after.content_id) == after


def test_a_table_has_a_column_per_field(workspace: PlayedWorkspace) -> None:
    make(workspace)
    finish(workspace)
    table = latest(workspace).to_pandas()
    assert list(table.columns) == list(PublishedQuestion.model_fields)
    assert list(table["id"]) == [one.id for one in latest(workspace)]
    nothing = PublishedSet(COMBINATION, "0", "", (), workspace.store).to_pandas()
    assert (len(nothing), list(nothing.columns)) == (0, list(table.columns))


@pytest.mark.parametrize(
    ("version", "what"), [("latest", "published set"), ("0123456789abcdef", "version 0123456789abcdef")]
)
def test_what_is_not_there_is_named(workspace: PlayedWorkspace, version: str, what: str) -> None:
    with pytest.raises(StoreError, match=f"probes/service/textual has no {what}: there is no .*corpus.json"):
        read_published(workspace.store, COMBINATION, version)
