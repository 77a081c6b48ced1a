"""What the UI shows of questions: accepted and rejected, reasons, cost, crops of visuals. Presentation only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import dagster as dg

from qagen_dagster.defs.metadata import Metadata, bar_chart, crop_markdown, markdown_table, path
from qagen_dagster.loop.calls import unique_calls
from qagen_dagster.loop.questions.publish import Published
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.document import VisualManifest
from qagen_dagster.records.ids import Mode
from qagen_dagster.records.questions.results import (
    CallSummary,
    CandidateSet,
    GenerationResult,
    QAPair,
    RejectedQA,
    ValidatedSet,
)
from qagen_dagster.store import Keys

MAX_CROPS = 4


def log_documents(
    context: dg.OpExecutionContext, total: int
) -> Callable[[str, GenerationResult | None], None]:
    """A progress callback: a line per document of a small op, about ten of a large one (each is an event)."""
    done = 0
    step = max(1, total // 10)

    def progress(document_id: str, result: GenerationResult | None) -> None:
        nonlocal done
        done += 1
        if result is not None and (done % step == 0 or done == total):
            context.log.info(
                f"{done} of {total}: {document_id}: {len(result.accepted)} accepted, "
                f"{len(result.rejected)} rejected, {result.end.value}"
            )

    return progress


def of_candidates(found: CandidateSet, results: Sequence[GenerationResult], reused: int) -> Metadata:
    """Counts, a row per document, accepted and rejected questions, cost."""
    accepted = [pair for result in results for pair in result.accepted]
    rejected = [one for result in results for one in result.rejected]
    reasons = Counter(one.rejection_reason.value for one in rejected)
    rows = [(d.document_id, d.end.value, d.accepted, d.rejected, d.end_detail) for d in found.documents]
    return {
        "dagster/row_count": dg.MetadataValue.int(len(accepted)),
        "accepted": dg.MetadataValue.int(len(accepted)),
        "rejected": dg.MetadataValue.int(len(rejected)),
        "documents_reused": dg.MetadataValue.int(reused),
        "profile": dg.MetadataValue.text(found.profile),
        "models": dg.MetadataValue.json(found.models),
        "fingerprint": dg.MetadataValue.text(found.fingerprint),
        "outcomes": bar_chart(Counter({"accepted": len(accepted)}) + reasons, "candidates by outcome"),
        "documents": markdown_table(("document", "end", "accepted", "rejected", "detail"), rows),
        "accepted_questions": _questions(accepted),
        "rejected_questions": _rejections(rejected),
        **_missing(results),
        **cost((call for result in results for call in result.calls), len(accepted)),
    }


def of_validated(space: Workspace, validated: ValidatedSet) -> Metadata:
    """Counts, the questions, what was removed, and in visual mode the pictures asked about."""
    shown: Metadata = {
        "dagster/row_count": dg.MetadataValue.int(len(validated.questions)),
        "questions": _questions(validated.questions),
        "removed": _rejections(validated.removed),
        "removed_count": dg.MetadataValue.int(len(validated.removed)),
        **cost(validated.calls),
    }
    if validated.mode is Mode.VISUAL:
        shown |= _crops(space, validated)
    return shown


def of_published(published: Published) -> Metadata:
    """Where the JSON is and whether it changed."""
    return {
        "dagster/row_count": dg.MetadataValue.int(len(published.eval_set.questions)),
        "corpus_json": path(published.paths[0]),
        "files": dg.MetadataValue.json(list(published.paths)),
        "changed": dg.MetadataValue.json(list(published.changed)),
        "questions": _questions(published.eval_set.questions),
    }


def cost(calls: Iterable[CallSummary], accepted: int | None = None) -> Metadata:
    """Calls, tokens, money, time and retries, paid now or before, each request once; a row per role.

    With `accepted`, also what each accepted question cost. An unknown price is said to be unknown.
    """
    every = unique_calls(calls)
    usd = _money(every)
    shown: Metadata = {
        "model_calls": dg.MetadataValue.int(len(every)),
        "input_tokens": dg.MetadataValue.int(sum(call.input_tokens for call in every)),
        "cached_tokens": dg.MetadataValue.int(sum(call.cached_tokens for call in every)),
        "output_tokens": dg.MetadataValue.int(sum(call.output_tokens for call in every)),
        "reasoning_tokens": dg.MetadataValue.int(sum(call.reasoning_tokens for call in every)),
        "model_seconds": dg.MetadataValue.float(round(float(sum(call.seconds for call in every)), 3)),
        "retries": dg.MetadataValue.int(sum(call.retries for call in every)),
        "usd": _shown_money(usd),
        "cost_by_role": _by_role(every),
    }
    if accepted:
        shown["usd_per_accepted"] = _shown_money(None if usd is None else usd / accepted)
    return shown


def _by_role(calls: Sequence[CallSummary]) -> dg.MarkdownMetadataValue:
    parts: dict[tuple[str, str], list[CallSummary]] = {}
    for call in calls:
        parts.setdefault((call.role, call.model), []).append(call)
    rows = [
        (
            *key,
            len(part),
            sum(call.input_tokens for call in part),
            sum(call.cached_tokens for call in part),
            sum(call.output_tokens for call in part),
            sum(call.reasoning_tokens for call in part),
            round(sum(call.seconds for call in part), 1),
            sum(call.retries for call in part),
            "unknown price" if (usd := _money(part)) is None else f"{usd:.4f}",
        )
        for key, part in sorted(parts.items())
    ]
    header = ("role", "model", "calls", "in", "cached", "out", "reasoning", "seconds", "retries", "usd")
    return markdown_table(header, rows)


def _money(calls: Sequence[CallSummary]) -> float | None:
    """What the calls cost; None when the price of one is unknown."""
    if any(call.usd is None for call in calls):
        return None
    return float(sum(call.usd or 0.0 for call in calls))


def _shown_money(usd: float | None) -> dg.TextMetadataValue | dg.FloatMetadataValue:
    return dg.MetadataValue.text("unknown price") if usd is None else dg.MetadataValue.float(round(usd, 6))


def _questions(pairs: Sequence[QAPair]) -> dg.MarkdownMetadataValue:
    rows = [
        (
            pair.question,
            pair.answer,
            pair.document_id,
            ", ".join(pair.content_refs) or _lines(pair),
            pair.evidence[0].quote if pair.evidence else "",
            pair.id,
        )
        for pair in pairs
    ]
    return markdown_table(("question", "answer", "document", "where", "evidence", "id"), rows)


def _rejections(rejected: Sequence[RejectedQA]) -> dg.MarkdownMetadataValue:
    rows = [
        (one.rejection_reason.value, one.question, one.answer, one.rejection_detail, one.document_id)
        for one in rejected
    ]
    return markdown_table(("reason", "question", "answer", "detail", "document"), rows)


def _missing(results: Sequence[GenerationResult]) -> Metadata:
    """What is missing of the mix of question types, a row per document and type; nothing where nothing is."""
    rows = [
        (result.document_id, one.question_type, one.wanted, one.accepted, one.reason)
        for result in results
        for one in result.shortfalls
    ]
    if not rows:
        return {}
    header = ("document", "type", "wanted", "accepted", "reason")
    count = sum(one.missing for result in results for one in result.shortfalls)
    return {"missing": dg.MetadataValue.int(count), "missing_by_type": markdown_table(header, rows)}


def _lines(pair: QAPair) -> str:
    place = pair.evidence[0]
    page = f"p. {place.page}, " if place.page else ""
    return f"{page}lines {place.start_line}-{place.end_line}" if place.start_line else page


def _crops(space: Workspace, validated: ValidatedSet) -> Metadata:
    """Pictures of the first visuals that were asked about, under their questions."""
    corpus = space.corpus(validated.corpus)
    sources = {entry.id: entry.source for entry in space.index(corpus.key).documents}
    pictures: list[str] = []
    pool = space.parsers()
    for pair in validated.questions:
        if len(pictures) >= MAX_CROPS or pair.document_id not in sources:
            continue
        manifest = space.store.find(Keys.visuals(corpus.key, pair.document_id), VisualManifest)
        visuals = {v.label: v for v in manifest.visuals} if manifest else {}
        visual = next((visuals[label] for label in pair.content_refs if label in visuals), None)
        if visual is None or visual.page is None:
            continue
        text = crop_markdown(corpus, pool, sources[pair.document_id], visual)
        if text is not None:
            pictures.append(f"{text}\n\n{pair.question} **{pair.answer}**")
    return {"crops": dg.MetadataValue.md("\n\n---\n\n".join(pictures))} if pictures else {}
