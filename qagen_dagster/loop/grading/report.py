"""From a combination's validated set to the report of how well its answers rest on their documents.

What belongs here: by whom answers are graded and for whose money, and that nothing is graded twice. What does not: which
answers (`plan.py`), how many at once (`pool.py`), and how a report is told (`run_summary.py`, `defs/`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from qagen_dagster.configuration.profiles import Role
from qagen_dagster.errors import (
    BudgetExhaustedError,
    DocumentError,
    PermanentModelError,
    RateLimitedError,
    TransientModelError,
)
from qagen_dagster.grounding.grade import grade_document, report
from qagen_dagster.grounding.source import Encode
from qagen_dagster.loop.grading.plan import ASKING, GradingPlan, judge_spec, paper_of, plan_grading
from qagen_dagster.loop.grading.pool import Grader, grade_all
from qagen_dagster.loop.parallel import workers_for
from qagen_dagster.loop.spending import DocumentToll, SpendingBook, charged, effective_budget
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import Allowance
from qagen_dagster.records.grading import DocumentGrades, GradedAnswer, GroundingReport
from qagen_dagster.records.ids import Combination, fingerprint

HISTORY_FILE = "grounding.json"
_UNHEARD = tuple(  # as the judge's failures begin; others are answers, which would be replayed
    f"{kind.__name__.removesuffix('Error')}:"
    for kind in (BudgetExhaustedError, TransientModelError, RateLimitedError, PermanentModelError)
)
Progress = Callable[[int, int, str], None]  # documents graded, of how many, the last one's id


@dataclass(frozen=True)
class RunMark:
    """The run that makes a report, and what it has in common with the other runs of its command or backfill."""

    run_id: str
    launch: str


def grade_set(
    workspace: Workspace,
    combination: Combination,
    encode: Encode,
    run: RunMark,
    run_budget: Allowance | None = None,
    progress: Progress | None = None,
) -> GroundingReport:
    """Grade the combination's answers and store the report. Raises StoreError or ConfigError.

    Graded are its accepted answers, and those that a document kept though they do not rest on it. What was graded
    before is not graded again while its document, answers, method, detector and judge are the same.
    """
    plan = plan_grading(workspace, combination)
    grader = _grader(workspace, plan, encode, run, run_budget)
    work = _Work(workspace, plan, progress)
    work.grade(grader)
    found = _report(workspace, plan, work.documents(), run)
    workspace.store.write(GroundingReport.key(combination), found)
    workspace.store.write(combination.history_key(run.run_id, HISTORY_FILE), found)
    return found


def report_version(found: GroundingReport) -> str:
    """Changes with the grades, not with the run that made them or its time."""
    return fingerprint([found.fingerprint, *(one.model_dump_json() for one in found.documents)])


def undecided(answer: GradedAnswer) -> bool:
    """Whether a judge was wanted but not heard, for want of money or of an answering server: it may be next time."""
    return answer.grading.judge_failure.startswith(_UNHEARD)


def _grader(
    workspace: Workspace, plan: GradingPlan, encode: Encode, run: RunMark, run_budget: Allowance | None
) -> Grader:
    combination = plan.combination
    profile = workspace.profile(plan.candidates.profile)
    method = workspace.corpus(combination.corpus).scenario(combination.scenario).grading.method
    judge = workspace.find_model(profile, Role.JUDGE, combination.mode) if method in ASKING else None
    budget = effective_budget(profile, run_budget)
    if judge is not None and not budget.unlimited:
        shared = budget.model_copy(update={"document": Allowance()})  # of making questions
        book = SpendingBook(workspace.store, combination.spending_folder(run.launch))
        judge = charged(judge, DocumentToll(shared, book))
    return Grader(
        method,
        encode,
        judge,
        workers_for(judge, workspace.settings.document_workers, unlimited=budget.unlimited),
    )


@dataclass
class _Work:
    """The documents of a plan on their way to being graded; each is durable as soon as it is."""

    workspace: Workspace
    plan: GradingPlan
    progress: Progress | None
    _fresh: dict[str, DocumentGrades] = field(default_factory=dict[str, DocumentGrades])

    def grade(self, grader: Grader) -> None:
        """Grade what no earlier run has."""
        store = self.workspace.store
        todo = [one for one in self.plan.documents if store.find_valid(one.key, DocumentGrades) is None]
        papers = [paper_of(self.workspace, self.plan, one) for one in todo]

        def done(index: int, found: Sequence[GradedAnswer] | DocumentError) -> None:
            if isinstance(found, DocumentError):
                raise found
            paper, finished = papers[index]
            grades = grade_document(paper.document_id, paper.title, found)
            grades = grades.model_copy(update={"generated": finished})
            self._fresh[todo[index].key] = grades
            if not any(undecided(answer) for answer in found):
                store.write(todo[index].key, grades)
            if self.progress is not None:
                self.progress(len(self._fresh), len(todo), paper.document_id)

        grade_all([paper for paper, _ in papers], grader, done)

    def documents(self) -> list[DocumentGrades]:
        """All documents that gave an answer to grade, in order."""
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
