"""Grades the answers of a combination's validated set and stores the report. Grades of earlier runs are reused.

The plan names the answers of each document and the key of its grades. The key covers the result of the document, its text, the kept
questions, method, claim rules and judge. Grades that are stored under the key are valid and are not computed again.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from qagen_dagster import errors
from qagen_dagster.agents.next_step import is_unusable, says_nothing
from qagen_dagster.agents.runner import unfinished
from qagen_dagster.configuration.profiles import Profile, Role
from qagen_dagster.grounding import claim_rules
from qagen_dagster.grounding.grade import grade_document, report
from qagen_dagster.grounding.judge import judge_prompt
from qagen_dagster.ingest.corpus_files import stored_text
from qagen_dagster.ingest.parallel import Progress
from qagen_dagster.loop.configuration import NONE, Configuration, differences, model_names, model_settings
from qagen_dagster.loop.grading import grade_answers
from qagen_dagster.loop.parallel import worker_count
from qagen_dagster.loop.shared_budget import effective_budget, metered, partition_meter
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import Allowance
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.corpus_options import NoAnswerKind
from qagen_dagster.records.document import Document, joined
from qagen_dagster.records.grading import DocumentGrades, GradedAnswer, GroundingReport, Method
from qagen_dagster.records.ids import Combination, Mode, fingerprint, question_id
from qagen_dagster.records.questions.results import (
    CandidateDocument,
    CandidateSet,
    GenerationResult,
    QAPair,
    RejectedQA,
    RejectionReason,
    ValidatedSet,
)
from qagen_dagster.records.run import RunRecord

ASKING = (Method.LLM, Method.HYBRID)  # methods that ask a judge
REPORT_VERSION = "9"  # increase if the same answers would be graded or reported differently
_MIN_GRADE, _MAX_NOT_MEASURED = "min_grade", "max_not_measured"  # names of parts of the configuration


@dataclass(frozen=True)
class PlannedDocument:
    """A document whose answers are graded, the key of its grades, and its questions in the validated set."""

    entry: CandidateDocument
    key: str
    kept: tuple[QAPair, ...]


@dataclass(frozen=True)
class GradingPlan:
    """The documents of a combination that have answers."""

    combination: Combination
    candidates: CandidateSet
    documents: tuple[PlannedDocument, ...]

    @property
    def fingerprint(self) -> str:
        return fingerprint([REPORT_VERSION, *(document.key for document in self.documents)])


def plan_grading(workspace: Workspace, combination: Combination) -> GradingPlan:
    """Find the documents to grade. Raises StoreError and ConfigError."""
    candidates = workspace.store.read_head(CandidateSet.key(combination), CandidateSet, CandidateDocument)
    return GradingPlan(combination, candidates, tuple(_planned(workspace, candidates)))


def _planned(workspace: Workspace, candidates: CandidateSet) -> Iterator[PlannedDocument]:
    """The documents to grade."""
    combination, store = candidates.combination, workspace.store
    kept: dict[str, list[QAPair]] = {}
    for pair in store.rows(ValidatedSet.key(combination), ValidatedSet, QAPair):
        kept.setdefault(pair.document_id, []).append(pair)
    entries = workspace.entries(combination.corpus)
    texts = {entry.id: (entry.version, entry.text_sha256) for entry in entries}
    how = _how(workspace, combination, candidates.profile)
    for row in store.rows(CandidateSet.key(combination), CandidateSet, CandidateDocument):
        pairs = tuple(kept.get(row.document_id, ()))
        if row.result_key is not None and (pairs or row.rejected):
            text = texts.get(row.document_id, (row.document_version, ""))
            gave = (row.result_key, str(row.accepted), str(row.rejected))
            name = fingerprint([*how, *text, *gave, *(pair.id for pair in pairs)])
            yield PlannedDocument(row, DocumentGrades.key(combination, row.document_id, name), pairs)


def is_graded(workspace: Workspace, combination: Combination) -> bool:
    """Whether grading again would change nothing. A damaged report counts as outdated. Raises StoreError and ConfigError."""
    return not why_ungraded(workspace, combination)


def why_ungraded(workspace: Workspace, combination: Combination) -> tuple[str, ...]:
    """The reasons why grading again would change the report, in one line each. Raises StoreError and ConfigError."""
    report = workspace.store.find_head(GroundingReport.key(combination), GroundingReport, DocumentGrades)
    if report is None:
        return ("its answers were never graded",)
    plan = plan_grading(workspace, combination)
    wanted = wanted_grading(workspace, combination, plan.candidates.profile)
    found = differences(_made_with(workspace, report, wanted), wanted.parts)
    if found or report.fingerprint != plan.fingerprint:
        return found or ("its answers, the judge's settings or the version of this program changed",)
    return (f"{report.undecided} answers wait for a verdict of the judge",) if report.undecided else ()


def wanted_grading(
    workspace: Workspace, combination: Combination, profile: str | None = None
) -> Configuration:
    """The configuration with which a run would grade the combination. Raises ConfigError."""
    name = profile or workspace.profile_name(combination, None)
    grading = workspace.corpus(combination.corpus).scenario(combination.scenario).grading
    spec = judge_spec(workspace.profile(name), grading.method, combination.mode)
    specs = {} if spec is None else {Role.JUDGE: spec}
    how = [*_how(workspace, combination, name), grading.min_grade.value, str(grading.max_not_measured)]
    parts = {
        Role.JUDGE.value: NONE,
        **model_names(specs),
        "grading method": grading.method.value,
        _MIN_GRADE: grading.min_grade.value,
        _MAX_NOT_MEASURED: str(grading.max_not_measured),
    }
    return Configuration(fingerprint(how), parts, model_settings(specs))


def made_grading(
    workspace: Workspace, combination: Combination, wanted: Configuration
) -> Configuration | None:
    """The configuration of the stored report; None if there is no report."""
    report = workspace.store.find_head(GroundingReport.key(combination), GroundingReport, DocumentGrades)
    if report is None:
        return None
    version = wanted.version if is_graded(workspace, combination) else report.fingerprint
    return Configuration(version, _made_with(workspace, report, wanted))


def _made_with(workspace: Workspace, report: GroundingReport, wanted: Configuration) -> dict[str, str]:
    """The parts of the configuration that a report was made with.

    The bounds of the report's checks come from the record of its run. Without a record, the bounds count as unchanged.
    """
    run = workspace.store.find_valid(RunRecord.key(report.run_id), RunRecord) if report.run_id else None
    checks = () if run is None else (check for check in run.checks if check.asset == "grounding_report")
    numbers = {name: value for check in checks for name, value in check.numbers.items()}
    return {
        Role.JUDGE.value: report.judge_model or NONE,
        "grading method": report.method.value,
        _MIN_GRADE: str(numbers.get("minimum", wanted.parts[_MIN_GRADE])),
        _MAX_NOT_MEASURED: str(numbers.get("maximum", wanted.parts[_MAX_NOT_MEASURED])),
    }


def judge_spec(profile: Profile, method: Method, mode: Mode) -> ModelSpec | None:
    """The judge that `method` asks; None if `method` asks no judge, or if the profile has no judge."""
    return profile.find(Role.JUDGE, mode) if method in ASKING else None


def document_answers(
    workspace: Workspace, plan: GradingPlan, one: PlannedDocument
) -> tuple[grade_answers.DocumentAnswers, str]:
    """A planned document with its answers, and the time when its result was made. Raises StoreError."""
    store, combination, name = workspace.store, plan.combination, one.entry.document_id
    result = store.read(str(one.entry.result_key), GenerationResult)
    record = store.find(Document.key(combination.corpus, name), Document)

    others = dict.fromkeys(of.document_id for pair in one.kept for of in pair.evidence if of.document_id)

    def text() -> str:
        read = [record, *(store.find(Document.key(combination.corpus, other), Document) for other in others)]
        return "\n\n".join(stored_text(store, combination.corpus, each) for each in read if each is not None)

    title = "" if record is None else record.metadata.title or record.source
    kept_back = (one for one in result.rejected if one.rejection_reason is RejectionReason.UNGROUNDED)
    claiming = (pair for pair in one.kept if pair.no_answer is None or pair.no_answer.kind not in _SILENT)
    pairs = (*claiming, *kept_back)
    wrapped = () if record is None else record.wrapped
    asked = tuple(
        replace(
            _accepted(pair) if isinstance(pair, QAPair) else _ungrounded(combination, pair),
            quotes=tuple(
                joined(one.quote.split("\n"), wrapped, one.start_line or 1)[0] for one in pair.evidence
            ),
        )
        for pair in pairs
    )
    return grade_answers.DocumentAnswers(name, title, text, asked), result.finished


def _accepted(pair: QAPair) -> grade_answers.AnswerToGrade:
    return grade_answers.AnswerToGrade(
        id=pair.id,
        question=pair.question,
        answer=pair.answer,
        attempt=pair.generation_metadata.attempt_number,
        picture=picture_of(pair) if pair.category is Mode.VISUAL else "",
        quoted=grade_answers.quoted_lines(pair.evidence),
        computation=pair.computation,
    )


def _ungrounded(combination: Combination, pair: RejectedQA) -> grade_answers.AnswerToGrade:
    return grade_answers.AnswerToGrade(
        id=question_id(combination, pair.document_id, pair.question, pair.answer),
        question=pair.question,
        answer=pair.answer,
        attempt=pair.attempt_number,
        quoted=grade_answers.quoted_lines(pair.evidence),
        marked=f"{pair.rejection_reason.value}: {pair.rejection_detail}",
    )


def picture_of(pair: QAPair) -> str:
    """The names of the pictures that a visual question is about, as text."""
    shown = dict.fromkeys((*pair.content_refs, *(one.visual for one in pair.evidence if one.visual)))
    return ", ".join(shown) or "the page"


def _how(workspace: Workspace, combination: Combination, profile: str) -> list[str]:
    """Method, claim rules and judge, as parts of a fingerprint."""
    grading = workspace.corpus(combination.corpus).scenario(combination.scenario).grading
    spec = judge_spec(workspace.profile(profile), grading.method, combination.mode)
    judge = [] if spec is None else [json.dumps(spec.identity(), sort_keys=True), judge_prompt().hash]
    return [REPORT_VERSION, grading.method.value, claim_rules.VERSION, *judge]


_SILENT = (NoAnswerKind.UNANSWERABLE,)  # answers of these kinds state only that there is no answer
HISTORY_FILE = "grounding.json"
_UNHEARD = tuple(  # beginnings of failures that a later run retries
    f"{kind.__name__.removesuffix('Error')}:"
    for kind in (
        errors.BudgetExhaustedError,
        errors.TransientModelError,
        errors.RateLimitedError,
        errors.PermanentModelError,
    )
)


@dataclass(frozen=True)
class RunMark:
    """The run that makes a report, and the id that it shares with the other runs of its command or backfill."""

    run_id: str
    launch: str


def grade_set(
    workspace: Workspace,
    combination: Combination,
    run: RunMark,
    run_budget: Allowance | None = None,
    progress: Progress | None = None,
) -> GroundingReport:
    """Grade the combination's answers and store the report. Raises StoreError and ConfigError.

    Accepted answers and answers that were rejected as ungrounded are graded, unless they only state that there is no answer. The answers
    of a document are not regraded while its result, its text, its kept questions, the method, the claim rules and the judge are the same.

    Also raises MalformedResponseError, after the report is stored, if for some document every reply of the judge was unusable or a refusal.
    """
    plan = plan_grading(workspace, combination)
    grader = _grader(workspace, plan, run, run_budget)
    found = _report(workspace, plan, _documents(workspace, plan, grader, progress), run)
    workspace.store.write(GroundingReport.key(combination), found)
    workspace.store.write(combination.history_key(run.run_id, HISTORY_FILE), found)
    _check_replies(found)
    return found


def grades_version(found: GroundingReport) -> str:
    """A hash of the grades, which does not depend on the run or its time."""
    return fingerprint([found.fingerprint, *(document.model_dump_json() for document in found.documents)])


def waiting(answers: Sequence[GradedAnswer]) -> int:
    """The number of a document's answers that have no verdict, but may get one in a later run. The cause was the budget, the server or an
    unusable reply, or the judge refused all answers of the document."""
    failures = [one.grading.judge_failure for one in answers]
    late = sum(one.startswith(_UNHEARD) or is_unusable(one) for one in failures)
    return len(failures) if _is_unheard(answers) else late


def _check_replies(found: GroundingReport) -> None:
    """Raise MalformedResponseError if for some document every reply of the judge was unusable or a refusal."""
    bad = [one for one in found.documents if _is_unheard(one.answers)]
    if bad:
        why = unfinished(bad[0].answers[0].grading.judge_failure)
        raise errors.MalformedResponseError(f"{', '.join(one.document_id for one in bad)}: {why}")


def _is_unheard(answers: Sequence[GradedAnswer]) -> bool:
    """Whether the judge's reply on every answer was unusable or a refusal."""
    return bool(answers) and all(says_nothing(one.grading.judge_failure) for one in answers)


def _grader(
    workspace: Workspace, plan: GradingPlan, run: RunMark, run_budget: Allowance | None
) -> grade_answers.Grader:
    combination = plan.combination
    profile = workspace.profile(plan.candidates.profile)
    method = workspace.corpus(combination.corpus).scenario(combination.scenario).grading.method
    judge = workspace.find_model(profile, Role.JUDGE, combination.mode) if method in ASKING else None
    budget = effective_budget(profile, run_budget)
    if judge is not None:
        folder = combination.spending_folder(run.launch)
        judge = metered(judge, partition_meter(workspace.store, budget, folder))
    workers = worker_count(judge, workspace.settings.document_workers, unlimited=budget.unlimited)
    return grade_answers.Grader(method, judge, workers)


def _documents(
    workspace: Workspace, plan: GradingPlan, grader: grade_answers.Grader, progress: Progress | None
) -> list[DocumentGrades]:
    """The grades of all documents with an answer to grade, in order. Missing grades are made now, and stored if no answer is undecided."""
    store, fresh = workspace.store, dict[str, DocumentGrades]()
    todo = [one for one in plan.documents if store.find_valid(one.key, DocumentGrades) is None]
    documents = [document_answers(workspace, plan, one) for one in todo]

    def done(index: int, found: Sequence[GradedAnswer] | errors.DocumentError) -> None:
        if isinstance(found, errors.DocumentError):
            raise found
        document, finished = documents[index]
        grades = grade_document(document.document_id, document.title, found)
        grades = grades.model_copy(update={"generated": finished})
        fresh[todo[index].key] = grades
        if not waiting(found):
            store.write(todo[index].key, grades)
        if progress is not None:
            progress(len(fresh), len(todo), document.document_id)

    grade_answers.grade_all([document for document, _ in documents], grader, done)
    found = (fresh.get(one.key) or store.read(one.key, DocumentGrades) for one in plan.documents)
    return [one for one in found if one.answers]


def _report(
    workspace: Workspace, plan: GradingPlan, documents: Sequence[DocumentGrades], run: RunMark
) -> GroundingReport:
    combination, candidates = plan.combination, plan.candidates
    method = workspace.corpus(combination.corpus).scenario(combination.scenario).grading.method
    judge = judge_spec(workspace.profile(candidates.profile), method, combination.mode)
    generator = candidates.models[Role.GENERATOR.value]
    return report(
        documents,
        method=method,
        corpus=combination.corpus,
        scenario=combination.scenario,
        mode=combination.mode,
        run_id=run.run_id,
        launch=run.launch,
        created=datetime.now(UTC).isoformat(timespec="microseconds"),
        fingerprint=plan.fingerprint,
        profile=candidates.profile,
        generator_model=generator,
        answerer_model=candidates.models.get(Role.ANSWERER.value, generator),
        judge_model="" if judge is None else judge.name,
        undecided=sum(waiting(document.answers) for document in documents),
    )
