"""Tables on a PDF page: found by their ruling lines, by level rules alone, or by rows of cells.

What belongs here: boxes of tables. What does not: captions (`pdf_captions.py`), choosing among boxes (`pdf_regions.py`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from qagen_dagster.formats.pdf_figures import Shown
from qagen_dagster.formats.pdf_layout import Piece, Text, abreast, area, beside, common, grown, holds, union
from qagen_dagster.formats.pdf_library import Page, Rect, Table

MAX_MARKS = 3_000  # paths on a page beyond which looking for ruled tables takes too long
_MIN_RULED = 3  # level lines or boxes that a ruled table has at least
_NUMBER = re.compile(
    r"[$\u20ac\u00a3(+\u2212\u2013<>~\u2248-]{0,3}\s?\d[\d.,:/\u00b1\u2013 -]*\s?[%)\u00b0kKMB*\u2020\u2021a-d]{0,3}|[\u2014\u2013-]|\$"
)
_CONTENTS = re.compile(r"(?:\.\s?){5,}")


def ruled_tables(page: Page, marks: int, shown: Shown, text: Text) -> list[Rect]:
    """Tables whose cells are ruled or boxed, without frames around prose, page borders and empty forms."""
    if marks > MAX_MARKS or not _may_have_table(shown, text):
        return []
    tables = [one for one in page.tables() if _is_table(one, text)]
    tables.sort(key=lambda one: -area(one.box))
    boxes: list[Rect] = []
    for one in tables:
        if not any(area(common(one.box, box)) > 0.5 * area(one.box) for box in boxes):
            boxes.append(one.box)
    return sorted(boxes, key=lambda box: (box[1], box[0]))


def _may_have_table(shown: Shown, text: Text) -> bool:
    """Cheap: whether there is a shape of lines that holds several short texts."""
    for shape in shown.shapes:
        if shape.items < _MIN_RULED or shape.pictures > 3:
            continue
        inside = [one for one in text.pieces if holds(shape.box, one.box)]
        if len(inside) >= 4 and sum(one in text.prose for one in inside) < 0.8 * len(inside):
            return True
    return False


def _is_table(table: Table, text: Text) -> bool:
    cells = table.rows * table.columns
    if table.rows < 2 or table.columns < 2 or table.filled < 4 or table.filled < 0.3 * cells:
        return False
    wide, high = table.box[2] - table.box[0], table.box[3] - table.box[1]
    if wide < 50 or high < 16:
        return False
    whole = wide > 0.9 * text.width and high > 0.85 * text.height
    if whole and table.filled < 0.6 * cells:
        return False
    inside = [one for one in text.pieces if holds(table.box, one.box)]
    if len(inside) < 3:
        return False
    broad = sum(one in text.prose and one.box[2] - one.box[0] > 0.7 * wide for one in inside)
    return broad * 2 < len(inside)


def between_rules(caption: Rect, shown: Shown, text: Text, stops: Sequence[Rect], *, up: bool) -> Rect | None:
    """The table set between level rules next to a caption, as in books; None if there are none."""
    rules = sorted(
        (rule for rule in shown.rules if beside(rule, caption) > 0.3 * min(_wide(caption), _wide(rule))),
        key=lambda rule: -rule[1] if up else rule[1],
    )
    rules = [rule for rule in rules if (rule[3] <= caption[1] + 4 if up else rule[1] >= caption[3] - 4)]
    if not rules or _gap(caption, rules[0]) > 55:
        return None
    wide = max(rules[:2], key=_wide)
    chosen = [rules[0]]
    for rule in rules[1:]:
        same = rule[0] > wide[0] - 6 and rule[2] < wide[2] + 6
        part = union((chosen[-1], rule))
        if not same or _is_parted(part, stops, text):
            break
        chosen.append(rule)
    while len(chosen) > 1 and _wide(chosen[-1]) < 0.8 * _wide(wide):
        chosen.pop()
    box = union(chosen)
    if len(chosen) < 2 or box[3] - box[1] < 12:
        return None
    inside = [one.box for one in text.pieces if holds(grown(box, 2), one.box)]
    return union((box, *inside)) if len(inside) >= 3 else None


def _is_parted(part: Rect, stops: Sequence[Rect], text: Text) -> bool:
    """Whether a caption or a paragraph stands between two rules."""
    if any(holds(part, stop) for stop in stops):
        return True
    prose = [one for one in text.prose if holds(part, one.box)]
    broad = sum(_wide(one.box) > 0.8 * _wide(part) for one in prose)
    narrow = sum(_wide(one.box) > 0.35 * _wide(part) for one in prose)
    rows = len({one.line for one in text.pieces if holds(part, one.box)})
    return broad >= 4 or (part[3] - part[1] > 200 and narrow * 10 > 9 * rows)


def _wide(box: Rect) -> float:
    return box[2] - box[0]


def _gap(a: Rect, b: Rect) -> float:
    return -abreast(a, b)


def rows_of(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Pieces side by side, from the top down."""
    rows: list[list[Piece]] = []
    for piece in sorted(pieces, key=lambda one: one.box[1] + one.box[3]):
        middle = (piece.box[1] + piece.box[3]) / 2
        if rows and rows[-1][0].box[1] < middle < rows[-1][0].box[3]:
            rows[-1].append(piece)
        else:
            rows.append([piece])
    return rows


def cells_beside(caption: Rect, pieces: Sequence[Piece], *, up: bool) -> Rect | None:
    """The rows of short texts that begin right below (or end right above) a caption; None if there are none."""
    rows = rows_of(pieces)
    if up:
        rows.reverse()
    edge = caption[1] if up else caption[3]
    taken: list[list[Piece]] = []
    for row in rows:
        box = union(one.box for one in row)
        gap = edge - box[3] if up else box[1] - edge
        if gap > (3.0 if taken else 4.0) * row[0].size:
            break
        taken.append(row)
        edge = box[1] if up else box[3]
    several = sum(len(row) > 1 for row in taken)
    if len(taken) < 2 or several * 10 < 4 * len(taken):
        return None
    while len(taken[-1]) == 1 and len(taken) > 2:
        taken.pop()
    return union(one.box for row in taken for one in row)


def number_tables(text: Text, within: Sequence[Piece]) -> list[Rect]:
    """Tables without ruling: runs of rows that have two numbers or more in columns below each other."""
    found: list[Rect] = []
    run: list[list[Piece]] = []
    lone = 0
    for row in [*rows_of(within), []]:
        numbers = _numbers(row)
        near = bool(run) and bool(row) and row[0].box[1] - run[-1][0].box[3] < 2.2 * row[0].size
        if row and len(row) >= 3 and numbers >= 2 and (near or not run):
            run.append(row)
            lone = 0
            continue
        if run and near and lone < 2 and not any(one in text.prose for one in row):
            run.append(row)
            lone += 1
            continue
        found += _closed(run[: len(run) - lone])
        run, lone = ([row], 0) if row and len(row) >= 3 and numbers >= 2 else ([], 0)
    return found


def _numbers(row: Sequence[Piece]) -> int:
    return sum(_NUMBER.fullmatch(one.text) is not None for one in row)


def _closed(run: list[list[Piece]]) -> list[Rect]:
    full = [row for row in run if _numbers(row) >= 2]
    if len(full) < 3 or any(_CONTENTS.search(one.text) for row in run for one in row):
        return []
    rights = [one.box[2] for row in full for one in row if _NUMBER.fullmatch(one.text)]
    aligned = sum(sum(abs(a - b) < 6 for b in rights) >= 3 for a in rights)
    if aligned * 10 < 6 * len(rights):
        return []
    return [union(one.box for row in run for one in row)]
