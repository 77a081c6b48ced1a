"""The generator "rules". It reads with the tools and submits the best new candidate for the scenario. If there is none, it
reports that the document is exhausted.

The embedded models cannot see pictures. In visual mode they ask about table cells and captions, and name the visual.

There are three kinds of questions without an answer. `unanswerable` asks, about a name in the document, for a property that no line mentions.
`false_premise` replaces the number that a question names by a number that the document does not give. `underspecified` asks about a table
cell without the name of its row.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from qagen_dagster.english.words import content_stems, word_set
from qagen_dagster.models.embedded.conversation import (
    Action,
    Conversation,
    Line,
    card,
    document_rows,
    line_total,
    split_frame,
)
from qagen_dagster.models.embedded.questions import extract
from qagen_dagster.models.embedded.questions.candidate import (
    ATTRIBUTES,
    STRUCTURED,
    Candidate,
    Context,
    read_context,
    refusal,
)
from qagen_dagster.models.embedded.text.blocks import Kind, Table, segment, tables
from qagen_dagster.models.embedded.text.grammar import is_english
from qagen_dagster.records.questions.imported import NOT_COVERED

_DESCRIPTION = re.compile(
    r"^What the questions are for\n-+\n(.*?)^(?:Write the kind|A good question)", re.M | re.S
)
_KINDS = (
    (r"\bwhy\b|\bcauses?\b|\breasons?\b|\bexplanations?\b", "why"),
    (r"\btables?\b|\bfigures?\b|\bdefaults?\b|\boptions?\b|\bspecifications?\b|\bvalues?\b", "cell key"),
    (r"\bhow (?:many|much|long|far)\b|\bnumbers?\b|\bsizes?\b|\bamounts?\b|\bfees?\b|\bprices?\b|\blimits?\b|\bquantit", "how_many cell key"),
    (r"\bdates?\b|\bwhen\b|\bdeadlines?\b|\bhours\b|\byears?\b|\bhistor", "when"),
    (r"\bwho\b|\bpersons?\b|\bpeople\b|\boffices?\b|\bauthors?\b", "who"),
)  # fmt: skip
_FAMILIES = tuple((re.compile(pattern, re.IGNORECASE), word_set(families)) for pattern, families in _KINDS)
_WANTED = re.compile(r"^- (unanswerable|false_premise|underspecified): (\d+)$", re.MULTILINE)
_NAME = re.compile(r"(?<=[a-z,] )(?:[A-Z][a-z]{2,} ){1,3}[A-Z][a-z]{2,}\b")
_NUMBER = re.compile(r"(?<![\d,.])\b\d{2,4}\b(?![,.]\d)")
_ROW_OF = re.compile(r" (?:of|for) (?=the |[\"`])")
# Properties of things, persons and places that a reader may miss; a question asks for a property that the document never mentions.
_PROPERTIES = ("phone number", "age", "address", "height")
_SHIFTED = (7, -9, 11, -13)  # differences between a stated number and the number of a false premise
_Made = dict[str, object]  # a question in the form of the tool's arguments


def wanted_families(system_prompt: str) -> frozenset[str]:
    """Families that fit the purpose stated in the prompt; empty if it states none."""
    found = _DESCRIPTION.search(system_prompt)
    purpose = found.group(1) if found else ""
    return frozenset(
        family for pattern, families in _FAMILIES if pattern.search(purpose) for family in families
    )


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

    def is_wanted(self, known: dict[int, Line]) -> bool:
        """Whether the visual may give questions, but some of its lines are not read yet."""
        readable = self.type == "table" or bool(self.caption)
        return readable and self.start_line is not None and not all(one in known for one in self.read)

    @property
    def read(self) -> range:
        """The lines of the visual that the generator reads."""
        start = self.start_line or 1
        return range(start, min(self.end_line or 1, start + MOST_OF_VISUAL) + 1)


def shown(listing: str) -> list[Shown]:
    """The visuals of a listing, in order."""
    found: list[Shown] = []
    for match in _ROW.finditer(listing):
        lines = _LINES.search(match["fields"])
        kind = re.search(r"type: (\w+)", match["fields"])
        caption = re.search(r"caption: (.*)$", match["fields"])
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
    labels: dict[int, str] = {}  # by line: the label of the visual that contains it
    for visual in visuals:
        if visual.start_line is None or visual.end_line is None:
            continue
        numbers = range(visual.start_line, visual.end_line + 1)
        near = [known[number] for number in numbers if number in known]
        if visual.type == "table":
            label = visual.label if _NUMBERED.match(visual.label) else ""
            blocks = segment(near, dict(context.headings))
            named += [replace(table, label=label) for table in tables(blocks)]
            labels.update(dict.fromkeys(numbers, visual.label))
        elif visual.caption:
            found += _of_caption(visual, near, context)
    found += [
        replace(item, visuals=(labels[item.line],))
        for item in extract.cell_questions(named, context, visual=True)
    ]
    return extract.interleave(
        extract.without_rivals(item for item in found if refusal(item, context) is None)
    )


def _of_caption(visual: Shown, lines: Sequence[Line], context: Context) -> Iterator[Candidate]:
    frame = context.frame(table=f"the caption of {visual.label}")
    blocks = [block for block in segment(lines) if block.kind in (Kind.TEXT, Kind.ITEM)]
    labels = [_LABEL.match(block.lines[0].text) for block in blocks]
    without = [
        replace(block, body_column=label.end()) if label else block
        for block, label in zip(blocks, labels, strict=True)
    ]
    for candidate in extract.prose(without):
        yield replace(candidate, frame=frame, visuals=(visual.label,))


_NUMBERED = re.compile(r"^(?:Table|Tab\.) [\dIVXA-Z]")
_LABEL = re.compile(r"^\W{0,3}(?:Figure|Fig\.?|FIGURE|Scheme|Chart|Plate)\s+[\dIVX]+[.:]?\s+")

WINDOW_LINES = 240  # lines that are searched for candidates at a time
HEAD_LINES = 40  # first lines of the document, which name it
MAX_READS = 40  # reads of one attempt, well under the runner's limit on tool calls
READS_PER_TURN = 3
MOST_OF_VISUAL = 120  # lines of a visual that are read after its first line

_MISSING = re.compile(rf"{re.escape(NOT_COVERED)}: (.*)$", re.MULTILINE)
_OTHER_LANGUAGE = "The document is not in English, and the embedded rules ask about English only."
_MODE = re.compile(r"^Mode:\s*(\w+)", re.MULTILINE | re.IGNORECASE)
_EVIDENCE = re.compile(r"\(lines? (\d+)(?:\s*[-\u2013]\s*(\d+))?\)")


def propose(conversation: Conversation) -> list[Action]:
    """Reads on, submits a question or questions without an answer, or reports that the document is exhausted or not in English."""
    if "submit_across" in conversation.tools:  # the rules know no question that needs two documents
        return [Action("submit_across", {"questions": []})]
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
    if "submit_no_answer" in conversation.tools:
        return _without_answer(conversation, known, total, context)
    wanted: list[Action] = []
    full = len(reads) >= MAX_READS
    listed = list(_EVIDENCE.finditer(conversation.prompt))
    resume = int(listed[-1].group(2) or listed[-1].group(1)) + 1 if listed else 1  # after the last evidence
    for numbers in _windows(total, resume):
        gap = [number for number in numbers if number not in known]
        if gap:
            wanted.append(_read(gap[0], gap[-1]))
        elif full or not wanted:
            lines = tuple(known[number] for number in numbers)
            found = extract.candidates(lines, context, wanted_families(conversation.system))
            fresh = _first_fresh(_asked_for_first(found, conversation.prompt), conversation)
            if fresh is not None:
                return [_submit(fresh)]
    return [_exhausted(_summary(known, total))] if full or not wanted else wanted[:READS_PER_TURN]


def _without_answer(
    conversation: Conversation, known: dict[int, Line], total: int, context: Context
) -> list[Action]:
    """Read the document as far as one attempt may, then submit questions without an answer."""
    gaps = (number for number in range(1, total + 1) if number not in known)
    start = next(gaps, None)
    if start is not None and len(conversation.named("read_lines")) < MAX_READS:
        return [_read(start, min(total, start + WINDOW_LINES - 1))]
    lines = tuple(known[number] for number in sorted(known))
    found = extract.interleave(extract.possible(lines, context))
    return [_submit_without_answer(conversation, lines, found, context)]


def _visual(conversation: Conversation) -> list[Action]:
    listings = conversation.named("list_visual_content")
    if not listings:
        return [Action("list_visual_content", {}), _read(1, HEAD_LINES)]
    visuals = shown(listings[-1].text)
    if not visuals:
        return [_exhausted("list_visual_content shows no visual content.")]
    reads = conversation.named("read_lines")
    known = document_rows(reads)
    wanted = [visual.read for visual in visuals if visual.is_wanted(known)]
    if wanted and len(reads) < MAX_READS:
        return [_read(lines.start, lines.stop - 1) for lines in wanted[:READS_PER_TURN]]
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


def _context(conversation: Conversation, known: dict[int, Line]) -> Context:
    return read_context(card(conversation.prompt), [known[number] for number in sorted(known)])


def _windows(total: int, resume: int) -> Iterator[range]:
    """Runs of lines to search: from `resume` to the end, then from the start, so that attempts move through the
    document. A short document is one run."""
    if total <= WINDOW_LINES:
        resume = 1
    for first, end in ((resume, total + 1), (1, min(resume, total + 1))):
        for start in range(first, end, WINDOW_LINES):
            yield range(start, min(start + WINDOW_LINES, end))


def _asked_for_first(found: Sequence[Candidate], prompt: str) -> Sequence[Candidate]:
    """The candidates, first those that share the most words with a question of people. Unchanged if the prompt has no such question."""
    asked = [{*content_stems(question)} for question in _MISSING.findall(prompt)]

    def shared(item: Candidate) -> int:
        words = {*content_stems(f"{item.question} {item.quotes[0].text}")}
        return max(len(words & one) for one in asked)

    return sorted(found, key=shared, reverse=True) if asked else found


def _first_fresh(found: Sequence[Candidate], conversation: Conversation) -> Candidate | None:
    """The first candidate that was not asked or tried before, with or without the name of the document."""
    tried = (str(exchange.arguments.get("question", "")) for exchange in conversation.named("submit_qa"))
    before = "\n".join([conversation.prompt, *tried])
    asked = ((one, one.question if one.family in STRUCTURED else one.asked[1:]) for one in found)
    return next((one for one, words in asked if words not in before), None)


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


def _made(
    kind: str,
    question: str,
    reason: str,
    answer: str,
    *quotes: tuple[str, int],
    readings: Sequence[_Made] = (),
) -> _Made:
    evidence = [{"quote": quote, "start_line": line} for quote, line in quotes]
    fields = {"kind": kind, "question": question, "reason": reason, "answer": answer}
    return {**fields, "evidence": evidence, "readings": list(readings)}


def _submit_without_answer(
    conversation: Conversation, lines: Sequence[Line], found: Sequence[Candidate], context: Context
) -> Action:
    """As many questions of each kind as the prompt requests, without the questions that it lists."""
    rules = {
        "unanswerable": _near_misses(lines, context),
        "false_premise": _other_numbers(found, lines),
        "underspecified": _without_rows(found),
    }
    made: list[_Made] = []
    for kind, count in _WANTED.findall(conversation.prompt):
        fresh = (one for one in rules[kind] if str(one["question"]) not in conversation.prompt)
        made += [one for one, _ in zip(fresh, range(int(count)), strict=False)]
    return Action("submit_no_answer", {"questions": made})


def _near_misses(lines: Sequence[Line], context: Context) -> Iterator[_Made]:
    text = "\n".join(line.text for line in lines)
    words = set(re.findall(r"\w+", text.lower()))
    missing = [one for one in _PROPERTIES if not words & {*one.split()} and one.split()[-1] in ATTRIBUTES]
    names: dict[str, Line] = {}
    for line in lines:
        for name in _NAME.findall(line.text):
            names.setdefault(name, line)
    for number, (name, line) in enumerate(names.items()):
        if missing and not any(word in name for word in (context.title, "According")):
            wanted = missing[number % len(missing)]
            question = f"{context.frame()}what is the {wanted} of {name}?"
            reason = f"{name} is named, and no line gives a {wanted}"
            answer = f"The documents do not give the {wanted} of {name}."
            yield _made("unanswerable", question, f"{reason}.", answer, (line.text.strip(), line.number))


def _other_numbers(found: Sequence[Candidate], lines: Sequence[Line]) -> Iterator[_Made]:
    """A question that names a number, such as a year, asked with a number that the document does not have."""
    text = "\n".join(line.text for line in lines)
    for one in found:
        frame, asked = split_frame(one.question)
        numbers = set(_NUMBER.findall(asked)) if one.family != "cell" else set[str]()
        quotes = (quote for quote in one.quotes if numbers and numbers <= {*_NUMBER.findall(quote.text)})
        quote = next(quotes, None)
        if len(numbers) != 1 or quote is None:
            continue
        (number,) = numbers
        others = (str(int(number) + by) for by in _SHIFTED if int(number) + by > 9)
        other = next((one for one in others if one not in text), "")
        if other:
            question = f"{frame}{asked.replace(number, other)}"
            reason, place = f"It takes {other} for granted.", (quote.text, quote.start_line)
            answer = f"It is {number}, not {other}: {' '.join(quote.text.split())}"
            yield _made("false_premise", question, reason, answer, place)


def _without_rows(found: Sequence[Candidate]) -> Iterator[_Made]:
    """The question for a column of a table without the name of a row, with two rows as readings."""
    columns: dict[str, list[Candidate]] = {}
    for one in found:
        if one.family == "cell":
            frame, asked = split_frame(one.question)
            columns.setdefault(frame + _ROW_OF.split(asked)[0], []).append(one)
    for beginning, cells in columns.items():
        first, second = cells[0], next((one for one in cells if one.answer != cells[0].answer), cells[0])
        if first is second:
            continue
        places = [(one.quotes[0].text, one.line) for one in (first, second)]
        readings: list[_Made] = [
            {"question": one.question, "answer": one.answer, "evidence": {"quote": text, "start_line": line}}
            for one, (text, line) in zip((first, second), places, strict=True)
        ]
        reason = "It does not say which row of the table is meant."
        answer = f"That depends on what is meant: {first.answer} or {second.answer}."
        yield _made("underspecified", f"{beginning}?", reason, answer, *places, readings=readings)
