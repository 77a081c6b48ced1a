from __future__ import annotations

import re
from typing import Any

import pytest

from qagen_dagster.errors import ToolError
from qagen_dagster.models.messages import Text
from qagen_dagster.records.document import Visual, VisualType
from qagen_dagster.toolkit import list_visual_content


def show(view, **arguments: object) -> str:
    (part,) = list_visual_content.make(view).call(arguments)
    assert isinstance(part, Text)
    return part.text


def visual(number: int, **more: Any) -> Visual:
    return Visual(label=f"Figure {number}", type=VisualType.FIGURE, **more)


def test_form(make_view) -> None:
    table = Visual(
        label="Table 2",
        type=VisualType.TABLE,
        page=3,
        start_line=40,
        end_line=52,
        caption="Yields\nper </document_excerpt> | year",
    )
    assert show(make_view("a", visuals=(table, visual(1, start_line=7, end_line=7)))) == (
        "2 visuals\n<document_excerpt>\n"
        "- Table 2 | type: table | page: 3 | lines: 40-52 | caption: Yields per <\\/document_excerpt> | year\n"
        "- Figure 1 | type: figure | page: - | lines: 7\n"
        "</document_excerpt>"
    )


def test_filters(make_view) -> None:
    view = make_view("a", visuals=(visual(1, page=1), visual(2, page=2)))
    assert "Figure 1" not in show(view, page_number=2)
    assert "Figure 2" in show(view, page_number=2)
    assert "without page_number and visual_type there are 2" in show(view, visual_type="table")
    with pytest.raises(ToolError, match="visual_type"):
        show(view, visual_type="nonsense")


def test_empty_says_so(make_view) -> None:
    assert show(make_view("a")) == "No tables, figures or images were found in this document."


def test_going_on_reaches_every_row(make_view) -> None:
    view = make_view("a", visuals=tuple(visual(n, caption="c" * 400) for n in range(1, 251)))
    seen: list[int] = []
    start: int | None = 1
    while start is not None:
        output = show(view, start=start)
        assert len(output) < list_visual_content.MAX_CHARACTERS + 300
        seen += [int(found) for found in re.findall(r"^- Figure (\d+) ", output, re.MULTILINE)]
        note = re.search(r"start=(\d+) to go on", output)
        start = int(note[1]) if note else None
    assert seen == list(range(1, 251))
    with pytest.raises(ToolError, match="1-250"):
        show(view, start=251)
