"""The tool that reads a document's numbered lines, and the `opening` of a document, which prompts show."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from qagen_dagster.errors import ToolError
from qagen_dagster.toolkit.back_matter import BackMatter
from qagen_dagster.toolkit.document_view import DocumentView
from qagen_dagster.toolkit.excerpt import CLOSE, enclose, row, single_line
from qagen_dagster.toolkit.tool import Tool, tool

MAX_LINES = 400
MAX_CHARACTERS = 24_000
MAX_LINE_CHARACTERS = 2_000
_CUT_LINES = "[a long line is cut: search for what you look for]"


def read_lines_tool(view: DocumentView) -> Tool:
    """Bind `read_lines` to a document."""

    def read_lines(
        start_line: Annotated[int, Field(description="First line to read; lines are counted from 1.")] = 1,
        end_line: Annotated[
            int | None,
            Field(description="Last line to read, inclusive. Leave out to read on until the output is full."),
        ] = None,
    ) -> str:
        """Read lines of the document in order: to begin it, or to read on around a line that search found.

        Returns the range, the total number of lines and any pages; then one row per line, `41| text`,
        and `--- page 4 ---` where a page starts; empty lines are left out. At most 400 lines or 24,000 characters; when there is
        more, the last line says how to go on.
        """
        if not view.has_text:
            return "This document has no text to read. If view_page is among your tools, look at its pages."
        return _read(view, start_line, _last_line(view, start_line, end_line))

    return tool(read_lines)


def _last_line(view: DocumentView, start: int, end: int | None) -> int:
    """The last line to read. It is the document's last line if `end` is None or greater. Raises ToolError for a wrong range."""
    total = len(view.lines)
    if not 1 <= start <= total:
        raise ToolError(
            f"There is no line {start}: the document has lines 1-{total}. Call read_lines with a start_line in 1-{total}."
        )
    if end is not None and end < start:
        raise ToolError(
            f"end_line {end} is before start_line {start}. Give end_line in {start}-{total}, or leave it out."
        )
    return total if end is None else min(end, total)


def opening(view: DocumentView, most: int, first: int) -> str:
    """The document as `read_lines` shows it, without long back matter, if this text has at most `most` characters. Otherwise, only
    the first lines are shown, up to `first` characters. Empty if the document has no text, or if `most` is 0. The result ends with the
    closing delimiter only if the document is shown whole."""
    if not view.has_text or not most:
        return ""
    total = len(view.lines)
    whole = _read(view, 1, total, most, total, view.long_back_matter, most)
    if whole.endswith(CLOSE) and max(map(len, view.lines)) <= most:
        return whole
    least = min(most, first)
    part = _read(view, 1, total, least, most_of_line=min(least, MAX_LINE_CHARACTERS))
    return f"{part}\n{_CUT_LINES}" if part.endswith(CLOSE) else part


def _read(
    view: DocumentView,
    start: int,
    wanted: int,
    most_characters: int = MAX_CHARACTERS,
    most_lines: int = MAX_LINES,
    left_out: Sequence[BackMatter] = (),
    most_of_line: int = MAX_LINE_CHARACTERS,
) -> str:
    markers = view.pages_starting(start, wanted)
    rows: list[str] = []
    size, number, shown = 0, start, 0
    ends = {one.start: one.end for one in left_out}
    while number <= wanted and shown < most_lines:
        if number in ends:
            number = ends[number] + 1
            continue
        added = [f"--- page {page} ---" for page in markers.get(number, ())]
        if view.lines[number - 1].strip():
            added.append(row(number, view.lines[number - 1], most_of_line))
            shown += 1
        size += sum(len(text) + 1 for text in added)
        if rows and size > most_characters:
            break
        rows += added
        number += 1
    last, total = number - 1, len(view.lines)
    pages = view.page_range(start, last)
    header = f"lines {start}-{last} of {total}{f' ({pages})' if pages else ''}"
    omissions = "".join(f", without {one.title} (lines {one.start}-{one.end})" for one in left_out)
    body = f"{header}{single_line(omissions)}\n{enclose(rows)}"
    if last == wanted:
        return body
    rest = f"start_line={last + 1}" + ("" if wanted == total else f", end_line={wanted}")
    return f"{body}\n[cut at line {last} of {total}: call read_lines({rest}) to go on]"
