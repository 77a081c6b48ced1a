"""Files become problems: items of TeX, pictures, pages of a PDF; each with a name of its own, and nothing outside a range."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qagen_dagster.configuration.problems import find_problem_set
from qagen_dagster.errors import ConfigError, DocumentError
from qagen_dagster.loop.problems import sources
from qagen_dagster.loop.problems.plan import picture_key, see_picture
from qagen_dagster.loop.problems.sources import Named, combined, described, read_file, read_set
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.ids import check_name
from qagen_dagster.records.problems.submissions import Problem, ProblemInput, QuestionKind
from qagen_dagster.settings import Settings
from tests.support.problems.files import HEAD, TAIL, pdf, picture, tex, write_set
from tests.support.problems.play import item


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    root = tmp_path_factory.mktemp("space")
    return Workspace(Settings(corpora=root / "corpora", assets=str(root / "assets")))


def read(
    space: Workspace, path: Path, wanted: tuple[int, int] | None = None, kind: QuestionKind | None = None
) -> tuple[Problem, ...]:
    return read_file(space, Named(path, f"shown/{path.name}", wanted, kind))


def test_each_item_of_a_tex_file_is_a_problem(space: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "sheet 1.tex"
    path.write_text(tex(3))
    found = read(space, path, kind=QuestionKind.MATCH)
    assert [(one.id, one.index) for one in found] == [("sheet-1-01", 1), ("sheet-1-02", 2), ("sheet-1-03", 3)]
    assert [one.tex for one in found] == [item(2, 5), item(3, 5), item(4, 5)]
    assert {one.input for one in found} == {ProblemInput.TEX}
    assert {one.kind for one in found} == {QuestionKind.MATCH}
    assert {one.source_path for one in found} == {"shown/sheet 1.tex"}
    assert {one.preamble for one in found} == {HEAD.partition("\\begin{document}")[0]}


@pytest.mark.parametrize(
    ("wanted", "indices"),
    [((2, 3), [2, 3]), ((1, 1), [1]), ((4, 9), [4]), ((0, 2), None), ((3, 2), None), ((5, 6), None)],
)
def test_a_range_of_items_counts_as_in_the_whole_file(
    space: Workspace, tmp_path: Path, wanted: tuple[int, int], indices: list[int] | None
) -> None:
    path = tmp_path / "a.tex"
    path.write_text(tex(4))
    if indices is None:
        with pytest.raises(ConfigError, match=r"a range is|there is no item"):
            read(space, path, wanted)
        return
    whole = {one.index: one for one in read(space, path)}
    assert list(read(space, path, wanted)) == [whole[index] for index in indices]


@pytest.mark.parametrize("line", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
def test_lines_and_letters_are_read_however_they_are_written(
    space: Workspace, tmp_path: Path, line: str, encoding: str
) -> None:
    path = tmp_path / "a.tex"
    text = HEAD + item().replace("A cart", "Ein Körper") + "\n" + TAIL
    path.write_bytes(text.replace("\n", line).encode(encoding))
    (found,) = read(space, path)
    assert found.tex == item().replace("A cart", "Ein Körper")


@pytest.mark.parametrize(
    "text",
    ["A cart moves.", "\\documentclass{article}\n\\begin{document}\n A cart moves. \n\\end{document}\n"],
)
def test_tex_without_an_item_is_one_problem(space: Workspace, tmp_path: Path, text: str) -> None:
    path = tmp_path / "loose.tex"
    path.write_text(text)
    (found,) = read(space, path)
    assert (found.id, found.tex) == ("loose-01", "A cart moves.")


def test_a_file_that_cannot_be_used_is_named(
    space: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, data in {
        "zero.tex": b"\\item\0",
        "big.tex": b"x" * 200,
        "bad.png": b"\x89PNG",
        "bad.pdf": b"%PDF-",
    }.items():
        (tmp_path / name).write_bytes(data)
    monkeypatch.setattr(sources, "MOST_TEX_BYTES", 100)
    for name, outcome in {
        "zero.tex": "binary",
        "big.tex": "too_large",
        "gone.tex": "corrupt",
        "bad.png": "not_what_it_says",
        "bad.pdf": "corrupt",
    }.items():
        with pytest.raises(DocumentError, match=f"shown/{name}") as error:
            read(space, tmp_path / name)
        assert error.value.outcome == outcome, name
    with pytest.raises(DocumentError, match=r"supported files: \.png, \.jpg"):
        read(space, tmp_path / "bad.png")
    (tmp_path / "empty.tex").write_text("\\begin{document} \\end{document}")
    with pytest.raises(ConfigError, match=r"empty\.tex contains no problem"):
        read(space, tmp_path / "empty.tex")
    for name in ("a.gif", "noend"):
        with pytest.raises(ConfigError, match=r"is not supported; supported files: \.png"):
            read(space, tmp_path / name)


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP"])
def test_a_picture_is_kept_as_models_are_shown_it(space: Workspace, tmp_path: Path, form: str) -> None:
    path = tmp_path / f"photo.{form.lower()}"
    path.write_bytes(picture(form))
    (found,) = read(space, path, (1, 1))
    assert (found.id, found.input, found.index) == ("photo", ProblemInput.IMAGE, 1)
    assert found.picture is not None
    shown = see_picture(space.store, found.picture)
    assert shown.media_type in ("image/png", "image/jpeg")
    assert space.store.path(picture_key(found.picture)).endswith((".png", ".jpg"))
    with pytest.raises(ConfigError, match="the last one is 1"):
        read(space, path, (2, 2))


def test_each_page_of_a_pdf_is_a_problem(space: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "sheet.pdf"
    path.write_bytes(pdf(3))
    found = read(space, path)
    assert [(one.id, one.index, one.source_path) for one in found] == [
        (f"sheet-p{page}", page, f"shown/sheet.pdf#page={page}") for page in (1, 2, 3)
    ]
    assert len({one.picture.sha256 for one in found if one.picture}) == 3
    assert read(space, path, (2, 3)) == found[1:]
    with pytest.raises(DocumentError, match="no page 4"):
        read(space, path, (3, 4))
    for wanted in ((2, 1), (0, 1)):
        with pytest.raises(ConfigError, match="a range is START END"):
            read(space, path, wanted)


def test_problems_of_a_set_have_names_of_their_own(tmp_path: Path) -> None:
    more = "  - {file: problems.png, kind: subjective}\n  - {file: more/problems.tex, range: [2, 3]}\n  - {file: more/problems.png}\n"
    folder = write_set(tmp_path, items=2, more=more) / "sources"
    (folder / "more").mkdir()
    (folder / "problems.png").write_bytes(picture())
    (folder / "more" / "problems.png").write_bytes(picture(number=2))
    (folder / "more" / "problems.tex").write_text(tex(4, first=5))
    space = Workspace(Settings(corpora=tmp_path, assets=str(tmp_path / "assets")))
    found = read_set(space, find_problem_set(tmp_path, "motion"))
    assert [one.id for one in found.problems] == [
        "problems-01", "problems-02", "problems", "problems-02.2", "problems-03.2", "problems.2",
    ]  # fmt: skip
    assert [(one.file, one.problems) for one in found.sources] == [
        ("problems.tex", 2), ("problems.png", 1), ("more/problems.tex", 2), ("more/problems.png", 1),
    ]  # fmt: skip
    assert [one.kind for one in found.problems] == [None, None, QuestionKind.SUBJECTIVE, None, None, None]


@settings(max_examples=60, deadline=None)
@given(
    stem=st.text(
        st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/"), min_size=1, max_size=40
    )
)
def test_any_name_of_a_file_makes_a_usable_id(
    space: Workspace, tmp_path_factory: pytest.TempPathFactory, stem: str
) -> None:
    path = tmp_path_factory.mktemp("named") / f"{stem}.tex"
    path.write_text(item())
    (found,) = read(space, path)
    assert check_name(found.id) == found.id


def test_what_comes_from_no_file() -> None:
    one = combined("hybrid", "a + b", [item(), item(3, 4)], "short")
    assert (one.input, one.parts, one.style) == (ProblemInput.COMBINED, (item(), item(3, 4)), "short")
    words = described("a cart")
    assert (words.input, words.tex, words.id) == (ProblemInput.DESCRIPTION, "a cart", "diagram")
