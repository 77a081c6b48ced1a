from __future__ import annotations

from collections.abc import Callable

import pytest

from qagen_dagster.formats.base import PageImage, RenderOptions
from qagen_dagster.records.document import Document, Outcome, PageSpan, Section, Visual
from qagen_dagster.toolkit.document_view import DocumentView

Render = Callable[[int, RenderOptions], PageImage | None]
ViewMaker = Callable[..., DocumentView]


def _no_pages(_page: int, _how: RenderOptions) -> None:
    return None


@pytest.fixture
def make_view() -> ViewMaker:
    def make(
        text: str,
        *,
        pages: tuple[tuple[int, int], ...] = (),
        visuals: tuple[Visual, ...] = (),
        sections: tuple[Section, ...] = (),
        render: Render = _no_pages,
        page_count: int | None = None,
        max_image_pixels: int = 1_150_000,
    ) -> DocumentView:
        spans = tuple(PageSpan(page=n, start_line=a, end_line=b) for n, (a, b) in enumerate(pages, 1))
        document = Document(
            id="d",
            source="d.txt",
            format="text",
            outcome=Outcome.PARSED,
            source_sha256="0" * 64,
            page_count=page_count if page_count is not None else (len(spans) or None),
            pages=spans,
            sections=sections,
        )
        return DocumentView(document, tuple(text.split("\n")), visuals, render, max_image_pixels)

    return make
