"""The tool that lists tables, figures and other visuals. The document's format finds them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from qagen_dagster.errors import ToolError
from qagen_dagster.records.document import Visual, VisualType
from qagen_dagster.toolkit.document_view import DocumentView
from qagen_dagster.toolkit.excerpt import enclose, one_line, shown_label
from qagen_dagster.toolkit.tool import Tool, tool

MAX_ROWS = 100
MAX_CHARACTERS = 16_000
_MAX_CAPTION = 300


def make(view: DocumentView) -> Tool:
    """Bind `list_visual_content` to a document."""

    def list_visual_content(
        page_number: Annotated[
            int | None, Field(ge=1, description="Only what is on this page (counted from 1).")
        ] = None,
        visual_type: Annotated[VisualType | None, Field(description="Only visuals of this type.")] = None,
        start: Annotated[
            int, Field(ge=1, description="Number of the first row to show; use it when the list was cut.")
        ] = 1,
    ) -> str:
        """List the document's tables, figures, images, diagrams and formulae. Use it first when looking for something to see.

        Comes back: one row for each, `- Table 2 | type: table | page: 3 | lines: 40-52 | caption: ...`.
        The first field is the label to give view_page as visual; lines are those of read_lines; `-`
        means not known; what has no caption shows none. When the list is cut, the last line says how to
        go on.
        """
        chosen = [
            visual
            for visual in view.visuals
            if (page_number is None or visual.page == page_number)
            and (visual_type is None or visual.type is visual_type)
        ]
        if not chosen:
            return _empty(view, filtered=page_number is not None or visual_type is not None)
        return _list(chosen, start)

    return tool(list_visual_content)


def _list(chosen: list[Visual], start: int) -> str:
    if start > len(chosen):
        raise ToolError(f"The list has only {len(chosen)} rows: call with a start in 1-{len(chosen)}.")
    rows: list[str] = []
    size = 0
    for visual in chosen[start - 1 : start - 1 + MAX_ROWS]:
        text = visual_row(visual)
        size += len(text) + 1
        if rows and size > MAX_CHARACTERS:
            break
        rows.append(text)
    count = len(chosen)
    body = f"{count} {'visual' if count == 1 else 'visuals'}\n{enclose(rows)}"
    following = start + len(rows)
    if following > count:
        return body
    return (
        f"{body}\n[{count - following + 1} more not shown: call list_visual_content with "
        f"start={following} to go on, or with page_number or visual_type to narrow it]"
    )


def visual_row(visual: Visual) -> str:
    """One visual as the list shows it, without what is written inside it."""
    page = "-" if visual.page is None else str(visual.page)
    label = shown_label(visual.label)
    caption = one_line(visual.caption, _MAX_CAPTION)
    place = f"page: {page} | lines: {_lines(visual)}"
    return f"- {label} | type: {visual.type.value} | {place}{f' | caption: {caption}' if caption else ''}"


def _lines(visual: Visual) -> str:
    if visual.start_line is None:
        return "-"
    last = visual.end_line or visual.start_line
    return str(visual.start_line) if last == visual.start_line else f"{visual.start_line}-{last}"


def _empty(view: DocumentView, *, filtered: bool) -> str:
    if filtered and view.visuals:
        return f"No visual fits; without page_number and visual_type there are {len(view.visuals)} in this document."
    return "No tables, figures or images were found in this document."
