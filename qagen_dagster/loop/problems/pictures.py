"""Small pictures of problems for people: the original problem, and its LaTeX when compiled."""

from __future__ import annotations

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import ParseOptions, RenderOptions, Source
from qagen_dagster.formats.picture import trimmed
from qagen_dagster.latex.engine import compile_item, find_engine
from qagen_dagster.loop.problems.plan import picture_key
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.publishing.problems.tex_check import own_of, refused
from qagen_dagster.publishing.problems.tex_project import allowed_definitions
from qagen_dagster.records.problems.item import Problem

_SMALL = RenderOptions(max_pixels=200_000, max_side=620, max_bytes=90_000)
_QUIET = ParseOptions(ocr=False)
Shown = tuple[str, bytes]  # media type and bytes


def thumbnail(space: Workspace, problem: Problem) -> Shown | None:
    """The picture of a problem as a thumbnail; None when it has none."""
    if problem.picture is None:
        return None
    name = "picture.png" if problem.picture.media_type == "image/png" else "picture.jpg"
    return _drawn(space, Source(name, space.store.read_bytes(picture_key(problem.picture))))


def rendering(space: Workspace, latex: str, preamble: str, libraries: tuple[str, ...]) -> Shown | None:
    """The first page of `latex`, compiled by the TeX engine; None without an engine, or if it is not allowed or does not compile."""
    engine = find_engine()
    barred = refused(latex, own_of(allowed_definitions([preamble])))
    pdf = None if engine is None or barred else compile_item(engine, latex, preamble, libraries).pdf
    if pdf is None:
        return None
    try:
        page = space.parsers().render(Source("item.pdf", pdf), 1, _QUIET, RenderOptions())
    except DocumentError:
        return None
    if page is None:
        return None
    drawn = trimmed(page, _SMALL)
    return drawn.media_type, drawn.data


def _drawn(space: Workspace, source: Source) -> Shown | None:
    try:
        image = space.parsers().render(source, 1, _QUIET, _SMALL)
    except DocumentError:
        return None
    return None if image is None else (image.media_type, image.data)
