from __future__ import annotations

import io
import re
from typing import Any

import pytest
from PIL import Image as Pillow

from qagen_dagster.errors import DocumentError, ToolError
from qagen_dagster.formats.base import PageImage, RenderOptions
from qagen_dagster.models.messages import Image, Text
from qagen_dagster.records.document import Box, Visual, VisualType
from qagen_dagster.toolkit import visual_tools


def show(view, **arguments: object) -> str:
    (part,) = visual_tools.list_visual_content_tool(view).call(arguments)
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
        assert len(output) < visual_tools.MAX_CHARACTERS + 300
        seen += [int(found) for found in re.findall(r"^- Figure (\d+) ", output, re.MULTILINE)]
        note = re.search(r"start=(\d+) to go on", output)
        start = int(note[1]) if note else None
    assert seen == list(range(1, 251))
    with pytest.raises(ToolError, match="1-250"):
        show(view, start=251)


TABLE = Visual(
    label="Table 2", type=VisualType.TABLE, page=2, box=Box(x0=10, y0=100, x1=200, y1=300), caption="Yields"
)
NO_BOX = Visual(label="Figure 1", type=VisualType.FIGURE, page=1)


class Painter:
    """Renders a page whose left half is black and right half white; remembers what was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, RenderOptions]] = []

    def __call__(self, page: int, how: RenderOptions) -> PageImage:
        self.asked.append((page, how))
        height = min(how.max_side, int((how.max_pixels / 0.7) ** 0.5))
        picture = Pillow.new("RGB", (int(height * 0.7), height), "white")
        picture.paste("black", (0, 0, picture.width // 2, height))
        buffer = io.BytesIO()
        picture.save(buffer, "PNG")
        return PageImage("image/png", buffer.getvalue(), picture.width, picture.height)


def view_of(make_view, render, **more):
    return make_view("a\nb", pages=((1, 1), (2, 2)), visuals=(TABLE, NO_BOX), render=render, **more)


def pixels(image: Image) -> Pillow.Image:
    return Pillow.open(io.BytesIO(image.data)).convert("RGB")


def test_whole_page_within_the_models_limits(make_view) -> None:
    painter = Painter()
    text, image = visual_tools.view_page_tool(view_of(make_view, painter, max_image_pixels=200_000)).call(
        {"page_number": 2}
    )
    assert isinstance(text, Text)
    assert isinstance(image, Image)
    assert text.text.startswith("page 2 of 2, whole page, ")
    assert text.text.endswith("Visuals on this page: Table 2.")
    assert painter.asked[0][1].max_pixels == 200_000
    assert pixels(image).width * pixels(image).height <= 200_000


def test_visual_is_cropped_with_a_margin(make_view) -> None:
    painter = Painter()
    text, image = visual_tools.view_page_tool(view_of(make_view, painter)).call(
        {"page_number": 2, "visual": " table  2"}
    )
    assert isinstance(text, Text)
    assert 'cut out: "Table 2"' in text.text
    assert isinstance(image, Image)
    assert painter.asked[0][1].crop == Box(x0=8, y0=98, x1=202, y1=302)


def test_visual_without_a_place_shows_the_page(make_view) -> None:
    text, _image = visual_tools.view_page_tool(view_of(make_view, Painter())).call(
        {"page_number": 1, "visual": "Figure 1"}
    )
    assert isinstance(text, Text)
    assert "not known" in text.text


def test_box_is_cut_out_finer_than_the_page(make_view) -> None:
    painter = Painter()
    tool = visual_tools.view_page_tool(view_of(make_view, painter, max_image_pixels=100_000))
    _text, image = tool.call({"page_number": 1, "box": [0, 0, 0.4, 0.4]})
    assert isinstance(image, Image)
    cut = pixels(image)
    assert painter.asked[0][1].max_pixels > 400_000
    assert 80_000 < cut.width * cut.height <= 100_000
    assert cut.getpixel((cut.width - 1, cut.height - 1)) == (0, 0, 0)
    _text, right = tool.call({"page_number": 1, "box": [0.6, 0.5, 1, 1]})
    assert isinstance(right, Image)
    assert pixels(right).getpixel((0, 0)) == (255, 255, 255)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"page_number": 0}, "pages 1-2"),
        ({"page_number": 3}, "pages 1-2"),
        ({"page_number": 1, "visual": "Table 2"}, r"view_page\(visual=\"Table 2\"\)"),
        ({}, "Give page_number, or the label"),
        ({"page_number": 1, "visual": "Table 9"}, "Did you mean.*Table 2"),
        ({"page_number": 1, "visual": "zzz"}, "There are.*Table 2.*Figure 1"),
        ({"page_number": 1, "box": [0.5, 0, 0.4, 1]}, "reversed"),
        ({"page_number": 1, "box": [0, 0, 2, 1]}, "less than or equal to 1"),
        ({"page_number": 1, "box": [0, 0, float("nan"), 1]}, "box"),
        ({"page_number": 1, "box": [0, 0]}, "box"),
        ({"page_number": 1, "box": [0, 0, 1, 1], "visual": "Table 2"}, "not both"),
        ({}, "page_number"),
    ],
)
def test_errors_say_what_to_do(make_view, arguments: dict[str, object], says: str) -> None:
    with pytest.raises(ToolError, match=says):
        visual_tools.view_page_tool(view_of(make_view, Painter())).call(arguments)


def test_page_that_cannot_be_rendered_sends_the_model_elsewhere(make_view) -> None:
    def fail(_page: int, _how: RenderOptions) -> PageImage:
        raise DocumentError("too_large", "20000 x 20000 points")

    with pytest.raises(ToolError, match=r"too_large.*try a different page"):
        visual_tools.view_page_tool(view_of(make_view, fail)).call({"page_number": 1})


def test_text_only_formats_are_not_applicable(make_view) -> None:
    assert visual_tools.view_page_tool(make_view("a")).call({"page_number": 1}) == (
        Text(text=visual_tools.NOT_APPLICABLE),
    )
    pages_but_no_pictures = make_view("a", pages=((1, 1),))
    answer = visual_tools.view_page_tool(pages_but_no_pictures).call({"page_number": 1})
    assert answer == (Text(text=visual_tools.NOT_APPLICABLE),)


def test_a_visual_is_found_by_its_label_alone(make_view) -> None:
    painter = Painter()
    text, _ = visual_tools.view_page_tool(view_of(make_view, painter)).call({"visual": "table 2"})
    assert isinstance(text, Text)
    assert text.text.startswith('page 2 of 2, cut out: "Table 2"')
    assert [page for page, _ in painter.asked] == [2]


FIGURE = Visual(label="Figure 4", type=VisualType.FIGURE, page=1, box=Box(x0=10, y0=10, x1=90, y1=90))
CONTINUED = FIGURE.model_copy(update={"label": "Figure 4 (2)", "page": 2})
PANEL = FIGURE.model_copy(update={"label": "Figure 4b", "page": 2})


def shown(make_view, visuals: tuple[Visual, ...], **arguments: object) -> str:
    view = make_view("a\nb", pages=((1, 1), (2, 2)), visuals=visuals, render=Painter())
    text, _ = visual_tools.view_page_tool(view).call(arguments)
    assert isinstance(text, Text)
    return text.text


@pytest.mark.parametrize(
    "label", ["Figure 4d", "Fig. 4d", "Fig. 4(d)", "figure 4 (d)", "Fig 4a-c", "Figure 4, panel d", "Fig. 4"]
)
def test_the_label_of_a_panel_opens_its_figure(make_view, label: str) -> None:
    assert 'cut out: "Figure 4"' in shown(make_view, (TABLE, FIGURE), visual=label)


def test_a_panel_that_is_a_visual_of_its_own_is_opened_itself(make_view) -> None:
    assert 'cut out: "Figure 4b"' in shown(make_view, (FIGURE, PANEL), visual="Fig. 4b")


@pytest.mark.parametrize("label", ["Figure 5d", "Figure 44", "Table 4d"])
def test_the_label_of_another_figure_opens_none(make_view, label: str) -> None:
    with pytest.raises(ToolError, match="There is no visual"):
        shown(make_view, (FIGURE,), visual=label)


def test_a_figure_that_continues_says_so_and_offers_its_parts(make_view) -> None:
    visuals = (FIGURE, CONTINUED)
    first = shown(make_view, visuals, visual="Figure 4d")
    assert 'cut out: "Figure 4", ' in first
    assert 'It has more parts: "Figure 4 (2)" (page 2).' in first
    assert 'It has more parts: "Figure 4" (page 1).' in shown(make_view, visuals, visual="Figure 4 (2)")
    assert "more parts" not in shown(make_view, (FIGURE, TABLE), visual="Figure 4")


def test_the_part_on_the_page_that_is_asked_for_is_opened(make_view) -> None:
    told = shown(make_view, (FIGURE, CONTINUED), visual="Figure 4", page_number=2)
    assert 'cut out: "Figure 4 (2)"' in told
    assert 'It has more parts: "Figure 4" (page 1).' in told


def test_the_line_of_a_caption_is_told(make_view) -> None:
    placed = FIGURE.model_copy(update={"start_line": 7, "end_line": 8})
    assert "In the text it begins on line 7." in shown(make_view, (placed,), visual="Figure 4")
    unplaced = FIGURE.model_copy(update={"start_line": None})
    assert "In the text" not in shown(make_view, (unplaced,), visual="Figure 4")
