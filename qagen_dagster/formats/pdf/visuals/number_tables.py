"""Tables without ruling on a PDF page: rows of numbers in aligned columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from qagen_dagster.formats.pdf.layout import Piece, Text, contains, shared_height, shared_width, union
from qagen_dagster.formats.pdf.mupdf import Rect
from qagen_dagster.formats.pdf.visuals.tables import rows_of

_MAX_LONE = 7  # rows without numbers between rows of numbers
_MAX_HEADS = 4
_HEADING = 40  # characters of a heading of rows between the heads of a table and its first row
_NUMBER = re.compile(
    r"[$\u20ac\u00a3(+\u2212\u2013<>~\u2248-]{0,3}\s?\d[\d.,:/\u00b1\u2013 -]*\s?[%)\u00b0kKMB*\u2020\u2021a-d]{0,3}|[\u2014\u2013-]|\$"
)
_DIGITS = re.compile(r"[\d$\u20ac\u00a3#*_\u2013]+")  # equally wide in most fonts
_NAME = re.compile(r"[^\W\d_]{2}")
_CONTENTS = re.compile(r"(?:\.\s?){5,}")


def number_tables(text: Text, within: Sequence[Piece]) -> list[Rect]:
    """Tables without ruling: runs of rows with two or more numbers in aligned columns."""
    found: list[Rect] = []
    run: list[list[Piece]] = []
    lone = 0
    rows = rows_of(within)
    for row, below in pairwise([*rows, [], []]):
        numbers = _numbers(row)
        near = bool(run) and bool(row) and row[0].box[1] - run[-1][0].box[3] < 2.2 * row[0].size
        if row and len(row) >= 3 and numbers >= 2 and (near or not run):
            run.append(row)
            lone = 0
            continue
        if (
            near
            and lone < _MAX_LONE
            and not (len(row) == 1 and _begins_another(run, row[0], below))
            and not any(one in text.prose and one.box[2] - one.box[0] > 0.55 * text.width for one in row)
        ):
            run.append(row)
            lone += 1
            continue
        found += _closed(run, rows)
        run, lone = ([row], 0) if row and len(row) >= 3 and numbers >= 2 else ([], 0)
    return found


def _begins_another(run: list[list[Piece]], piece: Piece, below: Sequence[Piece]) -> bool:
    """Whether there is more space above the piece than between the rows of the run, and it is no heading of rows."""
    gaps = [under[0].box[1] - above[0].box[3] for above, under in pairwise([*run, [piece]])]
    if gaps[-1] <= 1.5 * gaps[0]:
        return False
    return _is_head(below, run) or (len(below) == 1 and gaps[-1] > piece.size)


def _is_head(row: Sequence[Piece], run: list[list[Piece]]) -> bool:
    """Whether the row names the columns of another table than the run's."""
    left, _, right, _ = union(one.box for above in run for one in above)
    named = any(_NAME.search(one.text) for one in row)
    if len(row) < 3:
        named = (
            named and row[0].box[0] > left + 2 * row[0].size and row[-1].box[2] > right - 0.2 * (right - left)
        )
    return named and not _numbers(row)


def _numbers(row: Sequence[Piece]) -> int:
    return sum(_NUMBER.fullmatch(one.text) is not None for one in row)


def _closed(run: list[list[Piece]], rows: list[list[Piece]]) -> list[Rect]:
    """The box of a run of rows with its heads, if it is a table."""
    run = list(run)
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
    run += _rest(run, rows)
    box, heads = _with_heads(run, rows)
    if _is_part(box, rows):
        return []
    named = sum(any(_NAME.search(one.text) for one in row) for row in full)
    return [box] if heads or named * 10 >= 3 * len(full) else []  # rows of bare numbers are a matrix


def _is_part(box: Rect, rows: list[list[Piece]]) -> bool:
    """Whether a row of cells right above or below shows that the table is longer."""
    cells = [union(one.box for one in row) for row in rows if len(row) > 1]
    return any(
        not contains(box, one)
        and -shared_height(one, box) < 0.8 * (one[3] - one[1])
        and shared_width(one, box) > 0.5 * (one[2] - one[0])
        for one in cells
    )


def is_printed(pieces: Sequence[Piece]) -> bool:
    """Whether all letters are equally wide: this is the output of a program, which is text and often wrapped."""
    words = [one for one in pieces if len(one.text) > 2]
    longest = max(words, key=lambda one: (" " not in one.text, len(one.text)), default=None)
    if longest is None:
        return False
    pitch = (longest.box[2] - longest.box[0]) / (len(longest.text) * longest.size)
    equal = [one for one in words if _is_even(one, pitch)]
    return len({_DIGITS.sub("0", one.text) for one in equal}) > 1 and len(equal) > 0.95 * len(words)


def _is_even(piece: Piece, pitch: float) -> bool:
    """Whether a text is as wide as its letters and a whole number of further spaces between its words."""
    more = (piece.box[2] - piece.box[0]) / (pitch * piece.size) - len(piece.text)
    spaces = max(round(more), 0) if " " in piece.text else 0
    return abs(more - spaces) < 0.1 + 0.005 * len(piece.text)


def _rest(run: list[list[Piece]], rows: list[list[Piece]]) -> list[list[Piece]]:
    """The rows of cells that follow the run at the distance of its rows."""
    if len(run) < 2:
        return []
    gap = max(below[0].box[1] - above[0].box[3] for above, below in pairwise(run[-3:]))
    edges = [(one.box[0], one.box[2]) for row in run[-3:] for one in row]
    found: list[list[Piece]] = []
    last = run[-1]
    for row in rows[rows.index(last) + 1 :]:
        level = row[0].box[1] - last[0].box[3] < min(gap, row[0].size) + 1
        aligned = all(
            any(abs(one.box[0] - left) < 3 or abs(one.box[2] - right) < 3 for left, right in edges)
            for one in row
        )
        if not level or not aligned or len(row) < 2:
            break
        found.append(row)
        last = row
    return found


def _with_heads(run: list[list[Piece]], rows: list[list[Piece]]) -> tuple[Rect, int]:
    """The box around the run and the rows of short texts above it, and how many of these name columns.

    A heading of rows may stand between them and the run.
    """
    box = reach = union(one.box for row in run for one in row)
    numbers = min(one.box[0] for row in run for one in row if _NUMBER.fullmatch(one.text))
    left = max(numbers - 40, box[0] + 1)
    before = rows.index(run[0])
    heads = 0
    for row in reversed(rows[max(0, before - _MAX_HEADS) : before]):
        head = union(one.box for one in row)
        if (
            reach[1] - head[3] > 1.5 * row[0].size
            or head[2] > box[2] + 30
            or head[0] < box[0] - (40 if len(row) > 2 else 10)
        ):
            break
        below, reach = reach, union((reach, head))
        named = _NAME.search(row[0].text) is not None  # it is not a line of dashes
        if head[0] < left and (below != box or (len(row) < 2 and named)):
            if len(row) > 1 or len(row[0].text) > _HEADING:
                break
            continue
        box = reach
        heads += len(row) > 1 and sum(_NAME.search(one.text) is not None for one in row) > 1
    return box, heads
