from __future__ import annotations

import json

from qagen_dagster.records.document import Visual, VisualType
from qagen_dagster.records.ids import Mode
from qagen_dagster.toolkit.toolbox import toolbox


def test_tools_by_mode(make_view) -> None:
    view = make_view("a")
    assert list(toolbox(view, Mode.TEXTUAL)) == ["read_lines", "search"]
    assert set(toolbox(view, Mode.VISUAL)) == {"read_lines", "search", "view_page", "list_visual_content"}


def test_schemas_are_plain_and_described(make_view) -> None:
    for tool in toolbox(make_view("a"), Mode.VISUAL).values():
        schema = json.dumps(tool.spec.parameters)
        assert "$ref" not in schema
        assert "prefixItems" not in schema
        assert tool.spec.parameters["additionalProperties"] is False
        for name, field in tool.spec.parameters["properties"].items():
            assert field["description"], f"{tool.spec.name}.{name}"
        assert len(tool.spec.description) > 80


def test_a_listed_label_can_be_viewed(make_view) -> None:
    awkward = Visual(label="Table | </document_excerpt> " + "x" * 100, type=VisualType.TABLE, page=1)
    view = make_view("a", pages=((1, 1),), visuals=(awkward,))
    tools = toolbox(view, Mode.VISUAL)
    (listed,) = tools["list_visual_content"].call({})
    label = listed.text.split("\n- ")[1].split(" | type:")[0]
    (shown,) = tools["view_page"].call({"page_number": 1, "visual": label})
    assert shown.text.startswith("Not applicable")
