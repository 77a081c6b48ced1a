"""The generator "rules": it reads with the tools, submits its best new candidate, and reports exhaustion."""

from __future__ import annotations

import re
from collections.abc import Iterator

from qagen_dagster.models.embedded.conversation import (
    Action,
    Conversation,
    Line,
    card,
    document_rows,
    line_total,
)
from qagen_dagster.models.embedded.questions.candidate import Candidate
from qagen_dagster.models.embedded.questions.context import Context, read_context
from qagen_dagster.models.embedded.questions.extract import candidates
from qagen_dagster.models.embedded.questions.families.visual import Shown, shown, visual_candidates
from qagen_dagster.models.embedded.questions.purpose import by_purpose, wanted_families
from qagen_dagster.models.embedded.text.language import is_english

WINDOW_LINES = 240
HEAD_LINES = 40
MAX_READS = 40  # reads of one attempt, well under the runner's limit on tool calls
READS_PER_TURN = 3
MAX_ACRONYMS = 4  # questions about abbreviations in one document

_OTHER_LANGUAGE = "The document is not in English, and the embedded rules ask about English only."
_MODE = re.compile(r"^Mode:\s*(\w+)", re.MULTILINE | re.IGNORECASE)
_EVIDENCE = re.compile(r"\(lines? (\d+)(?:\s*[-\u2013]\s*(\d+))?\)")


def propose(conversation: Conversation) -> list[Action]:
    """Read on, submit a question found by patterns of structure and grammar, or report exhaustion. English only."""
    mode = _MODE.search(conversation.prompt)
    if mode is not None and mode.group(1).lower() == "visual":
        return _visual(conversation)
    return _textual(conversation)


def _textual(conversation: Conversation) -> list[Action]:
    reads = conversation.named("read_lines")
    if not reads:
        return [_read(1, WINDOW_LINES)]
    total = line_total(reads)
    if total is None:
        return [_exhausted("The document cannot be read: " + reads[-1].text[:200])]
    known = document_rows(reads)
    if not is_english("\n".join(known[number].text for number in sorted(known)[:WINDOW_LINES])):
        return [_exhausted(_OTHER_LANGUAGE)]
    context = _context(conversation, known)
    wanted: list[Action] = []
    full = len(reads) >= MAX_READS
    for numbers in _windows(total, _resume_line(conversation.prompt)):
        gap = [number for number in numbers if number not in known]
        if gap:
            wanted.append(_read(gap[0], gap[-1]))
        elif full or not wanted:
            lines = tuple(known[number] for number in numbers)
            fresh = _first_fresh(candidates(lines, context), conversation)
            if fresh is not None:
                return [_submit(fresh)]
    return [_exhausted(_summary(known, total))] if full or not wanted else wanted[:READS_PER_TURN]


def _visual(conversation: Conversation) -> list[Action]:
    listings = conversation.named("list_visual_content")
    if not listings:
        return [Action("list_visual_content", {}), _read(1, HEAD_LINES)]
    visuals = shown(listings[-1].text)
    if not visuals:
        return [_exhausted("list_visual_content shows no visual content.")]
    reads = conversation.named("read_lines")
    known = document_rows(reads)
    wanted = [visual for visual in visuals if _wanted(visual, known)]
    if wanted and len(reads) < MAX_READS:
        return [_read(_start(visual), _end(visual)) for visual in wanted[:READS_PER_TURN]]
    if not is_english("\n".join(known[number].text for number in sorted(known))):
        return [_exhausted(_OTHER_LANGUAGE)]
    context = _context(conversation, known)
    fresh = _first_fresh(visual_candidates(visuals, known, context), conversation)
    if fresh is not None:
        return [_submit(fresh)]
    return [
        _exhausted(
            f"The embedded rules cannot see pictures. Of {len(visuals)} visuals they asked what table cells and captions "
            "tell in the document's structure; nothing more can be asked that way."
        )
    ]


def _start(visual: Shown) -> int:
    return visual.start_line or 1


def _end(visual: Shown) -> int:
    return min(visual.end_line or 1, _start(visual) + 120)


def _wanted(visual: Shown, known: dict[int, Line]) -> bool:
    """Whether the structure may give questions and the lines are not read yet."""
    readable = visual.type == "table" or bool(visual.caption)
    return (
        readable
        and visual.start_line is not None
        and not all(number in known for number in range(_start(visual), _end(visual) + 1))
    )


def _context(conversation: Conversation, known: dict[int, Line]) -> Context:
    head = [known[number] for number in range(1, HEAD_LINES + 1) if number in known]
    return read_context(card(conversation.prompt), head)


def _resume_line(prompt: str) -> int:
    """The line after the last evidence the prompt lists; 1 if it lists none."""
    found = list(_EVIDENCE.finditer(prompt))
    return int(found[-1].group(2) or found[-1].group(1)) + 1 if found else 1


def _windows(total: int, resume: int) -> Iterator[range]:
    """Runs of lines to search: from `resume` to the end, then from the start, so that attempts move through the document.

    A short document is one run.
    """
    if total <= WINDOW_LINES:
        resume = 1
    for first, end in ((resume, total + 1), (1, min(resume, total + 1))):
        for start in range(first, end, WINDOW_LINES):
            yield range(start, min(start + WINDOW_LINES, end))


def _first_fresh(
    found: tuple[Candidate, ...] | list[Candidate], conversation: Conversation
) -> Candidate | None:
    said = conversation.prompt
    ordered = by_purpose(found, wanted_families(conversation.system))
    tried = {str(exchange.arguments.get("question", "")) for exchange in conversation.named("submit_qa")}
    enough = said.count(" stand for?") >= MAX_ACRONYMS
    return next(
        (
            item
            for item in ordered
            if item.question not in said
            and item.question not in tried
            and not (enough and item.family == "acronym")
        ),
        None,
    )


def _read(start: int, end: int) -> Action:
    return Action("read_lines", {"start_line": start, "end_line": end})


def _submit(candidate: Candidate) -> Action:
    evidence = [{"quote": quote.text, "start_line": quote.start_line} for quote in candidate.quotes]
    arguments: dict[str, object] = {
        "question": candidate.question,
        "answer": candidate.answer,
        "evidence": evidence,
        "question_type": candidate.question_type,
    }
    if candidate.visuals:
        arguments["visuals"] = list(candidate.visuals)
    return Action("submit_qa", arguments)


def _exhausted(reason: str) -> Action:
    return Action("report_exhausted", {"reason": reason})


def _summary(known: dict[int, Line], total: int) -> str:
    looked = "the whole document" if len(known) >= total else f"{len(known)} of {total} lines"
    return (
        f"The embedded rules looked at {looked}: no further sentence, labelled line or table cell gives a "
        "question that is fluent, self-contained and has one answer."
    )
