"""Why candidates were rejected: a short table, a report with a paragraph for each, and links to the lines of the documents."""

from collections.abc import Iterator, Sequence

import dagster as dg

from qagen_dagster.defs.metadata import Metadata, cell, markdown_table
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.document import Document
from qagen_dagster.records.ids import Combination, question_id
from qagen_dagster.records.questions.results import Evidence, RejectedQA, RejectionReason

MOST_SHOWN = 50  # maximum number of rejections in the report
_MOST_LINES = 12  # of a document, under one rejection
_LINE, _FACT = 1_000, 600  # maximum characters of a line of a document, and of another text
_HAPPENED = {
    RejectionReason.VALIDATION_FAILED: "The question was not compared with similar ones",
    RejectionReason.DUPLICATE: "The question asks the same as another one",
    RejectionReason.UNANSWERABLE: "The validator read the document and found no answer",
    RejectionReason.WRONG_ANSWER: "The validator read the document and found another answer",
    RejectionReason.AMBIGUOUS: "The question can be understood in more than one way",
    RejectionReason.FALSE_PREMISE: "The question takes for granted what the document denies",
    RejectionReason.TRIVIAL: "The question can be answered without the document",
    RejectionReason.IRRELEVANT: "The question does not fit the scenario or its type",
    RejectionReason.EVIDENCE_NOT_FOUND: "The evidence is not in the document",
    RejectionReason.ANSWER_NOT_SUPPORTED: "The evidence does not contain the answer",
    RejectionReason.NOT_SELF_CONTAINED: "The question does not tell its reader what it is about",
    RejectionReason.GENERATION_FAILED: "The generator did not propose a question that can be used",
    RejectionReason.VALIDATOR_FAILED: "The validator did not decide",
    RejectionReason.ANSWERABLE_FROM_TEXT: "The question can be answered without looking at a picture",
    RejectionReason.ANSWERABLE: "A document answers a question that was meant to have no answer",
    RejectionReason.NOT_MULTI_HOP: "The question can be answered without a second passage",
    RejectionReason.UNGROUNDED: "The document does not support the answer",
    RejectionReason.NOT_WANTED: "The mix wants no more questions of this kind",
    RejectionReason.REJECTED_BY_REVIEWER: "A reviewer rejected the question",
    RejectionReason.EDITED_BY_REVIEWER: "A reviewer edited the question",
}


def of_rejected(
    space: Workspace, combination: Combination, rejected: Sequence[RejectedQA], verb: str
) -> Metadata:
    """The table, and if anything was rejected, the report and the links. Their labels contain `verb`: "rejected" or "removed"."""
    ids = [question_id(combination, one.document_id, one.question, one.answer) for one in rejected]
    rows = [
        (name, one.rejection_reason.value, one.question, place_of(one.document_id, one.evidence))
        for name, one in zip(ids, rejected, strict=True)
    ]
    shown: Metadata = {f"{verb}_questions": markdown_table(("id", "reason", "question", "document"), rows)}
    if rejected:
        numbered = list(enumerate(zip(ids, rejected, strict=True), 1))[:MOST_SHOWN]
        cases = [_case(space, combination, number, name, one) for number, (name, one) in numbered]
        if len(rejected) > len(cases):
            cases.append(f"... and {len(rejected) - len(cases)} more: `qagen questions --outcome rejected`")
        shown[f"why_{verb}"] = dg.MetadataValue.md("\n\n---\n\n".join(cases))
        shown |= _links(space, combination.corpus, [(number, one) for number, (_, one) in numbered], verb)
    return shown


def _case(space: Workspace, combination: Combination, number: int, name: str, one: RejectedQA) -> str:
    """One rejection in the report: the reason, the question and its answer, and the lines of the document."""
    parts = [f"**{number}. {name}: {_HAPPENED[one.rejection_reason]}** (`{one.rejection_reason.value}`)"]
    facts = {
        "Asked": one.question,
        "Proposed answer": one.answer,
        "Finding": one.rejection_detail,
        "The other question": one.duplicate_of,
    }
    parts += [f"**{label}:** {cell(fact, _FACT)}" for label, fact in facts.items() if fact]
    lines = list(_lines(space, combination.corpus, one)) or [
        cell(place.quote, _LINE) for place in one.evidence
    ]
    if lines:
        parts.append(f"**The document says** ({cell(place_of(one.document_id, one.evidence))}):")
        parts.append("\n".join(f"> {line}\\" for line in lines).removesuffix("\\"))
    parts.append(f"`qagen questions {name}`")
    return "\n\n".join(parts)


def _lines(space: Workspace, corpus: str, one: RejectedQA) -> Iterator[str]:
    """The lines of the quotes, with their numbers in bold, and the lines directly before and after them."""
    quoted = {
        number
        for place in one.evidence
        if place.start_line is not None and place.end_line is not None
        for number in range(place.start_line, place.end_line + 1)
    }
    data = space.store.get(Document.text_key(corpus, one.document_id)) if quoted else None
    text = dict(enumerate((data or b"").decode("utf-8").split("\n"), 1))
    near = sorted({number + step for number in quoted for step in (-1, 0, 1)})
    for number in [number for number in near if text.get(number, "").strip()][:_MOST_LINES]:
        mark = "**" if number in quoted else ""
        yield f"{mark}{number}{mark} {cell(text[number], _LINE)}"


def _links(space: Workspace, corpus: str, rejected: Sequence[tuple[int, RejectedQA]], verb: str) -> Metadata:
    """Links that open the texts of the documents in an editor, at the lines of the evidence."""
    links: list[dg.LocalFileCodeReference] = []
    for number, one in rejected:
        file = space.store.local_path(Document.text_key(corpus, one.document_id))
        line = next((place.start_line for place in one.evidence if place.start_line is not None), None)
        if file is not None and line is not None:
            label = f"{number}. {place_of(one.document_id, one.evidence)}"
            links.append(dg.LocalFileCodeReference(file_path=str(file), line_number=line, label=label))
    return {f"{verb}_lines": dg.CodeReferencesMetadataValue(code_references=[*links])} if links else {}


def place_of(document: str, evidence: Sequence[Evidence]) -> str:
    """The document, and the page and lines of the first evidence."""
    parts = [document]
    for place in evidence[:1]:
        parts += [f"page {place.page}"] if place.page else []
        if place.start_line is not None:
            last = "" if place.end_line in (None, place.start_line) else f"-{place.end_line}"
            parts.append(f"line{'s' if last else ''} {place.start_line}{last}")
    return ", ".join(parts)
