from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from qagen_dagster.errors import ConfigError, StoreError
from qagen_dagster.formats.wrap import split_long_lines
from qagen_dagster.loop.questions.publication.exports import (
    ExportedRows,
    PassageText,
    chosen_formats,
    export_set,
    exported_formats,
    store_exports,
    why_not_exported,
)
from qagen_dagster.publishing.questions.export_formats import EXPORT_FORMATS
from qagen_dagster.records.document import Document, VisualType
from qagen_dagster.records.questions.published import CorpusGenerationResult, LatestVersion, PublishedVisual
from qagen_dagster.records.questions.results import Evidence
from tests.loop.conftest import COMBINATION, PlayedWorkspace
from tests.loop.questions.publication.test_publish import finish, make, published

FOLDER = f"published/{COMBINATION.key}/exports"


def test_rows_have_the_passages_of_their_quotes(workspace: PlayedWorkspace) -> None:
    make(workspace)
    finish(workspace)
    found = ExportedRows(workspace, COMBINATION).read(documents=True)
    assert [one.question.id for one in found.rows] == [one["id"] for one in published(workspace)["questions"]]
    assert [one.id for one in found.documents] == ["a.txt", "b.txt", "c.txt"]
    for row in found.rows:
        for place, span in zip(row.places, row.question.evidence, strict=True):
            assert place.text[place.start :].startswith(span.quote)
            assert set(place.passages) <= set(found.documents[0].passages)


def test_exports_are_written_and_older_ones_removed(workspace: PlayedWorkspace) -> None:
    make(workspace)
    finish(workspace)
    whole = store_exports(workspace, COMBINATION, chosen_formats(()))
    names = {key.removeprefix(f"{FOLDER}/").split("/")[0] for key in workspace.store.list(FOLDER)}
    assert names == {one.format for one in whole.exports} | {"latest.json"}
    assert len(names) == len(EXPORT_FORMATS) + 1
    assert {one.questions + len(one.left_out) for one in whole.exports} == {
        len(published(workspace)["questions"])
    }
    store_exports(workspace, COMBINATION, chosen_formats(["ragas"]))
    assert workspace.store.list(FOLDER) == [f"{FOLDER}/latest.json", f"{FOLDER}/ragas/testset.jsonl"]
    before = Path(workspace.store.path(f"{FOLDER}/ragas/testset.jsonl")).stat().st_mtime_ns
    store_exports(workspace, COMBINATION, chosen_formats(["ragas"]))
    assert Path(workspace.store.path(f"{FOLDER}/ragas/testset.jsonl")).stat().st_mtime_ns == before


def test_exports_are_out_of_date_once_the_published_set_changes(workspace: PlayedWorkspace) -> None:
    make(workspace)
    finish(workspace)
    store_exports(workspace, COMBINATION, chosen_formats(["csv"]))
    assert why_not_exported(workspace, COMBINATION) == ()
    key = LatestVersion.key(COMBINATION)
    latest = workspace.store.read(key, LatestVersion)
    workspace.store.write(key, latest.model_copy(update={"made_from": "other"}))
    assert why_not_exported(workspace, COMBINATION) == ("the published set has changed",)
    store_exports(workspace, COMBINATION, chosen_formats(exported_formats(workspace, COMBINATION)))
    assert why_not_exported(workspace, COMBINATION) == ()
    assert exported_formats(workspace, COMBINATION) == ("csv",)


def test_a_set_whose_documents_changed_is_not_exported(workspace: PlayedWorkspace) -> None:
    formats = chosen_formats(["csv"])
    with pytest.raises(StoreError, match="has no published set"):
        export_set(workspace, COMBINATION, formats)
    make(workspace)
    finish(workspace)
    workspace.store.write_bytes(Document.text_key("probes", "a.txt"), b"Another text.")
    first = published(workspace)["questions"][0]["id"]
    with pytest.raises(StoreError, match=rf"the evidence of {first}.* is not in its document; `qagen run`"):
        export_set(workspace, COMBINATION, formats)


def test_a_set_whose_document_is_gone_is_not_exported(workspace: PlayedWorkspace) -> None:
    make(workspace)
    finish(workspace)
    index = workspace.index("probes")
    workspace.store.write("documents/probes/index.json", index.model_copy(update={"documents": ()}))
    with pytest.raises(StoreError, match="is not in its document"):
        export_set(workspace, COMBINATION, chosen_formats(["csv"]))


def test_a_visual_without_a_picture_is_named(workspace: PlayedWorkspace) -> None:
    make(workspace)
    finish(workspace)
    key = CorpusGenerationResult.key(COMBINATION)
    whole = workspace.store.read(key, CorpusGenerationResult)
    table = PublishedVisual(label="Table 1", type=VisualType.TABLE, page=1, box=None)
    seen = tuple(one.model_copy(update={"visuals": (table,)}) for one in whole.questions)
    workspace.store.write(key, whole.model_copy(update={"questions": seen}))
    made = export_set(workspace, COMBINATION, chosen_formats(["inspect"]))
    assert made.no_picture == ("a.txt: Table 1: a.txt cannot be read: No such file or directory",)


def test_an_unknown_format_is_named() -> None:
    with pytest.raises(ConfigError, match=r"there is no export format 'raga' \(formats: ragas, "):
        chosen_formats(["csv", "raga"])


WORDS = st.lists(
    st.sampled_from(["It", "is", "high.", "Why?", "\n", "1811", "caf\u00e9"]), min_size=1, max_size=400
)


@given(WORDS, st.integers(0), st.integers(1, 60))
def test_a_quote_stands_in_its_passages(words: list[str], first: int, length: int) -> None:
    text = " ".join(words)
    start = first % len(text)
    quote = text[start : start + length]
    assume(quote.strip())
    line = text[:start].count("\n") + 1
    evidence = Evidence(quote=quote, start_line=line, end_line=line + quote.count("\n"))
    whole = PassageText("a.txt", text)
    assert "".join(one.text for one in whole.passages) == text
    place = whole.place(evidence)
    assert place is not None
    assert place.text[place.start : place.start + len(quote)] == quote


@pytest.mark.parametrize(
    "line",
    [
        "Pier 7 was rebuilt in 1911.  Its lamps burn gas; they are old. " * 40,
        "\u6a4b\u306f\u53e4\u3044\u3002\u5ddd\u306f\u6df1\u3044\uff01" * 90,
    ],
)
@pytest.mark.parametrize(("start", "length"), [(0, 30), (190, 15), (195, 420), (700, 12)])
def test_quotes_and_passages_are_those_of_the_file_though_its_lines_were_split(
    line: str, start: int, length: int
) -> None:
    original = f"A title\n{line}\nThe end."
    found = split_long_lines(original.split("\n"))
    text = "\n".join(found.lines)
    quote = text[start : start + length]
    number = text[:start].count("\n") + 1
    evidence = Evidence(quote=quote, start_line=number, end_line=number + quote.count("\n"))
    whole = PassageText("a.txt", text, found.wrapped)
    assert "".join(one.text for one in whole.passages) == original
    place = whole.place(evidence)
    assert place is not None
    assert place.text[place.start : place.start + len(place.quote)] == place.quote
    assert place.quote in original
    assert place.quote.split("\n") == ["".join(quote.split("\n"))] or " ".join(quote.split()) == " ".join(
        place.quote.split()
    )
