"""Cells of several lines: whether a line goes on with the cell above it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from qagen_dagster.formats.pdf.fragments import Fragments

SAME = 25  # tenths of a point between edges or lines that count as one


def breadth(f: Fragments, line: Sequence[int]) -> int:
    """The width of fragments that stand side by side."""
    if len(line) == 1:
        return f.x1[line[0]] - f.x0[line[0]]
    return max([f.x1[n] for n in line]) - min([f.x0[n] for n in line])


def goes_on(f: Fragments, above: Sequence[int], below: Sequence[int], width: int) -> bool:
    """Whether a line is the next one of a cell: its first word had no room after the words above it.

    `width` is that of the widest line of the column.
    """
    return (
        abs(f.x0[below[0]] - f.x0[above[0]]) < SAME
        and not has_room(f, above, below, width)
        and has_words(f, above)
    )


def has_room(f: Fragments, above: Sequence[int], below: Sequence[int], width: int) -> bool:
    """Whether the first word of a line had room in the line above it."""
    first = min(below, key=f.x0.__getitem__)
    text = f.text[first]
    word = (f.x1[first] - f.x0[first]) * len(text.partition(" ")[0]) // len(text)
    return breadth(f, above) + word + f.size[first] // 2 < width


def has_words(f: Fragments, line: Sequence[int]) -> bool:
    """Whether a line of a cell has several words."""
    words = " ".join(f.text[n] for n in line).split()
    return sum(sum(map(str.isalpha, word)) > 1 for word in words) > 1


def begins_within(f: Fragments, line: Sequence[int]) -> bool:
    """Whether a line begins within a sentence: in lower case or with a bracket. Names of rows seldom do."""
    first = f.text[line[0]][:1]
    return first.islower() or first == "("


def unbroken(lines: Iterable[str]) -> str:
    """The lines of a cell as one, with hyphenated words rejoined."""
    parts: list[str] = []
    for line in lines:
        last = parts[-1] if parts else ""
        if last.endswith("-") and last[-2:-1].isalpha() and line[:1].islower():
            parts[-1] = last[:-1]
        elif parts:
            parts.append(" ")
        parts.append(line)
    return "".join(parts)
