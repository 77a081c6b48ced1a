"""Finds the visuals of a PDF: captioned tables and figures, other tables, pictures, drawings and scanned pages."""

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace

from qagen_dagster.formats.base import Labels, ParseOptions
from qagen_dagster.formats.pdf import figures
from qagen_dagster.formats.pdf.captions import (
    Caption,
    Text,
    area,
    captions_of,
    contains,
    expanded,
    lettering_line,
    pieces_of,
    text_of,
)
from qagen_dagster.formats.pdf.mupdf import Pdf, Rect, intersection, union
from qagen_dagster.formats.pdf.table_boxes import boxes_of_ruled_tables, number_tables
from qagen_dagster.formats.pdf.text import PdfText, read_pages
from qagen_dagster.formats.pdf.visual_regions import Finder, PageView
from qagen_dagster.records.document import Box, PageSpan, Visual, VisualType

MAX_VISUALS = 1_000  # of one document
MAX_WORK = (
    1_000_000  # pieces of text, pictures and paths of one document; pages beyond this limit are not listed
)
_FEW_PATHS = 3_000  # the paths of a page count towards the document's limit only if there are more
_MAX_PATHS = 150_000  # paths on pages with many paths; beyond this limit, such pages are listed as a whole
_MIN_PICTURE = (48.0, 36.0)  # minimum points of the longer and of the shorter side of a picture
_BANNER = 8  # maximum ratio of the longer to the shorter side
_LARGER = 3  # minimum ratio of the area of a drawing to that of a table that is part of it
_BACKGROUND = 0.7  # share of the page; a shape that covers more may be a background
_LEAFLET = (
    2  # pages; in a longer document, what stands above the prose of the first page is a logo or cover art
)
_MIN_DRAWING = (110.0, 70.0)  # minimum points of these sides of a drawing without pictures
_UNCAPTIONED_WORDS = {VisualType.TABLE: "table", VisualType.IMAGE: "image", VisualType.DIAGRAM: "drawing"}


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

    All limits count objects on the pages, not time, so the result does not depend on the load of the machine. If a limit is
    reached, the last entry is a page whose caption names the pages that are missing.

    Raises:
        DocumentError: as `read_pages`.
    """
    search = _Search(pdf, _text_of(pdf, options))
    found = search.run()
    labels = Labels()
    visuals = _labelled(found[:MAX_VISUALS], labels)
    if stopped := found[MAX_VISUALS].page if len(found) > MAX_VISUALS else search.stopped:
        said = f"The list ends here after {len(visuals):,} visuals: pages {stopped} to {pdf.count} may show more."
        label = labels.unique(f"Page {stopped}")
        visuals.append(Visual(label=label, type=VisualType.PAGE, page=stopped, caption=said))
    return tuple(visuals)


def _text_of(pdf: Pdf, options: ParseOptions) -> PdfText:
    """The text whose lines the visuals refer to. If the spans of the stored pages are known, they are used.

    Recognition is limited in time, so another pass over the same scan might stop at another line.
    """
    if len(options.known_pages) != pdf.count:
        return read_pages(pdf, options, keep=True)
    text = read_pages(pdf, replace(options, ocr=False), keep=True)
    text.pages = list(options.known_pages)
    return text


class _Search:
    """Two passes over a document's pages. The first finds repeated marks, the second the visuals of each page."""

    def __init__(self, pdf: Pdf, text: PdfText) -> None:
        self._pdf = pdf
        self._text = text
        self._scanned = {*text.recognised, *text.unreadable}
        self._body = text.body_size / 10 or 10.0  # points
        self._repeats = figures.Repeats()
        self._paths = 0
        self._work = 0
        self.stopped = 0  # the page at which the limit of work was reached; 0 if it was not

    def run(self) -> list[_Found]:
        """All visuals, without labels."""
        paths = 0
        for number in range(self._pdf.count):
            with suppress(Exception):  # a broken page has no repeated marks
                page = self._pdf.page(number)
                marks = page.marks()
                few = marks <= _FEW_PATHS
                self._repeats.add([*page.pictures(), *(page.drawings() if few else [])])
                paths += marks if few else 0
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
            fragments, lines, written = (self._text.kept or {})[span.page]
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
        text = text_of(page.width, page.height, pieces, self._body)
        self._work += len(pieces) + len(pictures) + len(drawings)
        shapes = figures.shapes_on(text, pictures, drawings, self._repeats)
        captions = captions_of(text)
        tables = boxes_of_ruled_tables(shapes, text, written)
        return self._pick(PageView(span.page, text, shapes, captions, tables))

    def _pick(self, view: PageView) -> list[_Found]:
        """The page's visuals from the top down. Visuals with captions claim their content first."""
        found: list[_Found] = []
        finder = Finder(view)
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


def _captioned(view: PageView, caption: Caption, inner: Rect) -> _Found:
    box = union((inner, caption.box))
    own = [piece.line for piece in caption.pieces]
    lines = (min(own), max(own))
    if caption.is_table:
        lines = _rows(view.text, inner, own) or lines
    else:
        lines = (lettering_line(view.text, inner, lines[0]), lines[1])
    kind = VisualType.TABLE if caption.is_table else VisualType.FIGURE
    return _Found(kind, view.number, box, caption, lines)


def _rows(text: Text, box: Rect, own: list[int]) -> tuple[int, int] | None:
    """The first and last line of a table, including the lines of its caption if these are adjacent; None if there are no lines."""
    inside = {piece.line for piece in text.inside(expanded(box, 1.5))}
    outside = {one.line for one in text.pieces} - inside - set(own)
    lines = sorted({*inside, *own})
    runs: list[list[int]] = [[lines[0]]]
    for line in lines[1:]:
        if any(between in outside for between in range(runs[-1][-1] + 1, line)):
            runs.append([])
        runs[-1].append(line)
    best = max(runs, key=lambda run: len(inside.intersection(run)))
    return best[0], best[-1]


def _uncaptioned(view: PageView, taken: list[Rect], title_end: float) -> list[_Found]:
    found: list[_Found] = []

    def add(kind: VisualType, box: Rect, lines: tuple[int, int] | None = None) -> None:
        if not any(area(intersection(box, one)) > 0.3 * min(area(box), area(one)) for one in taken):
            found.append(_Found(kind, view.number, box, None, lines))
            taken.append(box)

    pictures = _pictures(view.shapes, view.text)
    page = view.text.width * view.text.height
    holders = [box for _, box in pictures if area(box) < _BACKGROUND * page]
    for box in _merged([*view.tables, *number_tables(view.text)]):
        held = any(contains(one, box) and area(one) > _LARGER * area(box) for one in holders)
        if not held:
            add(VisualType.TABLE, box, _rows(view.text, box, []))
    for kind, box in pictures:
        if box[1] >= title_end:
            add(kind, box)
    return found


def _merged(boxes: list[Rect]) -> list[Rect]:
    """The boxes; boxes that overlap are joined."""
    found: list[Rect] = []
    for box in boxes:
        near = [one for one in found if area(intersection(box, one)) > 0.3 * min(area(box), area(one))]
        found = [one for one in found if one not in near] + [union((box, *near))]
    return found


def _pictures(shapes: list[figures.Shape], text: Text) -> list[tuple[VisualType, Rect]]:
    """Shapes large enough to be visuals on their own, except boxes around text."""
    large = [one for one in shapes if _is_large(one) and not figures.is_written(one, text)]
    found: list[tuple[VisualType, Rect]] = []
    for row in figures.panels_of(large):
        kind = VisualType.IMAGE if any(one.pictures for one in row) else VisualType.DIAGRAM
        drawn = union(one.box for one in row)
        found.append((kind, figures.with_labels(drawn, text, expanded(drawn, 30), set())))
    return sorted(found, key=lambda one: (one[1][1], one[1][0]))


def _is_large(shape: figures.Shape) -> bool:
    wide, high = shape.box[2] - shape.box[0], shape.box[3] - shape.box[1]
    sides = (max(wide, high), min(wide, high))
    least = _MIN_PICTURE if shape.pictures else _MIN_DRAWING
    drawn = shape.pictures or (shape.items >= 12 and (shape.curves or shape.items >= 24))
    return bool(drawn) and sides[0] >= least[0] and sides[1] >= least[1] and sides[0] <= _BANNER * sides[1]


def _line_near(view: PageView, box: Rect) -> int:
    """The number of the first line of text below a box. It places a box without text among the other visuals."""
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
        visuals.append(_visual(one, labels.unique(wanted)))
    return visuals


def _visual(one: _Found, label: str) -> Visual:
    x0, y0, x1, y1 = (round(side, 1) for side in one.box)
    return Visual(
        label=label,
        type=one.type,
        page=one.page,
        box=Box(x0=x0, y0=y0, x1=x1, y1=y1),
        caption=one.caption.text if one.caption else "",
        start_line=one.lines[0] if one.lines else None,
        end_line=one.lines[1] if one.lines else None,
    )
