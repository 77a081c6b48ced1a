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
from qagen_dagster.models.embedded.questions.context import Context, word_counts
from qagen_dagster.models.embedded.questions.extract import interleave, prose
from qagen_dagster.models.embedded.questions.families.cells import cell_questions
from qagen_dagster.models.embedded.questions.filters import refusal, without_rivals
from qagen_dagster.models.embedded.text.blocks import Block, Kind, segment
from qagen_dagster.models.embedded.text.tables import Table, tables

_ROW = re.compile(r"^- (?P<label>[^|]+?)\s*\|(?P<fields>.*)$")
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
    for raw in listing.split("\n"):
        match = _ROW.match(raw.strip())
        if match is None:
            continue
        fields = match.group("fields")
        lines = _LINES.search(fields)
        kind = re.search(r"type: (\w+)", fields)
        caption = re.search(r"caption: (.*)$", fields)
        start = int(lines.group(1)) if lines else None
        end = int(lines.group(2) or lines.group(1)) if lines else None
        found.append(
            Shown(
                match.group("label"),
                kind.group(1) if kind else "",
                caption.group(1).strip() if caption else "",
                start,
                end,
            )
        )
    return found


def visual_candidates(visuals: Sequence[Shown], known: dict[int, Line], context: Context) -> list[Candidate]:
    """Candidates for all visuals whose lines are known."""
    found: list[Candidate] = []
    lines = [known[number] for number in sorted(known)]
    context = replace(context, words=context.words + word_counts(segment(lines)))
    for visual in visuals:
        if visual.start_line is None or visual.end_line is None:
            continue
        near = [known[number] for number in range(visual.start_line, visual.end_line + 1) if number in known]
        if near:
            found += (
                _of_table(visual, near, context)
                if visual.type == "table"
                else _of_caption(visual, near, context)
            )
    return interleave(without_rivals(item for item in found if refusal(item, context) is None))


def _of_table(visual: Shown, lines: Sequence[Line], context: Context) -> Iterator[Candidate]:
    blocks = segment(lines, context.headings)
    for table in tables(blocks):
        numbered = visual.label if _NUMBERED.match(visual.label) else ""
        named: Table = replace(table, label=numbered, caption=visual.caption)
        for candidate in cell_questions([named], context):
            yield replace(candidate, visuals=(visual.label,))


def _of_caption(visual: Shown, lines: Sequence[Line], context: Context) -> Iterator[Candidate]:
    frame = context.frame(table=f"the caption of {visual.label}")
    blocks = [_without_label(block) for block in segment(lines) if visual.caption]
    for candidate in prose([block for block in blocks if block.kind in (Kind.TEXT, Kind.ITEM)]):
        yield replace(candidate, frame=frame, visuals=(visual.label,))


_NUMBERED = re.compile(r"^(?:Table|Tab\.) [\dIVXA-Z]")
_LABEL = re.compile(r"^\W{0,3}(?:Figure|Fig\.?|FIGURE|Scheme|Chart|Plate)\s+[\dIVX]+[.:]?\s+")


def _without_label(block: Block) -> Block:
    match = _LABEL.match(block.lines[0].text)
    return replace(block, body_column=match.end()) if match else block
