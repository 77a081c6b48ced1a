"""The tools that an agent gets for a document in each mode."""

from qagen_dagster.records.ids import Mode
from qagen_dagster.toolkit.document_view import DocumentView
from qagen_dagster.toolkit.read_lines import read_lines_tool
from qagen_dagster.toolkit.search_passages import Meaning, search_meaning_tool
from qagen_dagster.toolkit.search_words import search_tool
from qagen_dagster.toolkit.tool import Tool
from qagen_dagster.toolkit.visual_tools import list_visual_content_tool, view_page_tool

_TEXTUAL = (read_lines_tool, search_tool)
_VISUAL = (list_visual_content_tool, view_page_tool)


def toolbox(view: DocumentView, mode: Mode, meaning: Meaning | None = None) -> dict[str, Tool]:
    """Tools by name, in the order a model should see them. Tools for pictures are only in visual mode. With
    `meaning`, the function that finds passages of the document, `search_meaning` is among the tools."""
    makers = _TEXTUAL if mode is Mode.TEXTUAL else (*_VISUAL, *_TEXTUAL)
    tools = [make(view) for make in makers]
    tools += [] if meaning is None else [search_meaning_tool(view, meaning)]
    return {tool.spec.name: tool for tool in tools}
