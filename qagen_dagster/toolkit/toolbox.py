"""The tools that an agent gets for a document in each mode."""

from __future__ import annotations

from qagen_dagster.records.ids import Mode
from qagen_dagster.toolkit import list_visual_content, read_lines, search, search_meaning, view_page
from qagen_dagster.toolkit.document_view import DocumentView
from qagen_dagster.toolkit.search_meaning import Meaning
from qagen_dagster.toolkit.tool import Tool

_TEXTUAL = (read_lines, search)
_VISUAL = (list_visual_content, view_page)


def toolbox(view: DocumentView, mode: Mode, meaning: Meaning | None = None) -> dict[str, Tool]:
    """Tools by name, in the order a model should see them; tools to look with only in visual mode.

    With `meaning`, which finds passages of the document, `search_meaning` is among them.
    """
    makers = _TEXTUAL if mode is Mode.TEXTUAL else (*_VISUAL, *_TEXTUAL)
    tools = [maker.make(view) for maker in makers]
    tools += [] if meaning is None else [search_meaning.make(view, meaning)]
    return {tool.spec.name: tool for tool in tools}
