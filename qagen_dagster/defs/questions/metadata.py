"""What the UI shows of questions: accepted and rejected ones, reasons, cost, crops of visuals."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import dagster as dg

from qagen_dagster.defs import metadata
from qagen_dagster.defs.documents.metadata import crop_markdown
from qagen_dagster.defs.questions import rejections
from qagen_dagster.loop.questions.publication.publish import Published
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.document import VisualManifest
from qagen_dagster.records.ids import Combination, Mode
from qagen_dagster.records.questions.published import CorpusGenerationResult, PublishedQuestion
from qagen_dagster.records.questions.results import (
    CandidateDocument,
    CandidateSet,
    GenerationResult,
    QAPair,
    RejectedQA,
    Shortfall,
    ValidatedSet,
)
from qagen_dagster.records.run import CallSummary
from qagen_dagster.store import Store

MAX_CROPS = 4
_SCHEMA = PublishedQuestion.model_json_schema()


def _type(field: Mapping[str, Any]) -> str:
    """The JSON type of a field; of one that may be null, the other type."""
    first = field.get("anyOf", [field])[0]
    return _SCHEMA["$defs"].get(first.get("$ref", "").rpartition("/")[2], first)["type"]


COLUMNS = dg.TableSchema(  # of the rows of a published set
    [dg.TableColumn(name, _type(field)) for name, field in _SCHEMA["properties"].items()]
)


def log_documents(
    context: dg.OpExecutionContext, count: int, before: int, total: int
) -> Callable[[str, GenerationResult | None], None]:
    """A progress callback for an op of `count` documents. It writes about ten lines at most, because each line is an event.

    A line numbers its document among the `total` documents of the run. The ops before this one have `before` documents.
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
    """A progress callback of deduplication, which does not call it for small sets."""
    return lambda done, total: context.log.info(f"compared {done:,} of {total:,} questions")


def of_candidates(
    space: Workspace, found: CandidateSet, results: Iterable[GenerationResult], fresh: int
) -> metadata.Metadata:
    """Counts, a row per document, accepted and rejected questions, cost. This run worked on `fresh` documents."""
    combination = found.combination
    accepted: list[QAPair] = []
    rejected: list[RejectedQA] = []
    missing: list[tuple[str, Shortfall]] = []
    counts: list[int] = []

    def read() -> Iterator[CallSummary]:
        for result in results:
            accepted.extend(result.accepted)
            rejected.extend(result.rejected)
            missing.extend((result.document_id, one) for one in result.shortfalls)
            count = result.stats.target_count - result.stats.accepted_count
            counts.append(count if result.shortfalls else 0)
            yield from result.calls

    spent = metadata.cost(read(), sum(one.accepted for one in found.documents))
    reasons = Counter(one.rejection_reason.value for one in rejected)
    rows = [(d.document_id, d.end.value, d.accepted, d.rejected, d.end_detail) for d in found.documents]
    return {
        metadata.ROW_COUNT: len(accepted),
        # Named so because `qagen status` counts after the deduplication across documents.
        "accepted_before_deduplication": len(accepted),
        "rejected_before_deduplication": len(rejected),
        "outcomes": metadata.bar_chart(
            Counter({"accepted": len(accepted)}) + reasons, "candidates by outcome"
        ),
        **rejections.of_rejected(space, combination, rejected, "rejected"),
        "accepted_questions": _questions(accepted),
        "documents": metadata.markdown_table(("document", "outcome", "accepted", "rejected", "detail"), rows),
        "documents_reused": sum(one.result_key is not None for one in found.documents) - fresh,
        **_missing(missing, sum(counts)),
        "profile": found.profile,
        "models": found.models,
        **spent,
        "fingerprint": found.fingerprint,
    }


def of_validated(space: Workspace, validated: ValidatedSet) -> metadata.Metadata:
    """Counts, the questions, the removed questions with reasons, and in visual mode crops of the visuals that are asked about."""
    combination = validated.combination
    made = space.store.rows(CandidateSet.key(combination), CandidateSet, CandidateDocument)
    shown: metadata.Metadata = {
        metadata.ROW_COUNT: len(validated.questions),
        "accepted": len(validated.questions),
        "rejected": sum(one.rejected for one in made) + len(validated.removed),
        "questions": _questions(validated.questions),
        "removed": len(validated.removed),
        **rejections.of_rejected(space, combination, validated.removed, "removed"),
        **metadata.cost(validated.calls),
    }
    if validated.mode is Mode.VISUAL:
        shown |= _crops(space, validated)
    return shown


def of_published(store: Store, combination: Combination, published: Published) -> metadata.Metadata:
    """The published questions, where their files are, which of them changed, and how to review them."""
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
            ", ".join([rejections.place_of(pair.document_id, pair.evidence), *pair.content_refs]),
        )
        for pair in pairs
    ]
    return metadata.markdown_table(("id", "question", "answer", "document"), rows)


def _missing(shortfalls: Sequence[tuple[str, Shortfall]], count: int) -> metadata.Metadata:
    """How many questions of the requested kinds are missing, with a row per document and kind."""
    if not shortfalls:
        return {}
    rows = [(name, one.question_type, one.wanted, one.accepted, one.reason) for name, one in shortfalls]
    header = ("document", "type", "wanted", "accepted", "reason")
    return {"missing": count, "missing_by_type": metadata.markdown_table(header, rows)}


def _crops(space: Workspace, validated: ValidatedSet) -> metadata.Metadata:
    """Crops of the first visuals that were asked about, each above its questions."""
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
