"""The sizes of documents, and the kinds of models."""

from __future__ import annotations

from qagen_dagster.loop.estimate.past import document_of, kind_of
from qagen_dagster.records.document import IndexEntry, Outcome
from qagen_dagster.records.ids import Mode


def entry(characters: int, pages: int, lines: int) -> IndexEntry:
    return IndexEntry(
        id="d", source="d", format="text", outcome=Outcome.PARSED, source_sha256="", char_count=characters,
        page_count=pages, line_count=lines,
    )  # fmt: skip


def test_text_is_asked_about_in_one_mode_and_visuals_in_the_other() -> None:
    text, looks = (document_of(entry(900, 3, 20), mode, 4, 5) for mode in (Mode.TEXTUAL, Mode.VISUAL))
    assert (text.size, text.subjects, text.target) == (900, 900, 5)
    assert (looks.size, looks.subjects) == (900, 2_000)


def test_a_document_without_text_has_the_size_of_its_pages() -> None:
    assert document_of(entry(0, 3, 20), Mode.VISUAL, 1, 5).size == 6_000
    assert document_of(entry(0, 0, 20), Mode.TEXTUAL, 0, 5).size == 1_000


def test_models_on_servers_are_of_one_kind() -> None:
    assert kind_of("openai:gpt") == kind_of("anthropic:claude")
    assert len({kind_of(name) for name in ("openai:gpt", "embedded:rules", "scripted:writer")}) == 3
