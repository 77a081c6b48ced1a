"""Works on one document by the batch strategy, and makes its result, including the missing questions and the reasons.

The event of each step is stored in the journal before the next step. New questions are first compared without a model. The deduplicator
compares them again later, together with their answers.
"""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property, partial, singledispatchmethod

from qagen_dagster.agents.questions import validator, wording_limits
from qagen_dagster.agents.questions.batch import answerer, questioner
from qagen_dagster.agents.questions.batch.one_reply import Task
from qagen_dagster.agents.questions.batch.shown_text import BUDGETS, Reading
from qagen_dagster.agents.questions.evidence.submission_check import unwanted
from qagen_dagster.agents.questions.generator import REFUSED, TRIVIAL
from qagen_dagster.agents.questions.mix import Mix
from qagen_dagster.agents.questions.validator import Replies
from qagen_dagster.errors import BudgetExhaustedError
from qagen_dagster.grounding.grade import grade_answer, grade_question
from qagen_dagster.grounding.judge import Judge
from qagen_dagster.grounding.source import Source
from qagen_dagster.loop.grading.grade_answers import quoted_lines
from qagen_dagster.loop.questions import model_checks
from qagen_dagster.loop.questions import state as qa
from qagen_dagster.loop.questions.batch import state as batch
from qagen_dagster.loop.questions.batch.state_machine import next_step, pair_of, replay, rule_of, transition
from qagen_dagster.loop.questions.document_journal import DocumentJournal, events_of
from qagen_dagster.loop.questions.document_work import DocumentWork, QAModels
from qagen_dagster.loop.questions.duplicates.similarity import find_duplicates
from qagen_dagster.loop.questions.result import ENDED, result_of, shortfalls, why_ended, with_missing
from qagen_dagster.loop.questions.state_machine import check_recheck, check_replies, wanted_only
from qagen_dagster.loop.questions.stopping import BatchLimits, Fit, Wanted, fit_of
from qagen_dagster.models.base import Model
from qagen_dagster.records.corpus_options import QuestionType
from qagen_dagster.records.grading import AnswerGrade
from qagen_dagster.records.ids import question_id
from qagen_dagster.records.questions import results
from qagen_dagster.records.questions.imported import NOT_COVERED
from qagen_dagster.records.questions.submissions import Comparison, JudgingAnswer

_SAMPLES = 1_000  # exceeds the attempts at a question, so each has its own sample number


def run_batch(
    work: DocumentWork, limits: BatchLimits, models: QAModels, journal: DocumentJournal
) -> results.GenerationResult:
    """Start or resume a document, and work on it to its end or until its budget is exhausted.

    Raises ModelError. After an error or an exhausted budget, a later run resumes from the journal.
    """
    answering = (models.answerer or models.generator).spec
    fit = fit_of(models.generator.spec, answering, models.validator.spec)
    wanted = limits.wanted(work.context.view.document.id)
    rest = () if limits.mix is None else limits.mix.counts[1:]
    mix = Mix(counts=({kind.value: count for kind, count in wanted}, *rest))
    limits = limits.model_copy(update={"fit": fit, "mix": mix})
    run = DocumentRun(work, limits, models)
    events: tuple[batch.BatchEvent, ...] = events_of(batch.BatchEvent, journal)
    state, taken = replay(events, limits, run.wanted)
    used: list[batch.BatchEvent] = list(events[:taken])
    while not isinstance(step := next_step(state, limits, run.wanted), qa.Done):
        try:
            event = run.perform(step, state)
        except BudgetExhaustedError as error:
            step = qa.Done(end=results.DocumentEnd.BUDGET_EXHAUSTED, detail=str(error))
            break
        check_recheck(state.qa, event)
        journal.append(event)
        used.append(event)
        state = transition(state, event)
    check_replies(state.qa, step)
    calls = tuple(call for event in used for call in event.calls)
    return _batch_result(work, models, state, limits, step, run.reading, calls)


@dataclass(frozen=True)
class DocumentRun:
    """Performs the steps of one document."""

    work: DocumentWork
    limits: BatchLimits
    models: QAModels

    @cached_property
    def wanted(self) -> Wanted:
        return self.limits.wanted(self.work.context.view.document.id)

    @cached_property
    def reading(self) -> Reading:
        return Reading(self.work.context.view)

    @cached_property
    def source(self) -> Source:
        return Source("\n".join(self.work.context.view.lines))

    def _left(self, state: batch.BatchState) -> Mix:
        """The number of questions of each kind that are still wanted."""
        mix = self.limits.mix or Mix(counts=())
        return mix.without([one.candidate for one in state.qa.accepted])

    @property
    def _answerer(self) -> Model:
        return self.models.answerer or self.models.generator

    @singledispatchmethod
    def perform(self, step: batch.Step, state: batch.BatchState) -> batch.BatchEvent:
        """Perform one step. Raises ModelError."""
        raise ValueError("a finished document has no step to perform")

    @perform.register
    def _grade_answer(self, step: batch.GradeAnswer, state: batch.BatchState) -> batch.AnswerGraded:
        return batch.AnswerGraded(grade=self._graded(step.candidate, state))

    @perform.register
    def _settle(self, step: batch.Settle, state: batch.BatchState) -> qa.Proposed:
        return qa.Proposed(candidate=unwanted(step.candidate, self._left(state)))

    @perform.register
    def _compare(self, step: qa.Dedupe, state: batch.BatchState) -> qa.Compared:
        return model_checks.compare(step, state.qa, self.work, self.models)

    @perform.register
    def _grade_question(self, step: batch.GradeQuestion, _state: batch.BatchState) -> batch.QuestionGraded:
        context = self.work.context
        document, values = context.view.document, context.task_values()
        about = document.metadata
        known = (document.source, about.title or "", *about.authors, about.date or "", *values.values())
        hypothetical = step.draft.question_type is QuestionType.COUNTERFACTUAL
        limits, metadata = wording_limits.limits_of(context.scenario), "\n".join(known)
        own_words = limits is not None and limits.shared < 1
        grade = grade_question(
            step.question, self.source, metadata=metadata, hypothetical=hypothetical, own_words=own_words
        )
        return batch.QuestionGraded(number=step.draft.number, grade=grade)

    @perform.register
    def _ask(self, step: batch.Ask, state: batch.BatchState) -> batch.Asked:
        wanted = questioner.asked_for(dict(step.wanted), step.most)
        found = questioner.propose(
            self.work.context,
            self.models.generator,
            self.reading,
            wanted,
            questioner.Told(
                _known(state), [*_avoided(self.work), *_rejected(state)], self._left(state).told(1)
            ),
            step.round,
        )
        texts = [one.question for one in found.questions]
        drafts: list[batch.Draft] = []
        duplicates: list[batch.DuplicateDraft] = []
        matches = find_duplicates(texts, _every(state), self.models.encode, self.limits.options.similarity)
        for question, duplicate in zip(found.questions, matches, strict=True):
            number = len(state.drafts) + len(drafts) + 1
            draft = batch.Draft(**question.shared(batch.Draft), number=number, parts=found.parts)
            if duplicate is None:
                drafts.append(draft)
            else:
                how = "exact" if duplicate.exact else "similarity"
                duplicates.append(
                    batch.DuplicateDraft(
                        draft=draft, of=duplicate.of, detail=duplicate.detail, score=duplicate.score, step=how
                    )
                )
        return batch.Asked(
            drafts=tuple(drafts),
            repeats=tuple(duplicates),
            not_possible=found.not_possible,
            parts=found.parts,
            failure=found.failure,
            fit=_fit("questions", found.was_cut, len(found.questions), sum(wanted.values())),
            calls=found.calls,
        )

    @perform.register
    def _rewrite(self, step: batch.Rewrite, state: batch.BatchState) -> batch.Rewritten:
        current = step.current
        own = {current.draft.question, *(one.question for one in current.versions)}
        kind, tried = current.draft.question_type, _tried(current)
        rejection = questioner.Rejection(step.question, kind, step.reason, tried)
        found = self._reworded(rejection, own, state, current.rewrites)
        return found.model_copy(update={"dropped": step.reason if step.drop else ""})

    def _reworded(
        self, rejection: questioner.Rejection, own: set[str], state: batch.BatchState, tries: int
    ) -> batch.Rewritten:
        """Another wording of a question. It is refused if it repeats another question, or a former wording (`own`)."""
        old = rejection.question
        known = [one for one in _known(state) if one[0] not in (old, *own)]
        found = questioner.rewrite(
            self.work.context,
            self.models.generator,
            self.reading,
            rejection,
            questioner.Told(known),
            self._passages(state, old, tries, self.models.generator),
        )
        others, why = [one for one in (*_every(state), old) if one not in own], ""
        if found.question in own:
            why = "it is the rejected question again"
        elif found.question:
            (match,) = find_duplicates(
                [found.question], others, self.models.encode, self.limits.options.similarity
            )
            why = "" if match is None else f"it repeats {match.of!r}"
        refused = {"question": "", "failure": why, "refused": found.question} if why else {}
        return found.model_copy(update=refused)

    @perform.register
    def _answer(self, step: batch.Answer, state: batch.BatchState) -> batch.Answered:
        draft = step.current.draft
        asked = answerer.Asked(step.question, draft.question_type, step.rejected)
        task = self._answer_task(state, draft, asked, len(step.current.tries))
        return answerer.answer(self.work.context, self._answerer, self.reading, asked, task)

    @perform.register
    def _prepare(self, step: batch.Prepare, state: batch.BatchState) -> batch.Prepared:
        asked = [answerer.Asked(one.question, one.question_type) for one in step.drafts]
        words = " ".join(one.question for one in step.drafts)
        task = self._task(state, step.drafts[0].parts, words, 0)
        found = answerer.answer_all(self.work.context, self._answerer, self.reading, asked, task)
        answers = tuple(
            batch.PreparedAnswer(number=one.number, candidate=answer)
            for one, answer in zip(step.drafts, found.candidates, strict=True)
            if answer is not None
            or not found.was_cut  # answers that were cut off are requested again in a smaller group
        )
        fit = _fit("answers", found.was_cut, len(answers), len(asked))
        return batch.Prepared(answers=answers, fit=fit, calls=found.calls)

    @perform.register
    def _answer_blind(self, step: batch.AnswerBlind, _state: batch.BatchState) -> batch.BlindAnswered:
        found = validator.answer_blind(self.work.context, self.models.validator, step.questions, step.attempt)
        fit = _fit("blind", found.was_cut, len(found.found), len(step.questions))
        # Questions without an answer are asked again together. If none has an answer, each is asked alone, unless the reply was cut off.
        asked = () if found.was_cut else step.questions
        answers = {one: own for one, own in found.found.items() if isinstance(own, JudgingAnswer)}
        guesses, known = (Replies[str]({}), [one for one, own in answers.items() if own.answerable])
        if known and self.work.context.scenario.closed_book:
            guesses = validator.guess(self.work.context, self.models.validator, known, step.attempt)
        calls, answers = (*found.calls, *guesses.calls), answers or dict.fromkeys(asked)
        return batch.BlindAnswered(answers=answers, guesses={**guesses.found}, fit=fit, calls=calls)

    @perform.register
    def _compare_answers(self, step: batch.CompareAnswers, state: batch.BatchState) -> batch.BlindAnswered:
        pairs = [pair for one in step.candidates if (pair := pair_of(state, one)) is not None]
        made = validator.compare(self.work.context, self.models.validator, pairs, step.attempt)
        # Pairs without a comparison are compared again together. If none has a comparison, each is compared alone.
        found: dict[str, Comparison | None] = {**made.found} or dict.fromkeys(one.key for one in pairs)
        return batch.BlindAnswered(answers={}, comparisons=found, calls=made.calls)

    @perform.register
    def _validate(self, step: qa.Validate, state: batch.BatchState) -> qa.Judged | qa.Controlled:
        one, pair = step.candidate, pair_of(state, step.candidate)
        found = None if pair is None else Replies({one.question: pair.blind})
        compared = None if pair is None else state.compared.get(pair.key)
        rule, writer = rule_of(one), self._answerer
        guess = state.guesses.get(one.question, "")
        return model_checks.judge(
            step, state.qa, self.work, self.models, writer, found, rule, compared, guess
        )

    @perform.register
    def _mend(self, step: qa.Mend, state: batch.BatchState) -> batch.Reanswered:
        """Ask once more for an answer that the validator refused, or for another wording of a trivial question.

        If the same reply comes again, nothing is corrected.
        """
        refused = step.candidate
        draft = next(one for one in state.drafts if one.number == state.taken[-1])
        question, calls, rejected = refused.question, (), ()
        if step.reason is results.RejectionReason.TRIVIAL:
            reason = f"{TRIVIAL} ({step.detail})"
            rejection = questioner.Rejection(question, draft.question_type, reason)
            reworded = self._reworded(rejection, set(), state, _SAMPLES - 2)
            question, calls = reworded.question, reworded.calls
            if not question:
                return batch.Reanswered(mended=qa.Mended(candidate=None, calls=calls))
        else:
            rejected = ((refused.answer, REFUSED[step.reason]),)
        asked = answerer.Asked(question, draft.question_type, rejected)
        task = self._answer_task(state, draft, asked, _SAMPLES - 1)
        found = answerer.answer(self.work.context, self._answerer, self.reading, asked, task)
        new_candidate, calls = found.candidate, (*calls, *found.calls)
        if new_candidate is None or new_candidate == refused or new_candidate.gate is not None:
            return batch.Reanswered(
                mended=qa.Mended(candidate=None if new_candidate == refused else new_candidate, calls=calls)
            )
        grade = self._graded(new_candidate, state)
        fault = batch.fault_of(
            grade, self.limits.options.min_answer_confidence, computed=bool(new_candidate.computation)
        )
        if fault is not None and not self.limits.options.publish_ungrounded:
            new_candidate = new_candidate.model_copy(
                update={"gate": results.RejectionReason.UNGROUNDED, "gate_detail": fault}
            )
        mended = qa.Mended(candidate=new_candidate, calls=(*calls, *grade.calls))
        return batch.Reanswered(mended=mended, grade=grade)

    def _graded(self, candidate: results.Candidate, state: batch.BatchState) -> AnswerGrade:
        model, document_id = self.models.judge, self.work.context.view.document.id
        attempt, quoted = state.qa.attempts + 1, quoted_lines(candidate.evidence)
        judge = None if model is None else Judge(model, document_id, attempt, quoted, must_reply=True)
        source = self.source.deriving(candidate.computation)
        return grade_answer(candidate.question, candidate.answer, source, self.limits.method, judge)

    def _task(self, state: batch.BatchState, parts: tuple[int, ...], question: str, tries: int) -> Task:
        """The parts that the question was written from. If the provider has not cached them for the answerer, the parts that share the
        words of the question are added. If they are too long for the model, fewer parts are chosen."""
        shown = parts if self._is_cached(self._answerer) else self.reading.beside(parts, question)
        fewer = [self.reading.near(question, budget) for budget in BUDGETS[1:]]
        return _sampled(state, [shown, *fewer], tries)

    def _answer_task(
        self, state: batch.BatchState, draft: batch.Draft, asked: answerer.Asked, tries: int
    ) -> Task:
        """The task for an answer. The first answer gets the parts of `_task`. A later answer or a new wording gets the `_passages`.

        A question that asks for a count always gets the parts of `_task`.
        """
        words = " ".join((asked.question, *(answer for answer, _ in asked.rejected)))
        first = not tries and asked.question == draft.question
        if first or draft.question_type is QuestionType.AGGREGATION:
            return self._task(state, draft.parts, words, tries)
        return self._passages(state, words, tries, self._answerer)

    def _passages(self, state: batch.BatchState, words: str, tries: int, model: Model) -> Task:
        """The passages that share these words, or the whole body if the provider has cached it for the model."""
        whole = self._is_cached(model) and self.reading.has_body(self.reading.choose(1, BUDGETS[0]))
        budgets = BUDGETS if whole else BUDGETS[2:]
        return _sampled(state, [self.reading.near(words, budget) for budget in budgets], tries)

    def _is_cached(self, model: Model) -> bool:
        """Whether the provider's cache for `model` probably has the text that the generator saw, because both are the same model.
        False if `model` is called through provider batches, because a batch takes longer than the cache lasts."""
        spec, writer = model.spec, self.models.generator.spec
        return spec.execution == "direct" and (spec.name, spec.base_url) == (writer.name, writer.base_url)


def _fit(what: str, was_cut: bool, whole: int, asked: int) -> Fit:
    """The limit after a reply that was cut off: its complete items, or else half of the requested items. No limit if nothing was cut."""
    return Fit(**{what: max(1, whole or asked // 2)}) if was_cut else Fit()


def _sampled(state: batch.BatchState, choices: list[tuple[int, ...]], tries: int) -> Task:
    attempt = state.qa.attempts + 1
    return Task(choices, attempt=attempt, sample=attempt * _SAMPLES + tries)


def _tried(current: batch.Current) -> tuple[tuple[str, str], ...]:
    """The refused wordings with their reasons, without the wording that the prompt shows as rejected."""
    graded = (
        (one.question, "; ".join(one.grade.issues))
        for one in current.versions[1:]
        if one.grade is not None and one.grade.issues
    )
    return (*graded, *current.refused)


def _known(state: batch.BatchState) -> list[tuple[str, QuestionType]]:
    """Accepted questions in their last wording, and waiting questions, with their types."""
    accepted = [
        (one.candidate.question, QuestionType(one.candidate.question_type)) for one in state.qa.accepted
    ]
    waiting = [(one.question, one.question_type) for one in state.drafts if one.number not in state.taken]
    return [*accepted, *waiting]


def _every(state: batch.BatchState) -> list[str]:
    """All questions so far, including rejected questions. No question should be asked again."""
    current = [one.question for one in state.current.versions] if state.current is not None else []
    accepted = [one.candidate.question for one in state.qa.accepted]
    return list(dict.fromkeys((*(one.question for one in state.drafts), *accepted, *current)))


def _avoided(work: DocumentWork) -> list[tuple[str, str]]:
    """The questions that reviewers rejected, with the reasons, and the questions of people that the set does not cover."""
    avoided = [
        (one.question, f"{one.rejection_reason.value}: {one.rejection_detail}") for one in work.avoided
    ]
    return [*avoided, *((one, NOT_COVERED) for one in work.missing)]


def _rejected(state: batch.BatchState) -> list[tuple[str, str]]:
    return [
        (one.candidate.question, f"{one.reason.value}: {one.detail}")
        for one in state.qa.rejected
        if one.candidate.question
    ]


def _batch_result(
    work: DocumentWork,
    models: QAModels,
    state: batch.BatchState,
    limits: BatchLimits,
    done: qa.Done,
    reading: Reading,
    calls: tuple[results.CallSummary, ...],
) -> results.GenerationResult:
    """The result of a finished document, with the wanted questions, and a shortfall for each kind with missing questions."""
    chosen = state.qa.model_copy(update={"accepted": wanted_only(state.qa.accepted, limits)})
    written = Counter(one.question_type.value for one in state.drafts)
    missing = shortfalls(chosen, limits.mix, partial(_why, state, done), written)
    shown = reading.spans(state.parts) if state.parts else ()
    end = done.model_copy(update={"detail": _detail(done, missing, shown, work)})
    result = result_of(work, models, chosen, end, calls)
    return result.model_copy(update={"shortfalls": missing, "grades": _grades(state, work), "shown": shown})


def _why(state: batch.BatchState, done: qa.Done, kind: str) -> str:
    """The generator's statement about a type, or else the reason why the work ended."""
    impossible = {one.value: why for one, why in state.not_possible.items()}.get(kind)
    by_generator = f"the generator: {impossible}" if impossible else ""
    if impossible and done.end not in ENDED:
        return by_generator
    return "; ".join(filter(None, (by_generator, why_ended(done))))


def _detail(
    done: qa.Done,
    missing: tuple[results.Shortfall, ...],
    shown: tuple[results.LineSpan, ...],
    work: DocumentWork,
) -> str:
    lines = sum(span.end - span.start + 1 for span in shown)
    parts = [
        with_missing(done.detail, missing),
        f"the generator was shown {lines} of {len(work.context.view.lines)} lines, in {len(shown)} places"
        if shown
        else "",
    ]
    return "; ".join(filter(None, parts))


def _grades(state: batch.BatchState, work: DocumentWork) -> dict[str, AnswerGrade]:
    document = work.context.view.document.id
    return {
        question_id(work.combination, document, one.question, one.answer): one.grade for one in state.graded
    }
