"""Which tools an agent gets for a document in each mode."""

from __future__ import annotations

from qagen_dagster.records.ids import Mode
from qagen_dagster.toolkit import list_visual_content, read_lines, search, view_page
from qagen_dagster.toolkit.document_view import DocumentView
from qagen_dagster.toolkit.tool import Tool

_TEXTUAL = (read_lines, search)
_VISUAL = (list_visual_content, view_page)


def toolbox(view: DocumentView, mode: Mode) -> dict[str, Tool]:
    """Tools by name, in the order a model should see them; tools to look with only in visual mode."""
    makers = _TEXTUAL if mode is Mode.TEXTUAL else (*_VISUAL, *_TEXTUAL)
    tools = [maker.make(view) for maker in makers]
    return {tool.spec.name: tool for tool in tools}
