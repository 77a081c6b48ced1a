"""Grades the answers of a combination's validated set and stores the report. Grades of earlier runs are used again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from qagen_dagster.agents.steps import GiveUpReason
from qagen_dagster.configuration.profiles import Role
from qagen_dagster.errors import (
    BudgetExhaustedError,
    DocumentError,
    MalformedResponseError,
    PermanentModelError,
    RateLimitedError,
    TransientModelError,
)
from qagen_dagster.grounding.grade import grade_document, report
from qagen_dagster.loop.grading.grade_answers import Grader, grade_all
from qagen_dagster.loop.grading.plan import ASKING, GradingPlan, document_answers, judge_spec, plan_grading
from qagen_dagster.loop.parallel import worker_count
from qagen_dagster.loop.shared_budget import (
    BudgetMeter,
    RunSpending,
    effective_budget,
    metered,
)
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import Allowance
from qagen_dagster.records.grading import DocumentGrades, GradedAnswer, GroundingReport
from qagen_dagster.records.ids import Combination, fingerprint

HISTORY_FILE = "grounding.json"
_MALFORMED = f"{GiveUpReason.MALFORMED.value}: "
_UNHEARD = (  # beginnings of the failures that a later run retries; others are responses, which are replayed
    _MALFORMED,
    *(
        f"{kind.__name__.removesuffix('Error')}:"
        for kind in (BudgetExhaustedError, TransientModelError, RateLimitedError, PermanentModelError)
    ),
)
Progress = Callable[[int, int, str], None]  # documents graded, all documents, id of the last one


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

    The graded answers are the accepted ones and those that were rejected as ungrounded. An answer is not graded again while its
    document, its text, method, detector and judge are the same. Raises MalformedResponseError after the report is stored.
    """
    plan = plan_grading(workspace, combination)
    grader = _grader(workspace, plan, run, run_budget)
    work = _Work(workspace, plan, progress)
    work.grade(grader)
    found = _report(workspace, plan, work.documents(), run)
    workspace.store.write(GroundingReport.key(combination), found)
    workspace.store.write(combination.history_key(run.run_id, HISTORY_FILE), found)
    _check_replies(found)
    return found


def report_version(found: GroundingReport) -> str:
    """Changes with the grades, not with the run or its time."""
    return fingerprint([found.fingerprint, *(one.model_dump_json() for one in found.documents)])


def undecided(answer: GradedAnswer) -> bool:
    """Whether the judge gave no verdict because of the budget or the server. A later run may get one."""
    return answer.grading.judge_failure.startswith(_UNHEARD)


def _check_replies(found: GroundingReport) -> None:
    """Raise MalformedResponseError for documents about whose answers the judge gave malformed replies alone."""
    failures = {
        one.document_id: [answer.grading.judge_failure for answer in one.answers] for one in found.documents
    }
    bad = [name for name, why in failures.items() if all(one.startswith(_MALFORMED) for one in why)]
    if bad:
        raise MalformedResponseError(f"{', '.join(bad)}: model_error: {failures[bad[0]][0]}")


def _grader(workspace: Workspace, plan: GradingPlan, run: RunMark, run_budget: Allowance | None) -> Grader:
    combination = plan.combination
    profile = workspace.profile(plan.candidates.profile)
    method = workspace.corpus(combination.corpus).scenario(combination.scenario).grading.method
    judge = workspace.find_model(profile, Role.JUDGE, combination.mode) if method in ASKING else None
    budget = effective_budget(profile, run_budget)
    if judge is not None and not budget.unlimited:
        shared = budget.model_copy(update={"document": Allowance()})  # that limit is for questions
        judge = metered(
            judge, BudgetMeter(shared, RunSpending(workspace.store, combination.spending_folder(run.launch)))
        )
    return Grader(
        method,
        judge,
        worker_count(judge, workspace.settings.document_workers, unlimited=budget.unlimited),
    )


@dataclass
class _Work:
    """The documents of a plan during grading. Each one is stored as soon as it is graded."""

    workspace: Workspace
    plan: GradingPlan
    progress: Progress | None
    _fresh: dict[str, DocumentGrades] = field(default_factory=dict[str, DocumentGrades])

    def grade(self, grader: Grader) -> None:
        """Grade the documents that no earlier run has graded."""
        store = self.workspace.store
        todo = [one for one in self.plan.documents if store.find_valid(one.key, DocumentGrades) is None]
        documents = [document_answers(self.workspace, self.plan, one) for one in todo]

        def done(index: int, found: Sequence[GradedAnswer] | DocumentError) -> None:
            if isinstance(found, DocumentError):
                raise found
            document, finished = documents[index]
            grades = grade_document(document.document_id, document.title, found)
            grades = grades.model_copy(update={"generated": finished})
            self._fresh[todo[index].key] = grades
            if not any(undecided(answer) for answer in found):
                store.write(todo[index].key, grades)
            if self.progress is not None:
                self.progress(len(self._fresh), len(todo), document.document_id)

        grade_all([document for document, _ in documents], grader, done)

    def documents(self) -> list[DocumentGrades]:
        """All documents with an answer to grade, in order."""
        store = self.workspace.store
        found = (
            self._fresh.get(one.key) or store.read(one.key, DocumentGrades) for one in self.plan.documents
        )
        return [one for one in found if one.answers]


def _report(
    workspace: Workspace, plan: GradingPlan, documents: Sequence[DocumentGrades], run: RunMark
) -> GroundingReport:
    combination, candidates = plan.combination, plan.candidates
    method = workspace.corpus(combination.corpus).scenario(combination.scenario).grading.method
    judge = judge_spec(workspace.profile(candidates.profile), method, combination.mode)
    generator = candidates.models[Role.GENERATOR.value]
    waiting = sum(undecided(answer) for one in documents for answer in one.answers)
    found = report(
        documents,
        corpus=combination.corpus,
        method=method,
        scenario=combination.scenario,
        mode=combination.mode,
        run_id=run.run_id,
        generator_model=generator,
        judge_model="" if judge is None else judge.name,
    )
    return found.model_copy(
        update={
            "launch": run.launch,
            "created": datetime.now(UTC).isoformat(timespec="microseconds"),
            "fingerprint": plan.fingerprint,
            "profile": candidates.profile,
            "answerer_model": candidates.models.get(Role.ANSWERER.value, generator),
            "undecided": waiting,
        }
    )
