"""Figures are drawn once, kept in the store, and named where they are not drawn."""

from __future__ import annotations

import sys
from pathlib import Path

import pymupdf
import pytest

from qagen_dagster.loop.figures import Drawing, draw_figures, undrawn
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.publishing.markup import figure_id
from tests.support.project import Project

CODE = "\\begin{tikzpicture}\n\\draw (0,0) -- (1,1);\n\\end{tikzpicture}"
BARRED = "\\begin{circuitikz}\n\\input{/etc/passwd}\n\\end{circuitikz}"


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return Workspace(Project.make(tmp_path / "project").settings())


def engine(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An engine that draws a square. Returns the file that it writes each time it runs."""
    with pymupdf.open() as document:
        document.new_page().draw_rect(pymupdf.Rect(40, 40, 90, 90), fill=(0, 0, 0))
        (folder / "square.pdf").write_bytes(document.tobytes())
    script, ran = folder / "pdflatex", folder / "ran"
    script.write_text(
        f"#!{sys.executable}\nimport sys\nif '--version' in sys.argv:\n    print('TeX'); sys.exit(0)\n"
        f"open({str(ran)!r}, 'a').write('x')\nopen('item.pdf', 'wb').write(open({str(folder / 'square.pdf')!r}, 'rb').read())\n"
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    return ran


def test_a_figure_is_drawn_once(space: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [Drawing(f"See\n{CODE}\n and {BARRED}"), Drawing("no figure")]
    monkeypatch.setenv("PATH", str(tmp_path))
    assert draw_figures(space, texts) == {}
    ran = engine(tmp_path, monkeypatch)
    assert draw_figures(space, texts, draw=False) == {}
    found = draw_figures(space, texts)
    assert [*found] == [figure_id(CODE)]
    assert found[figure_id(CODE)].startswith(b"\x89PNG")
    assert draw_figures(space, texts) == draw_figures(space, texts, draw=False) == found
    assert ran.read_text() == "x"
    assert undrawn({"a": CODE, "b": "text", "c": f"{CODE} {BARRED}"}, found) == ["c"]


@pytest.mark.parametrize("same", [CODE.replace("\n", "\n\n"), CODE.replace(";", "; % a line")])
def test_spaces_and_comments_make_no_other_figure(same: str) -> None:
    assert figure_id(same) == figure_id(CODE)
    assert figure_id(same) != figure_id(CODE.replace("1,1", "1,2"))
