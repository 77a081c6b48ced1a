"""Visual mode: questions about tables and captioned figures from the document's structure.

The embedded models cannot see pictures. They ask about cells and captions and name the visual, then report that the
document is exhausted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from qagen_dagster.models.embedded.conversation import Line
from qagen_dagster.models.embedded.questions.candidate import Candidate
from qagen_dagster.models.embedded.questions.context import Context
from qagen_dagster.models.embedded.questions.extract import interleave, prose
from qagen_dagster.models.embedded.questions.families.cells import cell_questions
from qagen_dagster.models.embedded.questions.filters import refusal, without_rivals
from qagen_dagster.models.embedded.text.blocks import Block, Kind, segment
from qagen_dagster.models.embedded.text.tables import Table, tables

_ROW = re.compile(r"^[ \t]*- (?P<label>[^|\n]+?)\s*\|(?P<fields>.*)$", re.MULTILINE)
_LINES = re.compile(r"lines?: (\d+)(?:-(\d+))?")


@dataclass(frozen=True)
class Shown:
    """One row of list_visual_content."""

    label: str
    type: str
    caption: str
    start_line: int | None
    end_line: int | None


def shown(listing: str) -> list[Shown]:
    """The visuals of a listing, in order."""
    found: list[Shown] = []
    for match in _ROW.finditer(listing):
        lines = _LINES.search(match["fields"])
        kind, caption = (
            re.search(r"type: (\w+)", match["fields"]),
            re.search(r"caption: (.*)$", match["fields"]),
        )
        start = int(lines[1]) if lines else None
        end = int(lines[2] or lines[1]) if lines else None
        found.append(
            Shown(match["label"], kind[1] if kind else "", caption[1].strip() if caption else "", start, end)
        )
    return found


def visual_candidates(visuals: Sequence[Shown], known: dict[int, Line], context: Context) -> list[Candidate]:
    """Candidates for all visuals whose lines are known."""
    found: list[Candidate] = []
    named: list[Table] = []
    labels: dict[int, str] = {}  # of the visual to which a line belongs
    for visual in visuals:
        if visual.start_line is None or visual.end_line is None:
            continue
        numbers = range(visual.start_line, visual.end_line + 1)
        near = [known[number] for number in numbers if number in known]
        if visual.type == "table":
            label = visual.label if _NUMBERED.match(visual.label) else ""
            blocks = segment(near, dict(context.headings))
            named += [replace(table, label=label, caption=visual.caption) for table in tables(blocks)]
            labels.update(dict.fromkeys(numbers, visual.label))
        elif visual.caption:
            found += _of_caption(visual, near, context)
    found += [replace(item, visuals=(labels[item.line],)) for item in cell_questions(named, context)]
    return interleave(without_rivals(item for item in found if refusal(item, context) is None))


def _of_caption(visual: Shown, lines: Sequence[Line], context: Context) -> Iterator[Candidate]:
    frame = context.frame(table=f"the caption of {visual.label}")
    blocks = [_without_label(block) for block in segment(lines)]
    for candidate in prose([block for block in blocks if block.kind in (Kind.TEXT, Kind.ITEM)]):
        yield replace(candidate, frame=frame, visuals=(visual.label,))


_NUMBERED = re.compile(r"^(?:Table|Tab\.) [\dIVXA-Z]")
_LABEL = re.compile(r"^\W{0,3}(?:Figure|Fig\.?|FIGURE|Scheme|Chart|Plate)\s+[\dIVX]+[.:]?\s+")


def _without_label(block: Block) -> Block:
    match = _LABEL.match(block.lines[0].text)
    return replace(block, body_column=match.end()) if match else block
