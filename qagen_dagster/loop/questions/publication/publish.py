"""Publishes a validated set: rechecks its evidence, writes its files, keeps every version, and reports why a set is out of date.

The licence and the attribution of documents are read when a set is published or exported, and are not stored with the documents.
Findings of evaluations decide which questions of a set are left out, and its card states the metrics of evaluations.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import islice
from typing import Any

from qagen_dagster.errors import ConfigError, DocumentError, StoreError
from qagen_dagster.formats.base import ParseOptions
from qagen_dagster.ingest.corpus_files import parse_options, source_of
from qagen_dagster.ingest.parallel import apply_to_all
from qagen_dagster.loop.configuration import what_changed
from qagen_dagster.loop.grading.grade_set import is_graded
from qagen_dagster.loop.questions import plan
from qagen_dagster.loop.questions.publication.published_rows import PublishedRows, set_facts
from qagen_dagster.loop.review_decisions import decision_ids, review_facts
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.publishing.questions.set_files import SET_FILES, EvalSet
from qagen_dagster.records.corpus_options import CorpusConfig, Publish
from qagen_dagster.records.document import CorpusIndex, Document, IndexEntry, Rights
from qagen_dagster.records.evaluation import REPORTS, EvaluationReport, Kind, Label
from qagen_dagster.records.grading import DocumentGrades, GroundingReport
from qagen_dagster.records.ids import Combination, content_hash, fingerprint
from qagen_dagster.records.questions.published import (
    CorpusGenerationResult,
    LatestVersion,
    PublishedQuestion,
    content_id,
)
from qagen_dagster.records.questions.results import CandidateDocument, CandidateSet, QAPair, ValidatedSet
from qagen_dagster.records.text import counted
from qagen_dagster.store import Store

PUBLISHED_VERSION = "4"  # increase if the same set would be published with other rows
_KEPT_TEXTS = 16  # texts of documents that are kept while evidence is looked up
_GRADED = {"fingerprint", "overall_confidence", "grounded", "ungrounded", "not_measured"}


@dataclass(frozen=True)
class Published:
    """A published set."""

    eval_set: EvalSet
    version: str  # content id
    paths: tuple[str, ...]
    changed: tuple[str, ...]  # paths of the files that the run changed


def publish(
    workspace: Workspace, combination: Combination, run_id: str, *, replace: bool = False
) -> Published:
    """Publish the validated set of a combination.

    Raises StoreError, before anything is written, if the evidence of a question is not in its document, or if an empty set would
    replace questions and `replace` is False.
    """
    stored = workspace.store.read(ValidatedSet.key(combination), ValidatedSet)
    validated = _selected(workspace, combination, stored)
    broken = broken_evidence(workspace, combination.corpus, validated.questions)
    if broken:
        raise StoreError(f"not published: the evidence of {', '.join(broken[:5])} is not in its document")
    present = 0 if validated.questions or replace else sum(1 for _ in _published(workspace, combination))
    if present:
        raise StoreError(
            f"not published: the new set is empty, so the published set of {present} questions is kept "
            "(--replace replaces it)"
        )
    decisions = _applied(stored)
    eval_set = _eval_set(workspace, combination, validated)
    judged = (*eval_set.rejected, *eval_set.questions)
    facts = review_facts(workspace, combination, stored, decisions, judged) if decisions else None
    used = (key for one in eval_set.questions for key in documents_of(one))
    rights = rights_of(workspace, combination.corpus, used)
    eval_set = eval_set.model_copy(update={"review": facts, "rights": rights})
    version = content_id(eval_set.questions)
    files: dict[str, str] = {}
    changed: list[str] = []
    for path, data in (file for export in SET_FILES for file in export(eval_set).items()):
        files[path] = content_hash(data)
        if workspace.store.write_if_changed(CorpusGenerationResult.file_key(combination, path), data):
            workspace.store.write_bytes(combination.history_key(run_id, path), data)
            changed.append(path)
        key = CorpusGenerationResult.version_key(combination, version, path)
        if not workspace.store.exists(key):
            workspace.store.write_bytes(key, data)
    latest = LatestVersion(
        content_id=version,
        timestamp=eval_set.timestamp.isoformat(),
        made_from=_made_from(workspace, combination, stored, stored.questions),
        files=files,
    )
    if workspace.store.find_valid(LatestVersion.key(combination), LatestVersion) != latest:
        workspace.store.write(LatestVersion.key(combination), latest)
    paths = (workspace.store.path(CorpusGenerationResult.file_key(combination, path)) for path in files)
    return Published(eval_set, version, tuple(paths), tuple(changed))


def is_up_to_date(workspace: Workspace, combination: Combination, options: plan.RunOptions) -> bool:
    """Whether another run of the combination would change nothing. The set must be published and graded.

    A set with a damaged record is not up to date. Raises ConfigError.
    """
    return not why_outdated(workspace, combination, options) and is_graded(workspace, combination)


def why_outdated(workspace: Workspace, combination: Combination, options: plan.RunOptions) -> tuple[str, ...]:
    """The reasons why another run would change the published set, in one line each. Raises ConfigError."""
    index = CorpusIndex.key(combination.corpus)
    if workspace.store.find_head(index, CorpusIndex, IndexEntry) is None:
        return ("its documents were never parsed",)
    planned = plan.plan_without_documents(workspace, combination, options)
    made = workspace.store.find_head(CandidateSet.key(combination), CandidateSet, CandidateDocument)
    if made is None:
        return ("it was never made",)
    wanted = plan.wanted_questions(workspace, combination, options)
    made_with = plan.made_questions(workspace, combination, wanted)
    changed = () if made_with is None else what_changed(made_with, wanted)

    def documents() -> Iterator[IndexEntry]:
        return islice(workspace.entries(combination.corpus), options.num_documents)

    found = (*changed, *_document_changes(workspace, planned, made, documents()))
    return found or tuple(_unfinished_work(workspace, planned, made, documents()))


def _document_changes(
    workspace: Workspace, planned: plan.CombinationPlan, made: CandidateSet, documents: Iterable[IndexEntry]
) -> Iterator[str]:
    lines = workspace.store.rows(CandidateSet.key(planned.combination), CandidateSet, CandidateDocument)
    before = {one.document_id: (one.document_version, one.result_key) for one in lines}
    comparable = made.fingerprint == planned.fingerprint and made.target_count == planned.limits.target_count

    def differs(entry: IndexEntry, version: str, result_key: str | None) -> bool:
        if version != entry.version:
            return True
        return comparable and result_key not in (None, planned.result_key(entry), planned.partial_key(entry))

    new: list[str] = []
    changed: list[str] = []
    for entry in documents:
        old = before.pop(entry.id, None)
        if old is None:
            new.append(entry.id)
        elif differs(entry, *old):
            changed.append(entry.id)
    yield from counted("new documents", new)
    yield from counted("changed documents", changed)
    yield from counted("removed documents", before)


def _unfinished_work(
    workspace: Workspace, planned: plan.CombinationPlan, made: CandidateSet, documents: Iterable[IndexEntry]
) -> Iterator[str]:
    """The work that the last run left undone, if its configuration and documents have not changed since."""
    unfinished = (one.id for one in documents if plan.finished(workspace, planned, one) is None)
    yield from counted("unfinished documents", unfinished)
    combination = planned.combination
    validated = workspace.store.find_head(ValidatedSet.key(combination), ValidatedSet, QAPair)
    if validated is None or validated.run_id != made.run_id:
        yield "the questions of its last run have not been compared with each other"
    elif validated.undecided:
        yield f"{validated.undecided} questions were not compared because the budget ended"
    elif new := decision_ids(workspace, combination.key) - _applied(validated):
        yield f"{len(new)} new decision{'s' if len(new) > 1 else ''} of reviewers"
    elif not _is_published(workspace, combination, validated):
        yield "the published set is not that of its last run"


def _is_published(workspace: Workspace, combination: Combination, validated: ValidatedSet) -> bool:
    """Whether publishing the set again would write the same files."""
    latest = workspace.store.find_valid(LatestVersion.key(combination), LatestVersion)
    questions = workspace.store.rows(ValidatedSet.key(combination), ValidatedSet, QAPair)
    if latest is None or latest.made_from != _made_from(workspace, combination, validated, questions):
        return False
    keys = {CorpusGenerationResult.file_key(combination, path): known for path, known in latest.files.items()}
    return all(workspace.store.hash_of(key) == known for key, known in keys.items())


def _made_from(
    workspace: Workspace, combination: Combination, validated: ValidatedSet, questions: Iterable[QAPair]
) -> str:
    """A hash of everything that the published files depend on. If the hash changes, publishing again may write other files. `questions` are
    the questions of `validated`. The results of documents are not read, because this would take a long time."""
    store, key = workspace.store, CandidateSet.key(combination)
    candidates = store.find_head(key, CandidateSet, CandidateDocument)
    lines = () if candidates is None else store.rows(key, CandidateSet, CandidateDocument)
    report = store.find_head(GroundingReport.key(combination), GroundingReport, DocumentGrades)
    graded = "" if report is None else report.model_dump_json(include=_GRADED)
    corpus = workspace.corpus(combination.corpus).config
    dumped = b",".join(one.model_dump_json().encode() for one in questions)
    rest = validated.model_dump_json(include={"removed"}).encode()
    removed = "" if candidates is None else candidates.model_dump_json(include={"retired"})
    return fingerprint(
        [
            PUBLISHED_VERSION,
            corpus.name,
            graded,
            b'{"questions":[%s],%s' % (dumped, rest[1:]),
            removed,
            *(str(one.result_key) for one in lines),
            *_review(workspace, combination, validated),
            *([f"{corpus.licence} {corpus.attribution}"] if corpus.licence or corpus.attribution else []),
        ]
    )


def _review(workspace: Workspace, combination: Combination, validated: ValidatedSet) -> Iterator[str]:
    """The parts of the hash from reviews, evaluations and `publish.only`. There are no parts if all of these are missing or defaults."""
    chosen = workspace.corpus(combination.corpus).scenario(combination.scenario).publish
    if chosen.only is not Publish.ALL:
        yield chosen.only.value
    yield from sorted(dropped(workspace, combination))
    yield from (f"{name} {value}" for name, value in _evaluated_metrics(workspace.store, combination).items())
    if validated.review is not None:
        yield validated.review.model_dump_json()


def _applied(validated: ValidatedSet) -> set[str]:
    return set() if validated.review is None else set(validated.review.decisions)


def _selected(workspace: Workspace, combination: Combination, validated: ValidatedSet) -> ValidatedSet:
    """The set, reduced to the questions that the scenario publishes."""
    chosen = workspace.corpus(combination.corpus).scenario(combination.scenario).publish
    approved: set[str] = set() if validated.review is None else set(validated.review.approved)
    gone = dropped(workspace, combination)
    questions = tuple(
        pair
        for pair in validated.questions
        if pair.id not in gone and (chosen.only is Publish.ALL or pair.id in approved)
    )
    return validated.model_copy(update={"questions": questions})


def _eval_set(workspace: Workspace, combination: Combination, validated: ValidatedSet) -> EvalSet:
    """The set to publish. If the published questions are the same, the set keeps their timestamp."""
    rows = PublishedRows(workspace, combination, validated)
    questions = rows.questions()
    key = CorpusGenerationResult.key(combination)
    before = workspace.store.find_head(key, CorpusGenerationResult, PublishedQuestion)
    same = content_id(_published(workspace, combination)) == content_id(questions)
    return EvalSet(
        corpus_name=workspace.corpus(combination.corpus).config.name,
        corpus_path=combination.corpus,
        scenario=combination.scenario,
        mode=combination.mode,
        questions=questions,
        rejected=rows.rejected(),
        retired=rows.retired(),
        made=None
        if rows.candidates is None
        else set_facts(workspace, rows.candidates, validated, plan.results_of(workspace, rows.candidates)),
        evaluated=_evaluated_metrics(workspace.store, combination),
        timestamp=datetime.fromisoformat(before.timestamp) if before and same else datetime.now(UTC),
    )


def _published(workspace: Workspace, combination: Combination) -> Iterator[PublishedQuestion]:
    """The questions of the published set; none if there is no set or it cannot be read."""
    store, key = workspace.store, CorpusGenerationResult.key(combination)
    if store.find_head(key, CorpusGenerationResult, PublishedQuestion) is not None:
        yield from store.rows(key, CorpusGenerationResult, PublishedQuestion)


def broken_evidence(
    workspace: Workspace, corpus: str, questions: Sequence[QAPair | PublishedQuestion]
) -> list[str]:
    """The ids of questions that have no evidence, or a quote that is not on its lines of the stored text."""

    @lru_cache(maxsize=_KEPT_TEXTS)
    def lines(document_id: str) -> list[str]:
        data = workspace.store.get(Document.text_key(corpus, document_id)) or b""
        return data.decode("utf-8").split("\n") if data else []

    def stands(pair: QAPair | PublishedQuestion) -> bool:
        return bool(pair.evidence) and all(
            _stands(one.quote, one.start_line, one.end_line, lines(one.document_id or pair.document_id))
            for one in pair.evidence
        )

    return [pair.id for pair in questions if not stands(pair)]


def _stands(quote: str, start: int | None, end: int | None, lines: list[str]) -> bool:
    if not quote.strip():
        return False
    if start is None or end is None:
        # evidence from a picture has no lines, and is accepted only if the document has no text
        return not lines
    return quote in "\n".join(lines[start - 1 : end])


def documents_of(question: PublishedQuestion) -> dict[str, None]:
    """The ids of the documents of a question and its evidence, each once."""
    return dict.fromkeys(
        [question.document_id, *(one.document_id for one in question.evidence if one.document_id)]
    )


def rights_of(space: Workspace, corpus: str, documents: Iterable[str]) -> dict[str, Rights]:
    """The licence and the attribution of each document: from the pattern in corpus.yaml that fits its file, else from the file, else from
    the pattern `*`. An unreadable file (or one whose password is not set) states nothing. A document that is gone has empty rights."""
    found, pool, wanted = space.corpus(corpus), space.parsers(), dict.fromkeys(documents, Rights())
    try:
        options = parse_options(found.config.documents)
    except ConfigError:
        options = ParseOptions()

    def of_file(name: str) -> dict[str | None, Rights]:
        try:
            return pool.rights(source_of(found, name), options)
        except DocumentError:
            return {}

    parsed = space.store.find_head(CorpusIndex.key(corpus), CorpusIndex, IndexEntry) is not None
    entries = [entry for entry in space.entries(corpus) if entry.id in wanted] if parsed else []
    names = list(dict.fromkeys(entry.source for entry in entries))
    read = apply_to_all(of_file, names, names, space.settings.parser_workers, None)
    stated = dict(zip(names, read, strict=True))
    return wanted | {
        one.id: _chosen(found.config, one.source, stated[one.source].get(one.row)) for one in entries
    }


def _chosen(config: CorpusConfig, name: str, stated: Rights | None) -> Rights:
    chosen: dict[str, str | None] = dict(stated or Rights())
    for field, patterns in (("licence", config.licence), ("attribution", config.attribution)):
        own = [value for pattern, value in patterns.items() if pattern != "*" and fnmatchcase(name, pattern)]
        chosen[field] = next(iter(own), chosen[field] or patterns.get("*"))
    return Rights(**chosen)


def joint_rights(rights: Iterable[Rights]) -> Rights:
    """The rights in a question about several documents. Its licence is unknown if the licence of one document is unknown."""
    pairs = [(one.licence, one.attribution) for one in rights]
    licences, named = (dict.fromkeys(some) for some in zip(*pairs, strict=True))
    licence = None if None in licences else "; ".join(filter(None, licences))
    return Rights(licence=licence, attribution="; ".join(filter(None, named)) or None)


def _reports(store: Store, combination: Combination, *kinds: Kind) -> Iterator[EvaluationReport[Any]]:
    """The latest reports of these kinds that exist and can be read."""
    found = (store.find_valid(EvaluationReport.key(combination, kind), REPORTS[kind]) for kind in kinds)
    return (one for one in found if one is not None)


def labels_of(store: Store, combination: Combination) -> dict[str, tuple[Label, ...]]:
    """The latest labels by question id; empty if there are none."""
    found = _reports(store, combination, Kind.LABELS)
    return {one.question_id: one.labels for report in found for one in report.questions}


def dropped(space: Workspace, combination: Combination) -> frozenset[str]:
    """The ids of the questions that the scenario does not publish, because an evaluation found them faulty.

    Such questions are still evaluated, so that a verdict can change.
    """
    drop = space.corpus(combination.corpus).scenario(combination.scenario).publish.drop
    found = _reports(space.store, combination, Kind.PANEL, Kind.CLOSED_BOOK) if drop else ()
    asked = (question for report in found for question in report.questions)
    return frozenset(one.question_id for one in asked if any(getattr(one, why.value, None) for why in drop))


def _evaluated_metrics(store: Store, combination: Combination) -> dict[str, float]:
    """The metrics of the labels and of the panel, which the card shows."""
    found = _reports(store, combination, Kind.LABELS, Kind.PANEL)
    return {f"{one.kind.value}: {name}": value for one in found for name, value in one.metrics.items()}
