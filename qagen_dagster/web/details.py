"""Everything about one question: its evidence in the lines of its document, its visuals, what made it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from qagen_dagster.catalog import stats
from qagen_dagster.errors import DocumentError, StoreError
from qagen_dagster.formats.base import PageImage
from qagen_dagster.ingest.parsing import stored_text
from qagen_dagster.ingest.views import visual_image
from qagen_dagster.loop.catalog.file import catalog_file
from qagen_dagster.records.base import Record
from qagen_dagster.records.document import VisualManifest, VisualType
from qagen_dagster.records.questions.published import (
    PublishedGrade,
    PublishedQuestion,
    PublishedVerdict,
    PublishedVisual,
    RejectedQuestion,
)
from qagen_dagster.records.questions.results import Evidence
from qagen_dagster.web.sets import Question, ReviewSet, attempt_of

CONTEXT = 6  # lines before and after a quote
MOST_LINES = 2_000  # in one answer


class Line(Record):
    """A line of a document. `pieces` are in turn text outside and inside of quotes, beginning outside."""

    number: int
    pieces: tuple[str, ...]


class Detail(Record):
    """One question with its evidence in context. `note` says why the document is not shown."""

    id: str
    source: str
    line_count: int
    note: str
    passages: tuple[tuple[Line, ...], ...]
    evidence: tuple[Evidence, ...]
    visuals: tuple[PublishedVisual, ...]
    reason_detail: str
    duplicate_of: str | None
    verdict: PublishedVerdict | None
    grade: PublishedGrade | None


class Lineage(Record):
    """The models and calls behind a question. `note` says what the catalog does not know."""

    facts: dict[str, str | None]
    calls: tuple[stats.LineageCall, ...]
    note: str = ""


def detail(found: ReviewSet, key: str) -> Detail:
    """Raises StoreError when the set has no such question."""
    one = found.find(key)
    entry = found.documents.get(one.document_id)
    lines, note = _text(found, one)
    return Detail(
        id=key,
        source=entry.source if entry is not None else one.source_document,
        line_count=len(lines),
        note=note,
        passages=tuple(
            marked(lines, one.evidence, first, last) for first, last in windows(one.evidence, len(lines))
        ),
        evidence=one.evidence,
        visuals=_visuals(found, one),
        reason_detail="" if isinstance(one, PublishedQuestion) else _why(one),
        duplicate_of=one.duplicate_of if isinstance(one, RejectedQuestion) else None,
        verdict=one.verdict if isinstance(one, PublishedQuestion | RejectedQuestion) else None,
        grade=one.grade if isinstance(one, PublishedQuestion) else None,
    )


def lines_of(found: ReviewSet, key: str, first: int, last: int) -> tuple[Line, ...]:
    """Lines of the document of a question, at most `MOST_LINES`. Raises StoreError."""
    one = found.find(key)
    lines, _ = _text(found, one)
    first, last = max(1, first), min(last, len(lines), first + MOST_LINES)
    return marked(lines, one.evidence, first, last)


def picture(found: ReviewSet, key: str, page: int, label: str) -> PageImage | None:
    """The page with a frame around the visual called `label`; None if its document has no pages.

    Raises StoreError for an unknown question, and DocumentError when the page cannot be rendered.
    """
    one = found.find(key)
    entry = found.documents.get(one.document_id)
    if entry is None:
        raise DocumentError("corrupt", f"{one.source_document} is no longer in the corpus")
    whole = PublishedVisual(label="", type=VisualType.PAGE, page=page, box=None)
    visual = next((each for each in _visuals(found, one) if each.label == label), whole)
    corpus = found.space.corpus(found.combination.corpus)
    return visual_image(corpus, entry, found.space.parsers(), visual, whole_page=True)


def lineage(found: ReviewSet, key: str) -> Lineage:
    """Models, run, cost and calls of a question, as `qagen show` shows them. Raises StoreError."""
    one = found.find(key)
    try:
        with catalog_file(found.space.store) as file:
            if isinstance(one, PublishedQuestion):
                known = stats.question(file, key)
                return Lineage(facts=_facts(known), calls=known.model_calls)
            calls = stats.attempt_calls(file, found.combination.key, one.document_id, attempt_of(one))
            return Lineage(facts={}, calls=calls)
    except StoreError as error:
        return Lineage(facts={}, calls=(), note=str(error))


def windows(evidence: Iterable[Evidence], count: int) -> list[tuple[int, int]]:
    """The first and last lines to show: each quote with its context; windows that touch are one."""
    found: list[tuple[int, int]] = []
    spans = sorted((one.start_line, one.end_line or one.start_line) for one in evidence if one.start_line)
    for start, end in spans:
        first, last = max(1, start - CONTEXT), min(count, end + CONTEXT)
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        elif first <= last:
            found.append((first, last))
    return found


def marked(lines: Sequence[str], evidence: Iterable[Evidence], first: int, last: int) -> tuple[Line, ...]:
    """Lines `first` to `last` (1-based) with the quotes of `evidence` marked. A quote that is not on its lines is not marked."""
    inside = {number: bytearray(len(lines[number - 1])) for number in range(first, last + 1)}
    for one in evidence:
        if one.start_line is None:
            continue
        block = "\n".join(lines[one.start_line - 1 : one.end_line])
        start = block.find(one.quote)
        if start < 0:
            continue
        end = start + len(one.quote)
        for number, line in enumerate(lines[one.start_line - 1 : one.end_line], one.start_line):
            left, right = max(0, start), min(len(line), end)
            if number in inside and left < right:
                inside[number][left:right] = b"\1" * (right - left)
            start, end = start - len(line) - 1, end - len(line) - 1
    return tuple(
        Line(number=number, pieces=_pieces(lines[number - 1], flags)) for number, flags in inside.items()
    )


def _pieces(line: str, flags: bytearray) -> tuple[str, ...]:
    pieces: list[str] = []
    at, flag = 0, 0
    for place, value in enumerate(flags):
        if value != flag:
            pieces.append(line[at:place])
            at, flag = place, value
    return (*pieces, line[at:])


def _text(found: ReviewSet, one: Question) -> tuple[list[str], str]:
    entry = found.documents.get(one.document_id)
    if entry is None:
        return [], "The document is no longer in the corpus."
    try:
        text = stored_text(found.space.store, found.combination.corpus, entry)
    except StoreError as error:
        return [], str(error)
    return text.split("\n") if text else [], "" if text else "The document has no text."


def _why(one: Question) -> str:
    if isinstance(one, PublishedQuestion):
        return ""
    return one.rejection_detail if isinstance(one, RejectedQuestion) else one.detail


def _visuals(found: ReviewSet, one: Question) -> tuple[PublishedVisual, ...]:
    if isinstance(one, PublishedQuestion) and one.visuals:
        return one.visuals
    labels = {place.visual for place in one.evidence if place.visual}
    key = VisualManifest.key(found.combination.corpus, one.document_id) if labels else None
    manifest = None if key is None else found.space.store.find_valid(key, VisualManifest)
    known = manifest.visuals if manifest is not None else ()
    return tuple(
        PublishedVisual(label=each.label, type=each.type, page=each.page, box=each.box)
        for each in known
        if each.label in labels
    )


def _facts(known: stats.QuestionLineage) -> dict[str, str | None]:
    usd = None if known.usd is None else f"${known.usd:.4f}"
    return {
        "generator": known.generator_model,
        "validator": known.validator_model,
        "profile": known.profile,
        "run": known.run_id,
        "document version": known.document_version,
        "attempt": str(known.attempt),
        "model calls": str(known.calls),
        "tokens": f"{known.input_tokens} in, {known.output_tokens} out",
        "cost": usd,
    }
