"""Finds the visuals of a PDF: captioned tables and figures, other tables, pictures, drawings and scanned pages."""

import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter

from qagen_dagster.formats.base import Labels, ParseOptions
from qagen_dagster.formats.pdf import figures
from qagen_dagster.formats.pdf.captions import (
    Caption,
    Piece,
    Text,
    area,
    captions_of,
    contains,
    expanded,
    pieces_of,
    shared_height,
    shared_width,
)
from qagen_dagster.formats.pdf.mupdf import SCALE, Pdf, Rect, intersection, union
from qagen_dagster.formats.pdf.text import PdfText, read_pages
from qagen_dagster.records.document import Box, PageSpan, Visual, VisualType

MAX_VISUALS = 1_000  # maximum of one document
# Pieces of text, pictures and paths of one document; pages beyond this limit are not listed.
MAX_WORK = 1_000_000
_FEW_PATHS = 3_000  # the paths of a page count towards _MAX_PATHS only if the page has more
_MAX_PATHS = 150_000  # paths on pages with many paths; beyond this limit, such pages are listed as a whole
_MIN_PICTURE = (48.0, 36.0)  # minimum lengths in points of the longer and of the shorter side of a picture
_BANNER = 8  # maximum ratio of the longer to the shorter side
_LEAFLET = 2  # pages; in a longer document, a visual above the prose of the first page is a logo or cover art
_MIN_DRAWING = (110.0, 70.0)  # the same minimums for a drawing without pictures
_FRAME = 1.5  # maximum area of a frame, as a multiple of the area of its table
_MAX_LONE = 7  # maximum consecutive other rows between two rows of numbers
_MAX_HEADS = 4  # maximum rows above a table that may be its header rows
_HEADING = 40  # maximum characters of a heading between the header rows of a table and its first row
_NUMBER = re.compile(
    r"[$\u20ac\u00a3(+\u2212\u2013<>~\u2248-]{0,3}\s?\d[\d.,:/\u00b1\u2013 -]*\s?[%)\u00b0kKMB*\u2020\u2021a-d]{0,3}|[\u2014\u2013-]|\$"
)
_NAME = re.compile(r"[^\W\d_]{2}")
_CONTENTS = re.compile(r"(?:\.\s?){5,}")
_UNCAPTIONED_WORDS = {VisualType.TABLE: "table", VisualType.IMAGE: "image", VisualType.DIAGRAM: "drawing"}


@dataclass
class _PageView:
    """The text of one page, and its shapes, captions and ruled tables. `number` is 1-based."""

    number: int
    text: Text
    shapes: list[figures.Shape]
    captions: list[Caption]
    tables: list[Rect]


@dataclass
class _Found:
    """A visual without its label."""

    type: VisualType
    page: int
    box: Rect
    caption: Caption | None = None
    lines: tuple[int, int] | None = None


def find_visuals(pdf: Pdf, options: ParseOptions) -> tuple[Visual, ...]:
    """The document's visuals in page order, with unique labels.

    The limits of the search count objects on the pages, not time, so the result does not depend on the machine's load. If MAX_VISUALS or
    MAX_WORK is reached, the last entry is a page whose caption names the pages that may have more.

    Raises:
        DocumentError: as `read_pages`.
    """
    search = _Search(pdf, _text_of(pdf, options))
    found = search.run()
    labels = Labels()
    visuals = _labelled(found[:MAX_VISUALS], labels)
    if stopped := found[MAX_VISUALS].page if len(found) > MAX_VISUALS else search.stopped:
        note = f"The list ends here after {len(visuals):,} visuals: pages {stopped} to {pdf.count} may show more."
        label = labels.unique(f"Page {stopped}")
        visuals.append(Visual(label=label, type=VisualType.PAGE, page=stopped, caption=note))
    return tuple(visuals)


def _text_of(pdf: Pdf, options: ParseOptions) -> PdfText:
    """The text to whose lines the visuals refer. If the spans of the stored pages are known, they are used, and no page is recognised.

    Recognition is limited in time, so a second recognition of the same scan might end earlier or later.
    """
    if len(options.known_pages) != pdf.count:
        return read_pages(pdf, options, keep=True)
    text = read_pages(pdf, replace(options, ocr=False), keep=True)
    text.pages = list(options.known_pages)
    return text


class _Search:
    """Two passes over a document's pages. The first finds repeated marks. The second finds the visuals of each page."""

    def __init__(self, pdf: Pdf, text: PdfText) -> None:
        self._pdf = pdf
        self._text = text
        self._scanned = {*text.recognised, *text.unreadable}
        self._body = text.body_size / 10 or 10.0  # points
        self._repeats = figures.Repeats()
        self._paths = 0
        self._work = 0
        self.stopped = 0  # the page at which the limit of work was reached, or 0

    def run(self) -> list[_Found]:
        """All visuals, without labels."""
        paths = 0
        for number in range(self._pdf.count):
            with suppress(Exception):  # a broken page has no repeated marks
                page = self._pdf.page(number)
                drawings = page.drawings() if page.marks() <= _FEW_PATHS else []
                self._repeats.add([*page.pictures(), *drawings])
                paths += len(drawings)
            if paths > MAX_WORK:
                break
        found: list[_Found] = []
        for span in self._text.pages:
            if self._work > MAX_WORK:
                self.stopped = span.page
                break
            scanned = span.page in self._scanned or span.end_line < span.start_line
            found += self._scan(span) if scanned else self._read(span)
        return found

    def _scan(self, span: PageSpan) -> list[_Found]:
        """A scanned page as one visual; an empty list if it is blank."""
        try:
            page = self._pdf.page(span.page - 1)
            if not page.is_marked():
                return []
        except Exception:  # a broken page has no visuals
            return []
        lines = (span.start_line, span.end_line) if span.end_line >= span.start_line else None
        return [_Found(VisualType.PAGE, span.page, page.box, None, lines)]

    def _read(self, span: PageSpan) -> list[_Found]:
        try:
            page = self._pdf.page(span.page - 1)
            fragments, lines, table_boxes = (self._text.kept or {})[span.page]
            marks = page.marks()
            if marks > _FEW_PATHS:
                self._paths += marks
            whole = self._paths > _MAX_PATHS and marks > _FEW_PATHS
            pictures, drawings = page.pictures(), [] if whole or not marks else page.drawings()
        except Exception:  # a broken page has no visuals
            return []
        if whole:
            return [_Found(VisualType.PAGE, span.page, page.box, None, (span.start_line, span.end_line))]
        pieces = pieces_of(fragments, lines, span.start_line)
        text = Text(page.width, page.height, pieces, self._body)
        self._work += len(pieces) + len(pictures) + len(drawings)
        shapes = figures.shapes_on(text, pictures, drawings, self._repeats)
        captions = captions_of(text)
        tables = _ruled_tables(shapes, table_boxes)
        return self._pick(_PageView(span.page, text, shapes, captions, tables))

    def _pick(self, view: _PageView) -> list[_Found]:
        """The page's visuals from the top down. Visuals with captions claim their content first."""
        found: list[_Found] = []
        finder = _Finder(view)
        choices = [(caption, finder.boxes_beside(caption)) for caption in view.captions]
        for caption, boxes in sorted(choices, key=lambda one: len(one[1])):
            for box in boxes:
                if not any(area(intersection(box, one.box)) > 0.25 * area(box) for one in found):
                    found.append(_captioned(view, caption, box))
                    break
        taken = [one.box for one in found]
        has_title = view.number == 1 and self._pdf.count > _LEAFLET
        top_of_prose = min((piece.box[1] for piece in view.text.prose), default=view.text.height)
        found += _uncaptioned(view, taken, top_of_prose if has_title else 0.0)
        for one in found:
            one.box = intersection(one.box, (0.0, 0.0, view.text.width, view.text.height))
        found = [one for one in found if one.box[0] < one.box[2] and one.box[1] < one.box[3]]
        return sorted(found, key=lambda one: (one.lines or (_line_near(view, one.box), 0))[0])


class _Finder:
    """Finds the visuals above and below the captions of a page."""

    def __init__(self, view: _PageView) -> None:
        self._view = view
        text = view.text
        self._own = {piece for caption in view.captions for piece in caption.pieces}
        self._margin = {piece for piece in text.pieces if text.is_marginal(piece)}
        solid = [*(shape.box for shape in view.shapes), *view.tables]
        prose = [piece.box for piece in text.prose - self._own]
        self._stops = [caption.box for caption in view.captions]
        self._stops += [box for box in prose if not any(contains(one, box) for one in solid)]

    def boxes_beside(self, caption: Caption) -> list[Rect]:
        """The boxes of the possible visuals of a caption, the likeliest first.

        A table is probably below its caption, and a figure above. Text is a figure only where nothing is drawn.
        """
        rooms = [self._room(caption, up=up) for up in (not caption.is_table, caption.is_table)]
        boxes = [
            (caption.is_table and self._table(caption, room)) or self._drawn(caption, room) for room in rooms
        ]
        if not caption.is_table:
            boxes += [self._texts(room) for room, box in zip(rooms, boxes, strict=True) if not box]
        return [box for box in boxes if box]

    def _room(self, caption: Caption, *, up: bool) -> Rect:
        """The space above (`up`) or below a caption, up to the next paragraph, heading or caption."""
        own = caption.box
        reach = expanded(own, 2)
        ahead = [box for box in self._stops if shared_width(box, reach) > 5]
        if up:
            top = max((box[3] for box in ahead if box[3] <= own[1] + 4), default=0.0)
            room = (own[0], min(top, own[1]), own[2], own[1])
        else:
            end = min((box[1] for box in ahead if box[1] >= own[3] - 4), default=self._view.text.height)
            room = (own[0], own[3], own[2], max(end, own[3]))
        level = [box for box in self._stops if shared_height(box, room) > 2]
        left = max((box[2] for box in level if box[2] <= own[0] + 5), default=0.0)
        right = min((box[0] for box in level if box[0] >= own[2] - 5), default=self._view.text.width)
        return (min(left, own[0]), room[1], max(right, own[2]), room[3])

    def _table(self, caption: Caption, room: Rect) -> Rect | None:
        inside = [box for box in self._view.tables if contains(expanded(room, 8), box)]
        boxes = [box for box in inside if shared_width(box, caption.box) > 0]
        return max(boxes, key=lambda box: shared_height(box, caption.box), default=None)

    def _drawn(self, caption: Caption, room: Rect) -> Rect | None:
        """The box around the shapes in a room, with their labels.

        Tables, boxes of text beside drawings, and shapes that are above or below other captions only are left out.
        """
        text = self._view.text
        inside = [one for one in self._view.shapes if contains(expanded(room, 8), one.box)]
        shapes = [one for one in inside if not self._is_others(caption, one.box)]
        shapes = [one for one in shapes if not figures.is_written(one, text)] or shapes
        if not shapes:
            return None
        box = union(one.box for one in shapes)
        inner = intersection(expanded(room, 2), expanded(box, 60))
        return figures.with_labels(box, text, inner, self._own | self._margin)

    def _is_others(self, caption: Caption, shape: Rect) -> bool:
        """Whether a shape is a table, is above or below other captions only, or is nearer to a caption of the other kind."""
        over = [one for one in self._view.captions if shared_width(shape, one.box) > 0]
        far = -shared_height(shape, caption.box)
        near = any(one.is_table != caption.is_table and -shared_height(shape, one.box) < far for one in over)
        is_table = any(contains(expanded(box, 2), shape) for box in self._view.tables)
        return near or is_table or (bool(over) and caption not in over)

    def _texts(self, room: Rect) -> Rect | None:
        """The box of the texts that belong neither to captions nor to running heads and feet; None if there are fewer than three."""
        pieces = [one for one in self._view.text.inside(room) if one not in self._own | self._margin]
        return union(one.box for one in pieces) if len(pieces) > 2 else None


def _captioned(view: _PageView, caption: Caption, inner: Rect) -> _Found:
    own = [piece.line for piece in caption.pieces]
    lines = _rows(view.text, inner, own) or (min(own), max(own))
    kind = VisualType.TABLE if caption.is_table else VisualType.FIGURE
    return _Found(kind, view.number, union((inner, caption.box)), caption, lines)


def _rows(text: Text, box: Rect, own: list[int]) -> tuple[int, int] | None:
    """The first and last line of a visual, including the lines of its caption if these are adjacent; None if there is no line."""
    inside = {piece.line for piece in text.inside(expanded(box, 1.5))}
    outside = {one.line for one in text.pieces} - inside - set(own)
    lines = sorted({*inside, *own})
    runs: list[list[int]] = [lines[:1]]
    for line in lines[1:]:
        if any(between in outside for between in range(runs[-1][-1] + 1, line)):
            runs.append([])
        runs[-1].append(line)
    best = max(runs, key=lambda run: len(inside.intersection(run)))
    return (best[0], best[-1]) if best else None


def _uncaptioned(view: _PageView, taken: list[Rect], title_end: float) -> list[_Found]:
    found: list[_Found] = []

    def add(kind: VisualType, box: Rect, lines: tuple[int, int] | None = None) -> None:
        if not any(area(intersection(box, one)) > 0.3 * min(area(box), area(one)) for one in taken):
            found.append(_Found(kind, view.number, box, None, lines))
            taken.append(box)

    tables = list(view.tables)
    for run in _number_tables(view.text):
        near = [one for one in view.tables if area(intersection(run, one)) > 0]
        # A run over several ruled tables does not join them.
        tables = [union((run, one)) if [one] == near else one for one in tables] + ([] if near else [run])
    for box in tables:
        add(VisualType.TABLE, box, _rows(view.text, box, []))
    large = [one for one in view.shapes if _is_large(one) and not figures.is_written(one, view.text)]
    boxes = [figures.with_labels(one.box, view.text, expanded(one.box, 30), set()) for one in large]
    for one, box in sorted(zip(large, boxes, strict=True), key=lambda pair: (pair[1][1], pair[1][0])):
        if box[1] >= title_end:
            add(VisualType.IMAGE if one.pictures else VisualType.DIAGRAM, box)
    return found


def _ruled_tables(
    shapes: Sequence[figures.Shape], table_boxes: Sequence[tuple[int, int, int, int]]
) -> list[Rect]:
    """The boxes of ruled tables in points, with the frames and filled cells around them. `table_boxes` are in tenths of a point."""
    boxes: list[Rect] = []
    for x0, y0, x1, y1 in table_boxes:
        box = (x0 / SCALE, y0 / SCALE, x1 / SCALE, y1 / SCALE)
        around = [one.box for one in shapes if contains(one.box, box) and area(one.box) < _FRAME * area(box)]
        boxes.append(union((box, *around)))
    return boxes


def _number_tables(text: Text) -> list[Rect]:
    """The boxes of tables without ruling lines: runs of rows with two or more numbers in aligned columns."""
    found: list[Rect] = []
    run: list[list[Piece]] = []
    lone = 0
    rows = [list(row) for _, row in groupby(text.pieces, key=attrgetter("line"))]
    for row in [*rows, []]:
        full = len(row) > 2 and _numbers(row) > 1
        near = bool(run and row) and -1 < (row[0].box[1] - run[-1][0].box[3]) / row[0].size < 2.2
        prose = any(one in text.prose and one.box[2] - one.box[0] > 0.55 * text.width for one in row)
        if (full and (near or not run)) or (near and lone < _MAX_LONE and not prose):
            run.append(row)
            lone = 0 if full else lone + 1
        else:
            found += _closed(run, rows)
            run, lone = [row] if full else [], 0
    return found


def _numbers(row: Sequence[Piece]) -> int:
    return sum(_NUMBER.fullmatch(one.text) is not None for one in row)


def _closed(run: list[list[Piece]], rows: list[list[Piece]]) -> list[Rect]:
    """The box around a run of rows and its header rows if the run is a table, else an empty list."""
    while run and len(run[-1]) < 3:
        run.pop()
    full = [row for row in run if _numbers(row) >= 2]
    if len(full) < 3 or len(full) * 10 < 4 * len(run):
        return []
    if any(_CONTENTS.search(one.text) for row in run for one in row):
        return []
    rights = [one.box[2] for row in full for one in row if one.text != "$" and _NUMBER.fullmatch(one.text)]
    aligned = sum(sum(abs(a - b) < 6 for b in rights) >= 3 for a in rights)
    if aligned * 10 < 6 * len(rights):
        return []
    box, heads = _with_heads(run, rows)
    named = sum(any(_NAME.search(one.text) for one in row) for row in full)
    return [box] if heads or named * 10 >= 3 * len(full) else []  # rows of bare numbers are a matrix


def _with_heads(run: list[list[Piece]], rows: list[list[Piece]]) -> tuple[Rect, int]:
    """The box around the run and its header rows, and the number of header rows that name columns.

    A heading of a group of rows may stand between the header rows and the run.
    """
    box = reach = union(one.box for row in run for one in row)
    numbers = min(one.box[0] for row in run for one in row if _NUMBER.fullmatch(one.text))
    left = max(numbers - 40, box[0] + 1)
    before = rows.index(run[0])
    heads = 0
    for row in reversed(rows[max(0, before - _MAX_HEADS) : before]):
        head = union(one.box for one in row)
        near = -1 < (reach[1] - head[3]) / row[0].size < 1.5
        if not near or head[2] > box[2] + 30 or head[0] < box[0] - (40 if len(row) > 2 else 10):
            break
        below, reach = reach, union((reach, head))
        named = _NAME.search(row[0].text) is not None  # excludes lines of dashes
        if head[0] < left and (below != box or (len(row) < 2 and named)):
            if len(row) > 1 or len(row[0].text) > _HEADING:
                break
            continue
        box = reach
        heads += len(row) > 1 and sum(_NAME.search(one.text) is not None for one in row) > 1
    return box, heads


def _is_large(shape: figures.Shape) -> bool:
    """Whether a shape is large enough to be a visual on its own."""
    wide, high = shape.box[2] - shape.box[0], shape.box[3] - shape.box[1]
    sides = (max(wide, high), min(wide, high))
    least = _MIN_PICTURE if shape.pictures else _MIN_DRAWING
    drawn = shape.pictures or (shape.items >= 12 and (shape.curves or shape.items >= 24))
    return bool(drawn) and sides[0] >= least[0] and sides[1] >= least[1] and sides[0] <= _BANNER * sides[1]


def _line_near(view: _PageView, box: Rect) -> int:
    """The number of the first line of text below a box. This number places a visual without text among the other visuals."""
    below = [one.line for one in view.text.pieces if one.box[1] >= box[3] - 2]
    return min(below, default=1 << 30)


def _labelled(found: list[_Found], labels: Labels) -> list[Visual]:
    counts: Counter[tuple[int, str]] = Counter()
    named: set[str] = set()
    visuals: list[Visual] = []
    for one in found:
        if one.caption is not None:
            wanted = one.caption.name
            if wanted.casefold() in named:
                wanted = f"{wanted} (page {one.page})"
        elif one.type is VisualType.PAGE:
            wanted = f"Page {one.page}"
        else:
            word = _UNCAPTIONED_WORDS[one.type]
            counts[one.page, word] += 1
            wanted = f"{word} p{one.page}-{counts[one.page, word]}"
        named.add(wanted.casefold())
        x0, y0, x1, y1 = (round(side, 1) for side in one.box)
        start, end = one.lines or (None, None)
        visual = Visual(
            label=labels.unique(wanted),
            type=one.type,
            page=one.page,
            box=Box(x0=x0, y0=y0, x1=x1, y1=y1),
            caption=one.caption.text if one.caption else "",
            start_line=start,
            end_line=end,
        )
        visuals.append(visual)
    return visuals
