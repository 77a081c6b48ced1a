"""A writer that collects the lines of an article and records where headings and visuals stand."""

from __future__ import annotations

from collections.abc import Sequence

from qagen_dagster.formats.labels import Labels, caption_label
from qagen_dagster.formats.wrap import wrap
from qagen_dagster.records.document import Section, Visual, VisualType

_MAX_CAPTION = 2_000
_MAX_LABEL = 80
_MAX_LEVEL = 6


class Writer:
    """Collects lines; an empty line separates blocks."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.sections: list[Section] = []
        self.visuals: list[Visual] = []
        self.blocks = 0  # blocks of running text, without headings
        self._labels = Labels()
        self._item_end = -1

    def heading(self, title: str, level: int) -> None:
        """A heading on a line of its own."""
        if title:
            start = self._block([title])
            self.sections.append(Section(title=title, level=min(level, _MAX_LEVEL), start_line=start))

    def paragraph(self, text: str) -> int | None:
        """Write a paragraph, broken at sentence ends. Return its first line; None when there is no text."""
        return self.block(wrap(text))

    def mark(self) -> tuple[int, int, int]:
        """The current position, for `back_unless_text`."""
        return self.count, len(self.sections), self.blocks

    def close_headings(self, mark: tuple[int, int, int]) -> None:
        """End the headings written since `mark` with the last line: what follows is not under them."""
        for place in range(mark[1], len(self.sections)):
            self.sections[place] = self.sections[place].model_copy(update={"end_line": self.count})

    def drop_empty_headings(self, mark: tuple[int, int, int]) -> None:
        """Remove the headings written since `mark` if no text followed them."""
        lines, sections, blocks = mark
        if self.blocks == blocks:
            del self.lines[lines:], self.sections[sections:]

    def item(self, text: str, *, first: str, rest: str) -> None:
        """Write a list item; it follows the item before it without an empty line."""
        lines = wrap(text)
        if not lines:
            return
        marked = [first + lines[0], *(rest + line for line in lines[1:])]
        self.blocks += 1
        if self._item_end == self.count:
            self.append(marked)
        else:
            self._block(marked)
        self._item_end = self.count

    def block(self, lines: Sequence[str]) -> int | None:
        """Write lines unchanged, as one block."""
        if not lines:
            return None
        self.blocks += 1
        return self._block(lines)

    def append(self, lines: Sequence[str]) -> None:
        """Append lines to the last block."""
        self.lines.extend(lines)

    @property
    def count(self) -> int:
        """Number of lines so far."""
        return len(self.lines)

    def visual(
        self,
        kind: VisualType,
        label: str,
        caption: str,
        start: int,
        *,
        reference: str | None = None,
    ) -> None:
        """Record a visual that extends from line `start` to the last line written."""
        name = _name(label) or f"{kind.value} at line {start}"
        if len(caption) > _MAX_CAPTION:
            caption = caption[: _MAX_CAPTION - 1].rsplit(" ", 1)[0] + "…"
        self.visuals.append(
            Visual(
                label=self._labels.unique(name),
                type=kind,
                caption=caption,
                reference=reference,
                start_line=start,
                end_line=self.count,
            )
        )

    def _block(self, lines: Sequence[str]) -> int:
        if self.lines:
            self.lines.append("")
        self.lines.extend(lines)
        return self.count - len(lines) + 1


def _name(label: str) -> str:
    """The label as a name: "Fig 1" becomes "Figure 1"; "Figure 1-figure supplement 2" stays."""
    short = caption_label(label)
    if len(label.split()) == 2 and short:
        return short
    return label if len(label) <= _MAX_LABEL else short
