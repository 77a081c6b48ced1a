"""Writes tables of JATS articles as rows of text, one row a line: `| a | b |`.

Header rows are merged: the name of a column consists of its different header cells, top to bottom, joined by " / ". A cell that spans
rows is repeated in each row, so that every row can be read alone. A body cell that spans columns is written in the first of these columns.
"""

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.jats.inline import Element, local, named, segments

_MAX_COLUMNS = 400
_MAX_CELLS = 400_000
_ROWS = ("tr", "row")
_CELLS = ("td", "th", "entry")


def table_rows(table: Element) -> list[str]:
    """The lines of a `table` element, or of an OASIS `tgroup`; an empty list if no cell has text."""
    head, groups = _split(table)
    columns = {name: at for at, one in enumerate(named(table, "colspec")) if (name := one.get("colname"))}
    heads = _laid_out(head, columns, repeat_columns=True)
    bodies = [row for group in groups for row in _laid_out(group, columns, repeat_columns=False)]
    width = max((max(row, default=-1) + 1 for row in (*heads, *bodies)), default=0)
    used = [at for at in range(width) if any(row.get(at) for row in (*heads, *bodies))]
    lines: list[str] = []
    if heads and used:
        lines.append(_line([_stacked(heads, at) for at in used]))
        lines.append("|" + "---|" * len(used))
    lines.extend(_line([row.get(at, "") for at in used]) for row in bodies if any(row.values()))
    return lines


def _split(table: Element) -> tuple[list[Element], list[list[Element]]]:
    """The rows of the header, and of each group of the body. Without a `thead`, the first rows that consist only of `th` are the header."""
    head = [row for part in named(table, "thead") for row in named(part, *_ROWS)]
    groups = [named(part, *_ROWS) for part in (table, *named(table, "tbody"), *named(table, "tfoot"))]
    groups = [group for group in groups if group]
    while groups and (not _has_text(head) if head else _all_headers(groups[0][0])):
        head, groups = [groups[0][0]], [group for group in (groups[0][1:], *groups[1:]) if group]
    return head, groups


def _all_headers(row: Element) -> bool:
    cells = named(row, *_CELLS)
    return bool(cells) and all(local(cell) == "th" for cell in cells)


def _has_text(rows: list[Element]) -> bool:
    return any(_cell(cell) for row in rows for cell in named(row, *_CELLS))


def _laid_out(rows: list[Element], columns: dict[str, int], *, repeat_columns: bool) -> list[dict[int, str]]:
    """The cells of rows by column. `columns` has the numbers of the columns to which the cells of an OASIS table refer by name."""
    grid = [dict[int, str]() for _ in rows]
    cells = 0
    for at, row in enumerate(rows):
        column = 0
        for cell in named(row, *_CELLS):
            column = columns.get(cell.get("namest") or cell.get("colname") or "", column)
            while column in grid[at]:
                column += 1
            if column >= _MAX_COLUMNS:
                break
            last = columns.get(cell.get("nameend") or "", column)
            wide = max(_span(cell, "colspan", _MAX_COLUMNS - column), last - column + 1)
            high = _span(cell, "rowspan", len(rows) - at, extra=_span(cell, "morerows", len(rows), least=0))
            text = _cell(cell)
            cells += high * wide
            if cells > _MAX_CELLS:
                raise DocumentError("too_large", f"a table of more than {_MAX_CELLS:,} cells")
            for down in range(high):
                for right in range(wide):
                    grid[at + down][column + right] = text if right == 0 or repeat_columns else ""
            column += wide
    return grid


def _span(cell: Element, name: str, most: int, *, least: int = 1, extra: int = 0) -> int:
    stated = (cell.get(name) or "").strip()
    value = int(stated) if stated.isascii() and stated.isdigit() and len(stated) < 7 else least
    value = most if name == "rowspan" and not value else value
    return max(least, min(value + extra, most))


def _cell(cell: Element) -> str:
    return "; ".join(filter(None, segments(cell))).replace("|", "\\|")


def _stacked(rows: list[dict[int, str]], column: int) -> str:
    return " / ".join(filter(None, dict.fromkeys(row.get(column, "") for row in rows)))


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
