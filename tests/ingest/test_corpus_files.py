from __future__ import annotations

import hashlib
import io
import os
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest
from PIL import Image

from qagen_dagster.errors import ConfigError, DocumentError, StoreError
from qagen_dagster.formats.base import RenderOptions
from qagen_dagster.formats.parser_pool import FileSource
from qagen_dagster.ingest.corpus_files import (
    discover,
    file_hash,
    open_view,
    options_fingerprint,
    parse_options,
    visual_image,
)
from qagen_dagster.ingest.parsing import build_manifests
from qagen_dagster.records.corpus_options import DocumentOptions
from qagen_dagster.records.document import Box, Document, VisualManifest, VisualType
from qagen_dagster.records.ids import document_id
from qagen_dagster.records.questions.published import PublishedVisual
from qagen_dagster.toolkit.document_view import DocumentView
from tests.formats.pdf.samples import pdf
from tests.ingest.conftest import Desk


def names(desk: Desk) -> dict[str, bool]:
    """Files found, and whether they may be read."""
    return {file.name: file.refused is None for file in discover(desk.corpus)}


def test_files_are_found_by_name_at_any_depth(desk: Desk) -> None:
    for name in ("b.txt", "a/z.txt", "a/b/c.txt", "B.txt", "ü.txt"):
        desk.add(name, "x")
    assert list(names(desk)) == ["B.txt", "a/b/c.txt", "a/z.txt", "b.txt", "ü.txt"]
    assert all(names(desk).values())


def test_hidden_files_and_folders_are_left_out(desk: Desk) -> None:
    for name in (".DS_Store", ".git/config", "a/.b/c.txt", "a/..d.txt", "seen.txt"):
        desk.add(name, "x")
    assert names(desk) == {"seen.txt": True}


def test_an_empty_corpus_has_no_files(desk: Desk) -> None:
    assert discover(desk.corpus) == []


def test_links_that_lead_out_are_refused_and_said(desk: Desk, tmp_path: Path) -> None:
    outside = tmp_path / "secrets"
    outside.mkdir()
    (outside / "key.txt").write_text("secret")
    (desk.documents / "file.txt").symlink_to(outside / "key.txt")
    (desk.documents / "folder").symlink_to(outside)
    (desk.documents / "up.txt").symlink_to("../../secrets/key.txt")
    (desk.documents / "dangling.txt").symlink_to(tmp_path / "absent.txt")
    (desk.documents / "loop.txt").symlink_to(desk.documents / "loop.txt")
    assert names(desk) == dict.fromkeys(("dangling.txt", "file.txt", "folder", "loop.txt", "up.txt"), False)
    assert {file.refused for file in discover(desk.corpus)} == {"is a link out of documents/ or not a file"}


def test_a_link_that_stays_inside_is_a_file(desk: Desk) -> None:
    desk.add("a/real.txt", "x")
    (desk.documents / "again.txt").symlink_to("a/real.txt")
    assert names(desk) == {"a/real.txt": True, "again.txt": True}


def test_the_documents_folder_itself_may_be_a_link(desk: Desk, tmp_path: Path) -> None:
    desk.add("a.txt", "x")
    desk.documents.rename(tmp_path / "elsewhere")
    desk.documents.symlink_to(tmp_path / "elsewhere")
    assert names(desk) == {"a.txt": True}


def test_what_is_not_a_file_is_refused(desk: Desk) -> None:
    os.mkfifo(desk.documents / "pipe.txt")
    assert names(desk) == {"pipe.txt": False}


def test_a_name_that_is_not_text_is_refused_under_a_name_that_is(desk: Desk) -> None:
    """Linux takes any bytes as a name; JSON does not."""
    (Path(os.fsencode(desk.documents).decode()) / os.fsdecode(b"caf\xe9.txt")).write_text("x")
    (file,) = discover(desk.corpus)
    assert file.refused == "its name is not UTF-8"
    assert file.name.encode() == "caf\ufffd.txt".encode()
    assert document_id(file.name)


def test_reading_options_are_taken_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PDF_PASSWORD", "wool")
    options = DocumentOptions(
        ocr=False,
        ocr_languages="deu+eng",
        passwords={"a.pdf": "PDF_PASSWORD"},
        max_megabytes=0.5,
        max_pages=7,
    )
    found = parse_options(options)
    assert (found.passwords, found.max_bytes, found.max_pages) == ({"a.pdf": "wool"}, 500_000, 7)
    assert (found.ocr, found.ocr_languages) == (False, "deu+eng")
    monkeypatch.delenv("PDF_PASSWORD")
    with pytest.raises(ConfigError, match="PDF_PASSWORD"):
        parse_options(options)


def test_options_and_limits_have_a_mark_without_secrets(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    options = DocumentOptions(passwords={"a.pdf": "PDF_PASSWORD"})
    marks = {
        options_fingerprint(options, desk.settings),
        options_fingerprint(options.model_copy(update={"max_pages": 3}), desk.settings),
        options_fingerprint(options, replace(desk.settings, parser_seconds=1.0)),
        options_fingerprint(options, replace(desk.settings, parser_memory_mb=1)),
    }
    assert len(marks) == 4
    monkeypatch.setenv("PDF_PASSWORD", "wool")
    assert options_fingerprint(options, desk.settings) in marks
    assert options_fingerprint(options, replace(desk.settings, profile="x", parser_workers=9)) in marks


def test_a_files_hash_is_its_contents(tmp_path: Path) -> None:
    data = b"x" * 3_000_000
    (tmp_path / "a").write_bytes(data)
    found = file_hash(FileSource("a", tmp_path / "a"), len(data), Event())
    assert found == hashlib.sha256(data).hexdigest()


PAGE = "# Bells\n\n![The great bell](bell.png)\n\n| Bell | Year |\n|---|---|\n| Maria | 1499 |\n"


def view(desk: Desk, document_id: str, pixels: int = 500_000) -> DocumentView:
    return open_view(desk.corpus, desk.entry(document_id), desk.store, desk.pool, max_image_pixels=pixels)


def test_a_view_has_exactly_the_stored_lines(desk: Desk) -> None:
    desk.add("a.txt", "one\n\u2028two\x0b\n\n three ")
    desk.add("empty.md", "")
    lines = view(desk, "a.txt").lines
    assert lines == tuple(desk.store.read_bytes(Document.text_key("notes", "a.txt")).decode().split("\n"))
    assert len(lines) == view(desk, "a.txt").document.line_count
    assert view(desk, "a.txt", 99_000).max_image_pixels == 99_000
    assert view(desk, "empty.md").lines == ()


def test_visuals_of_an_older_version_are_not_shown(desk: Desk) -> None:
    desk.add("a.md", PAGE)
    assert view(desk, "a.md").visuals == ()
    build_manifests(desk.corpus, desk.parse().index, desk.store, desk.pool, desk.settings)
    assert len(view(desk, "a.md").visuals) == 2
    desk.add("a.md", PAGE + "\nMore.\n")
    assert view(desk, "a.md").visuals == ()


def test_a_document_whose_record_is_lost_is_named(desk: Desk) -> None:
    desk.add("a.txt", "one")
    entry = desk.entry("a.txt")
    Path(desk.store.path(Document.key("notes", "a.txt"))).unlink()
    with pytest.raises(StoreError, match=r"a\.txt/document\.json is missing"):
        open_view(desk.corpus, entry, desk.store, desk.pool, max_image_pixels=1)


def test_a_page_is_rendered_from_the_file_while_it_is_there(desk: Desk) -> None:
    path = desk.add("a.txt", "one")
    opened = view(desk, "a.txt")
    assert opened.render(1, RenderOptions()) is None
    path.unlink()
    with pytest.raises(DocumentError, match=r"a\.txt is no longer there"):
        opened.render(1, RenderOptions())


def test_a_page_is_a_picture_of_that_page(desk: Desk) -> None:
    desk.add("a.pdf", pdf("one", lambda page: page.draw_rect(page.rect, fill=(0, 0, 0))))
    opened = view(desk, "a.pdf")
    shades: list[object] = []
    for number in (1, 2):
        found = opened.render(number, RenderOptions())
        assert found is not None
        shades.append(Image.open(io.BytesIO(found.data)).convert("L").getpixel((0, 0)))
    assert shades == [255, 0]


def test_manifests_are_made_once_per_version(desk: Desk) -> None:
    desk.add("a.md", PAGE)
    desk.add("broken.pdf", "%PDF-1.7\nnothing")
    index = desk.parse().index
    seen: list[tuple[int, int, str]] = []

    def note(done: int, total: int, name: str) -> None:
        seen.append((done, total, name))

    def build() -> list[VisualManifest]:
        return build_manifests(desk.corpus, index, desk.store, desk.pool, desk.settings, note)

    (manifest,) = build()
    assert (manifest.document_id, manifest.failure) == ("a.md", None)
    assert seen == [(1, 1, "a.md")]
    assert {visual.type.value for visual in manifest.visuals} >= {"table"}
    key = VisualManifest.key("notes", "a.md")
    marked = manifest.model_copy(update={"visuals": manifest.visuals[:1]})
    desk.store.write(key, marked)
    assert build() == [marked]


def test_a_manifest_that_could_not_be_made_says_why_and_is_tried_again(desk: Desk) -> None:
    path = desk.add("a.md", PAGE)
    index = desk.parse().index
    path.rename(desk.folder / "away.md")
    (failed,) = build_manifests(desk.corpus, index, desk.store, desk.pool, desk.settings)
    assert failed.failure
    assert failed.visuals == ()
    (desk.folder / "away.md").rename(path)
    (made,) = build_manifests(desk.corpus, index, desk.store, desk.pool, desk.settings)
    assert made.failure is None
    assert made.visuals


def test_a_visual_is_cut_out_of_the_file_that_was_parsed(desk: Desk) -> None:
    path = desk.add("a.pdf", pdf(lambda page: page.draw_rect((0, 0, 100, 100), fill=(0, 0, 0))))
    entry = desk.entry("a.pdf")
    box = Box(x0=10, y0=10, x1=90, y1=50)
    visual = PublishedVisual(label="Figure 1", type=VisualType.FIGURE, page=1, box=box)
    found = visual_image(desk.corpus, entry, desk.pool, visual)
    assert found is not None
    picture = Image.open(io.BytesIO(found.data)).convert("L")
    assert (picture.width > picture.height, picture.getextrema()) == (True, (0, 0))
    nowhere = visual.model_copy(update={"page": None})
    assert visual_image(desk.corpus, entry, desk.pool, nowhere) is None
    desk.add("a.pdf", pdf("another file"))
    with pytest.raises(DocumentError, match=r"a\.pdf has changed since it was parsed"):
        visual_image(desk.corpus, entry, desk.pool, visual)
    path.unlink()
    with pytest.raises(DocumentError, match=r"a\.pdf cannot be read"):
        visual_image(desk.corpus, entry, desk.pool, visual)
