"""The metadata of questions for the UI: accepted and rejected questions, reasons, cost, crops of visuals."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import dagster as dg

from qagen_dagster.catalog.database import meaning
from qagen_dagster.defs import metadata
from qagen_dagster.defs.documents import crop_markdown
from qagen_dagster.loop.questions.publication.publish import Published
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.document import Document, VisualManifest
from qagen_dagster.records.ids import Combination, Mode, question_id
from qagen_dagster.records.questions.published import CorpusGenerationResult, PublishedQuestion
from qagen_dagster.records.questions.results import (
    CandidateDocument,
    CandidateSet,
    Evidence,
    GenerationResult,
    QAPair,
    RejectedQA,
    RejectionReason,
    Shortfall,
    ValidatedSet,
)
from qagen_dagster.records.run import CallSummary
from qagen_dagster.store import Store

MAX_CROPS = 4
_SCHEMA = PublishedQuestion.model_json_schema()
MOST_SHOWN = 50  # maximum number of rejections in the report
_MOST_LINES = 12  # maximum number of lines of a document under one rejection
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


def _type(field: Mapping[str, Any]) -> str:
    """The JSON type of a field; for a field that may be null, the type that is not null."""
    first = field.get("anyOf", [field])[0]
    return _SCHEMA["$defs"].get(first.get("$ref", "").rpartition("/")[2], first)["type"]


_FIELDS = _SCHEMA["properties"].items()  # of the rows of a published set
COLUMNS = dg.TableSchema(
    [dg.TableColumn(key, _type(field), meaning("corpus_json", key)) for key, field in _FIELDS]
)


def log_documents(
    context: dg.OpExecutionContext, count: int, before: int, total: int
) -> Callable[[str, GenerationResult | None], None]:
    """A progress callback for an op of `count` documents. It writes fewer than twenty lines, because each line is an event.

    A line numbers its document among the `total` documents of the run. Earlier shards have `before` documents.
    """
    done = 0
    step = max(1, count // 10)

    def progress(document_id: str, result: GenerationResult | None) -> None:
        nonlocal done
        done += 1
        if result is not None and (done % step == 0 or done == count):
            context.log.info(
                f"{before + done} of {total}: {document_id}: {len(result.accepted)} accepted, "
                f"{len(result.rejected)} rejected, {result.end.value}"
            )

    return progress


def log_comparisons(context: dg.AssetExecutionContext) -> Callable[[int, int], None]:
    """A progress callback for deduplication, which calls it only for large sets."""
    return lambda done, total: context.log.info(f"compared {done:,} of {total:,} questions")


def of_candidates(
    space: Workspace, found: CandidateSet, results: Iterable[GenerationResult], fresh: int
) -> metadata.Metadata:
    """Counts, a row per document, accepted and rejected questions, cost. `fresh` is the number of documents on which this run worked."""
    combination = found.combination
    accepted: list[QAPair] = []
    rejected: list[RejectedQA] = []
    missing: list[tuple[str, Shortfall]] = []
    counts: list[int] = []

    def read() -> Iterator[CallSummary]:
        for result in results:
            accepted.extend(result.accepted)
            rejected.extend(result.rejected)
            missing.extend((result.document_id, shortfall) for shortfall in result.shortfalls)
            count = result.stats.target_count - result.stats.accepted_count
            counts.append(count if result.shortfalls else 0)
            yield from result.calls

    spent = metadata.cost(read(), sum(document.accepted for document in found.documents))
    reasons = Counter(one.rejection_reason.value for one in rejected)
    rows = [(d.document_id, d.end.value, d.accepted, d.rejected, d.end_detail) for d in found.documents]
    return {
        metadata.ROW_COUNT: len(accepted),
        # The names say "before", because `qagen status` counts after the deduplication across documents.
        "accepted_before_deduplication": len(accepted),
        "rejected_before_deduplication": len(rejected),
        "outcomes": metadata.bar_chart(
            Counter({"accepted": len(accepted)}) + reasons, "candidates by outcome"
        ),
        **of_rejected(space, combination, rejected, "rejected"),
        "accepted_questions": _questions(accepted),
        "documents": metadata.markdown_table(("document", "outcome", "accepted", "rejected", "detail"), rows),
        "documents_reused": sum(document.result_key is not None for document in found.documents) - fresh,
        **_missing(missing, sum(counts)),
        "profile": found.profile,
        "models": found.models,
        **spent,
        "fingerprint": found.fingerprint,
    }


def of_validated(space: Workspace, validated: ValidatedSet) -> metadata.Metadata:
    """Counts, the questions, the removed questions with reasons, cost, and in visual mode crops of the visuals that questions are about."""
    combination = validated.combination
    made = space.store.rows(CandidateSet.key(combination), CandidateSet, CandidateDocument)
    shown: metadata.Metadata = {
        metadata.ROW_COUNT: len(validated.questions),
        "accepted": len(validated.questions),
        "rejected": sum(one.rejected for one in made) + len(validated.removed),
        "questions": _questions(validated.questions),
        "removed": len(validated.removed),
        **of_rejected(space, combination, validated.removed, "removed"),
        **metadata.cost(validated.calls),
    }
    if validated.mode is Mode.VISUAL:
        shown |= _crops(space, validated)
    return shown


def of_published(store: Store, combination: Combination, published: Published) -> metadata.Metadata:
    """The published questions, the folder and the changed files of the set, and the command to review the set."""
    return {
        metadata.ROW_COUNT: len(published.eval_set.questions),
        **metadata.uri(store, CorpusGenerationResult.key(combination), "questions"),
        "version": published.version,
        "questions": _questions(published.eval_set.questions),
        **review_of(combination),
        # The key in the store, because the UI would cut off the whole path.
        "folder": CorpusGenerationResult.key(combination).rpartition("/")[0],
        "files": ", ".join(name.rpartition("/")[2] for name in published.paths),
        "changed": ", ".join(published.changed) or "none",
    }


def review_of(combination: Combination) -> metadata.Metadata:
    one = combination
    return metadata.review_page(
        one.key, f"--corpus {one.corpus} --scenario {one.scenario} --mode {one.mode.value}"
    )


def _questions(pairs: Sequence[QAPair | PublishedQuestion]) -> dg.MarkdownMetadataValue:
    rows = [
        (
            pair.id,
            pair.question,
            pair.answer,
            ", ".join([_place_of(pair.document_id, pair.evidence), *pair.content_refs]),
        )
        for pair in pairs
    ]
    return metadata.markdown_table(("id", "question", "answer", "document"), rows)


def _missing(shortfalls: Sequence[tuple[str, Shortfall]], count: int) -> metadata.Metadata:
    """The number of missing questions of the requested kinds, with a row per document and kind; empty if no kind has a shortfall."""
    if not shortfalls:
        return {}
    rows = [(name, one.question_type, one.wanted, one.accepted, one.reason) for name, one in shortfalls]
    header = ("document", "type", "wanted", "accepted", "reason")
    return {"missing": count, "missing_by_type": metadata.markdown_table(header, rows)}


def _crops(space: Workspace, validated: ValidatedSet) -> metadata.Metadata:
    """Crops of the first visuals that questions are about, each above its questions."""
    corpus = space.corpus(validated.corpus)
    sources = {entry.id: entry.source for entry in space.index(corpus.key).documents}
    asked: dict[tuple[str, str], list[str]] = {}
    for pair in validated.questions:
        for label in pair.content_refs[:1]:
            asked.setdefault((pair.document_id, label), []).append(
                f"{metadata.cell(pair.question)} **{metadata.cell(pair.answer)}**"
            )
    crops: list[str] = []
    pool = space.parsers()
    for (document, label), questions in asked.items():
        manifest = space.store.find(VisualManifest.key(corpus.key, document), VisualManifest)
        visual = next((one for one in manifest.visuals if one.label == label), None) if manifest else None
        if len(crops) >= MAX_CROPS or document not in sources or visual is None or visual.page is None:
            continue
        text = crop_markdown(corpus, pool, sources[document], visual)
        if text is not None:
            crops.append("\n\n".join([text, *questions]))
    return metadata.pictures("crops", crops, "\n\n---\n\n")


def of_rejected(
    space: Workspace, combination: Combination, rejected: Sequence[RejectedQA], verb: str
) -> metadata.Metadata:
    """The table of rejected questions and, if there are any, a report on them and links to the lines of evidence. Labels contain `verb`."""
    ids = [question_id(combination, one.document_id, one.question, one.answer) for one in rejected]
    rows = [
        (name, one.rejection_reason.value, one.question, _place_of(one.document_id, one.evidence))
        for name, one in zip(ids, rejected, strict=True)
    ]
    shown: metadata.Metadata = {
        f"{verb}_questions": metadata.markdown_table(("id", "reason", "question", "document"), rows)
    }
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
    parts += [f"**{label}:** {metadata.cell(fact, _FACT)}" for label, fact in facts.items() if fact]
    lines = list(_lines(space, combination.corpus, one)) or [
        metadata.cell(place.quote, _LINE) for place in one.evidence
    ]
    if lines:
        parts.append(f"**The document says** ({metadata.cell(_place_of(one.document_id, one.evidence))}):")
        parts.append("\n".join(f"> {line}\\" for line in lines).removesuffix("\\"))
    parts.append(f"`qagen questions {name}`")
    return "\n\n".join(parts)


def _lines(space: Workspace, corpus: str, rejected: RejectedQA) -> Iterator[str]:
    """The lines of the quotes, with their numbers in bold, and the lines directly before and after them."""
    quoted = {
        number
        for place in rejected.evidence
        if place.start_line is not None and place.end_line is not None
        for number in range(place.start_line, place.end_line + 1)
    }
    data = space.store.get(Document.text_key(corpus, rejected.document_id)) if quoted else None
    text = dict(enumerate((data or b"").decode("utf-8").split("\n"), 1))
    near = sorted({number + step for number in quoted for step in (-1, 0, 1)})
    for number in [number for number in near if text.get(number, "").strip()][:_MOST_LINES]:
        mark = "**" if number in quoted else ""
        yield f"{mark}{number}{mark} {metadata.cell(text[number], _LINE)}"


def _links(
    space: Workspace, corpus: str, rejected: Sequence[tuple[int, RejectedQA]], verb: str
) -> metadata.Metadata:
    """Links that open the texts of the documents in an editor, at the lines of the evidence."""
    links: list[dg.LocalFileCodeReference] = []
    for number, question in rejected:
        file = space.store.local_path(Document.text_key(corpus, question.document_id))
        line = next((place.start_line for place in question.evidence if place.start_line is not None), None)
        if file is not None and line is not None:
            label = f"{number}. {_place_of(question.document_id, question.evidence)}"
            links.append(dg.LocalFileCodeReference(file_path=str(file), line_number=line, label=label))
    return {f"{verb}_lines": dg.CodeReferencesMetadataValue(code_references=[*links])} if links else {}


def _place_of(document: str, evidence: Sequence[Evidence]) -> str:
    """The document, and the page and lines of the first evidence."""
    parts = [document]
    for place in evidence[:1]:
        parts += [f"page {place.page}"] if place.page else []
        if place.start_line is not None:
            last = "" if place.end_line in (None, place.start_line) else f"-{place.end_line}"
            parts.append(f"line{'s' if last else ''} {place.start_line}{last}")
    return ", ".join(parts)
