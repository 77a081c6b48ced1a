"""The tools for pictures: the list of tables, figures and other visuals, and pictures of pages and visuals. The document's
format finds and renders them.
"""

import difflib
import re
from typing import Annotated, Literal, cast

from pydantic import Field

from qagen_dagster.errors import DocumentError, ToolError
from qagen_dagster.formats.base import PageImage, RenderOptions
from qagen_dagster.formats.image import Fractions, cut, enlarge
from qagen_dagster.models.messages import Image, Text
from qagen_dagster.records.document import Box, Visual, VisualType
from qagen_dagster.toolkit.document_view import DocumentView
from qagen_dagster.toolkit.excerpt import enclose, label_key, one_line, shown_label
from qagen_dagster.toolkit.tool import Tool, ToolReturn, tool

MAX_ROWS = 100
MAX_CHARACTERS = 16_000
_MAX_CAPTION = 300
MARGIN_POINTS = 2.0  # around a visual; a wider margin would show neighbouring columns and lines of text
MIN_FRACTION = 0.02  # of the page's width or height; a narrower box is refused
_MAX_NAMED = 20
_FIGURE = re.compile(r"^fig(?:ures?|s?\.?)\s*(?=[a-z]?\d)")
# "4d", "4(a, b)"
_PANEL = re.compile(r"(?<=\d)[\s,]{0,2}(?:panels? )?\(?[a-z](?:\s?[-\u2013,]\s?[a-z]){0,9}\)?$")
_PART = re.compile(r" \(\d{1,4}\)$")  # number that distinguishes visuals with the same label
NOT_APPLICABLE = (
    "Not applicable: this document has no pages to look at, only text. Use read_lines and search instead."
)
Fraction = Annotated[float, Field(ge=0, le=1)]


def list_visual_content_tool(view: DocumentView) -> Tool:
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
            if view.visuals:
                return f"No visual fits; without page_number and visual_type there are {len(view.visuals)} in this document."
            return "No tables, figures or images were found in this document."
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
    """One visual as the list shows it, without the text inside the visual."""
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


def view_page_tool(view: DocumentView) -> Tool:
    """Bind `view_page` to a document."""

    def view_page(
        page_number: Annotated[
            int | None,
            Field(
                description="Page of the document, counted from 1 (not the number printed on it). Leave it out if you give visual."
            ),
        ] = None,
        visual: Annotated[
            str | None,
            Field(
                description="Label of a table or figure, as list_visual_content shows it, to see it enlarged."
            ),
        ] = None,
        box: Annotated[
            list[Fraction] | None,
            Field(
                min_length=4,
                max_length=4,
                description="Part of the page to see enlarged: [left, top, right, bottom] as fractions of the page's width and height from its top left corner. [0, 0.5, 1, 1] is the lower half.",
            ),
        ] = None,
    ) -> ToolReturn:
        """Look at a page as a picture. Use it to see tables, figures, diagrams and layout that the text alone does not tell.

        Give the label of what you want to see: the cut-out is larger than on the page and has its caption. Leave
        out visual and box to see a whole page. Comes back: a line that says what is shown and which visuals are
        on the page, and the picture. If a page cannot be shown, do not ask for it again: try another page.
        """
        if not view.document.page_count:
            return NOT_APPLICABLE
        if visual is not None and box is not None:
            raise ToolError("Give either visual or box, not both.")
        if visual is not None:
            return _show_visual(view, page_number, visual)
        if page_number is None:
            raise ToolError("Give page_number, or the label of a table or figure as visual.")
        _check_page(view, page_number)
        if box is not None:
            return _show_part(view, page_number, _fractions(box))
        return _picture(view, page_number, "whole page", _render(view, page_number, _options(view)))

    return tool(view_page)


def _check_page(view: DocumentView, page: int) -> None:
    count = view.document.page_count or 0
    if not 1 <= page <= count:
        raise ToolError(
            f"There is no page {page}: the document has pages 1-{count}. Try a page in that range."
        )


def _options(view: DocumentView, crop: Box | None = None) -> RenderOptions:
    return RenderOptions(max_pixels=view.max_image_pixels, crop=crop)


def _render(view: DocumentView, page: int, how: RenderOptions) -> PageImage | None:
    try:
        return view.render(page, how)
    except DocumentError as error:
        raise ToolError(
            f"Page {page} cannot be shown ({one_line(str(error), 200)}). "
            "It will fail again: do not ask for it again, try a different page."
        ) from None


def _show_visual(view: DocumentView, page: int | None, label: str) -> ToolReturn:
    if page is not None:
        _check_page(view, page)
    found = _find(view, label)
    parts = _parts(view, found)
    visual = next((part for part in (found, *parts) if part.page == page), found)
    name = shown_label(visual.label)
    if visual.page is None:
        return f'"{name}" has no page to look at. Read its text with read_lines.'
    if page is not None and visual.page != page:
        raise ToolError(
            f'"{name}" is on page {visual.page}, not on page {page}: call view_page(visual="{name}").'
        )
    page = visual.page
    if visual.box is None:
        crop, what = None, f'whole page (the place of "{name}" on it is not known)'
    else:
        crop, what = _with_margin(visual.box), f'cut out: "{name}"'
    picture = _render(view, page, _options(view, crop))
    return _picture(view, page, what, picture, _whereabouts(visual, found, parts))


def _parts(view: DocumentView, visual: Visual) -> list[Visual]:
    """The other visuals with the same label, such as a figure that continues on the next page."""
    base = _PART.sub("", _key(visual.label))
    return [part for part in view.visuals if part is not visual and _PART.sub("", _key(part.label)) == base]


def _whereabouts(visual: Visual, found: Visual, parts: list[Visual]) -> str:
    """A sentence on the line where the visual begins, and a sentence on its other parts. Each is left out if not known."""
    others = [part for part in (found, *parts) if part is not visual][:_MAX_NAMED]
    named = ", ".join(f'"{shown_label(part.label)}" (page {part.page or "-"})' for part in others)
    place = f" In the text it begins on line {visual.start_line}." if visual.start_line else ""
    return f"{place} It has more parts: {named}." if named else place


def _with_margin(box: Box) -> Box:
    return Box(
        x0=max(0.0, box.x0 - MARGIN_POINTS),
        y0=max(0.0, box.y0 - MARGIN_POINTS),
        x1=box.x1 + MARGIN_POINTS,
        y1=box.y1 + MARGIN_POINTS,
    )


def _find(view: DocumentView, label: str) -> Visual:
    """The visual with this label, in full or as shown; case and white space do not matter. The label of a panel
    ("Figure 4d") finds its figure if the panel is not a separate visual. Raises ToolError if there is no such visual."""
    by_label = {label_key(visual.label): visual for visual in reversed(view.visuals)}
    for visual in view.visuals:
        if _key(label) in (_key(visual.label), label_key(visual.label)):
            return visual
    figure = _figure(label)
    for wanted in (figure, _PANEL.sub("", figure)):
        for visual in view.visuals:
            if _figure(visual.label) == wanted:
                return visual
    if not by_label:
        raise ToolError("No visuals are known in this document. Call view_page with page_number alone.")
    close = difflib.get_close_matches(_key(label), list(by_label), n=3, cutoff=0.5)
    named = [by_label[key] for key in close] or list(view.visuals[:_MAX_NAMED])
    labels = ", ".join(f'"{shown_label(visual.label)}" (page {visual.page})' for visual in named)
    raise ToolError(
        f'There is no visual "{one_line(label, 80)}". {"Did you mean" if close else "There are"}: {labels}? '
        "list_visual_content shows all."
    )


def _key(label: str) -> str:
    return " ".join(label.split()).casefold()


def _figure(label: str) -> str:
    """A label for comparing, with "Fig. 4" as "figure 4"."""
    return _FIGURE.sub("figure ", _key(one_line(label, 80)))


def _fractions(box: list[float]) -> Fractions:
    left, top, right, bottom = box
    if right - left < MIN_FRACTION or bottom - top < MIN_FRACTION:
        raise ToolError(
            f"box {box} is too thin or reversed: left must be less than right and top less than bottom, "
            f"by {MIN_FRACTION} at least."
        )
    return (left, top, right, bottom)


def _show_part(view: DocumentView, page: int, part: Fractions) -> ToolReturn:
    how = _options(view)
    whole = _render(view, page, enlarge(how, part))
    shown = ", ".join(f"{value:g}" for value in part)
    return _picture(view, page, f"part [{shown}]", None if whole is None else cut(whole, part, how))


def _picture(view: DocumentView, page: int, what: str, image: PageImage | None, more: str = "") -> ToolReturn:
    if image is None:
        return NOT_APPLICABLE
    labels = [shown_label(visual.label) for visual in view.visuals if visual.page == page]
    known = f" Visuals on this page: {', '.join(labels[:_MAX_NAMED])}." if labels else ""
    title = f"page {page} of {view.document.page_count}, {what}, {image.width}x{image.height} pixels"
    kind = cast("Literal['image/png', 'image/jpeg']", image.media_type)
    picture = Image(media_type=kind, data=image.data, title=f"page {page}, {what}")
    return Text(text=f"{title}.{more}{known}"), picture
