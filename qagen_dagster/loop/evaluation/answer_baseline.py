"""Answers the published questions from their own documents, with one search and one call of the answerer each, and scores the answers.

Nothing is downloaded. A full text is used only if it is already stored.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from statistics import fmean

from qagen_dagster.agents import answering as document_answer
from qagen_dagster.agents.next_step import is_unusable
from qagen_dagster.answering.answer_from_document import Place, answer_from_document, load_texts
from qagen_dagster.configuration.profiles import Role
from qagen_dagster.grounding import claim_rules
from qagen_dagster.grounding.judge import judge_prompt
from qagen_dagster.grounding.source import Source
from qagen_dagster.index.search import index_fingerprint
from qagen_dagster.loop.answering import corpus_place
from qagen_dagster.loop.evaluation import run_questions
from qagen_dagster.loop.evaluation.answer_marks import exact, token_f1
from qagen_dagster.loop.grading.grade_answers import AnswerToGrade, Grader
from qagen_dagster.loop.grading.grade_set import judge_spec, picture_of
from qagen_dagster.loop.statistics import share_with_bounds
from qagen_dagster.models.base import Model
from qagen_dagster.records.answer import QAError, SemanticSearchAnswer
from qagen_dagster.records.document import SearchIndex
from qagen_dagster.records.evaluation import AnswerReport, BaselineAnswer, DocumentEvaluation, Kind
from qagen_dagster.records.grading import AnswerGrade, Method
from qagen_dagster.records.ids import Mode, content_hash
from qagen_dagster.records.questions.results import QAPair

VERSION = "1"  # increase if the same responses would get different scores
_AGAIN = (QAError.EMBEDDING_FAILED, QAError.SEMANTIC_SEARCH_FAILED, QAError.DATABASE_ERROR)
_KEPT_SOURCES = 64  # documents whose sentences are kept for further questions


def plan_answers(found: run_questions.Evaluation) -> run_questions.EvaluationPlan:
    """Plan the evaluation: the questions, and everything that the results depend on."""
    how, known = answers_setup(found).how, _indexed(found)
    return run_questions.plan_evaluation(
        found, Kind.ANSWERS, lambda name: (*how, *_document(found, name, known))
    )


def measure_answers(
    found: run_questions.Evaluation, progress: run_questions.Progress | None = None
) -> AnswerReport:
    """Answer every published question from its own document, score the answers and store the report. Raises ConfigError and StoreError, and
    ModelError if a model is not available or fails for several consecutive questions."""
    planned, setup = plan_answers(found), answers_setup(found)
    answerer = found.model(setup.specs[Role.ANSWERER])
    judge = None if setup.judge is None else found.model(setup.judge)
    place = corpus_place(found.space, found.combination.corpus, found.profile_name, found.meter)
    evaluator = _AnswerEvaluator(found, place, answerer, judge, Grader(_method(found)))
    record = DocumentEvaluation[BaselineAnswer]
    questions = run_questions.EvaluationRun(found, evaluator.ask, BaselineAnswer, record, progress).run(
        planned, answerer
    )
    metrics = dict(_metrics(questions))
    return run_questions.make_report(found, Kind.ANSWERS, questions, metrics, planned.fingerprint, setup)


def _metrics(questions: Sequence[BaselineAnswer]) -> Iterator[tuple[str, float]]:
    scored = [question for question in questions if question.f1 is not None]
    grounded = [
        question.grading.is_grounded
        for question in scored
        if question.grading is not None and question.grading.is_grounded is not None
    ]
    if scored:
        yield "exact_match", round(fmean(bool(one.exact) for one in scored), 4)
        yield "token_f1", round(fmean(one.f1 or 0.0 for one in scored), 4)
        yield "answered_share", round(fmean(one.answerable is not False for one in scored), 4)
    graded = sum(one.grading is not None for one in scored)
    yield from share_with_bounds("grounded_share", grounded, graded).items()
    yield "grounded", float(sum(grounded))
    yield "ungrounded", float(len(grounded) - sum(grounded))
    yield "not_measured", float(graded - len(grounded))
    yield "failed", float(sum(bool(question.failure) for question in questions))


def _method(found: run_questions.Evaluation) -> Method:
    combination = found.combination
    return found.space.corpus(combination.corpus).scenario(combination.scenario).grading.method


def answers_setup(found: run_questions.Evaluation) -> run_questions.Setup:
    """The setup. A temperature in the corpus's options replaces the answerer's. There is a judge if the grading method needs a judge."""
    options = found.space.corpus(found.combination.corpus).config.answering
    spec = found.profile.spec(Role.ANSWERER, found.combination.mode)
    if options.temperature is not None:
        spec = spec.model_copy(update={"temperature": options.temperature})
    judge = judge_spec(found.profile, _method(found), found.combination.mode)
    how = (
        VERSION,
        *run_questions.identities(spec),
        document_answer.prompt().hash,
        options.model_dump_json(exclude={"fulltext"}),
        _method(found).value,
        claim_rules.VERSION,
        *(() if judge is None else (*run_questions.identities(judge), judge_prompt().hash)),
    )
    return run_questions.Setup(
        how, spec.name, judge, {Role.ANSWERER: spec} | ({} if judge is None else {Role.JUDGE: judge})
    )


def _indexed(found: run_questions.Evaluation) -> dict[str, str]:
    """For each document whose current text is in the search index, the fingerprint of the index. Empty if there is no index."""
    index = found.space.store.find(SearchIndex.key(found.combination.corpus), SearchIndex)
    if index is None:
        return {}
    texts = index.texts
    same = (name for name, entry in found.entries.items() if texts.get(name) == entry.text_sha256)
    return dict.fromkeys(same, index.fingerprint)


def _document(found: run_questions.Evaluation, name: str, indexed: dict[str, str]) -> tuple[str, ...]:
    """The fingerprint of a document's search index, or else of the index to be built for it, and hashes of its texts and title."""
    chunking = found.space.corpus(found.combination.corpus).config.index
    texts = load_texts(found.space.store, found.combination.corpus, name)
    shown = (
        ()
        if texts is None
        else (texts.abstract or "", texts.fulltext or "", texts.document.metadata.title or "")
    )
    here = indexed.get(name) or index_fingerprint(found.profile.embedder, chunking)
    return (here, *(content_hash(text.encode("utf-8", "surrogatepass")) for text in shown))


class _AnswerEvaluator:
    """Answers one question. Called from many threads."""

    def __init__(
        self,
        found: run_questions.Evaluation,
        place: Place,
        answerer: Model,
        judge: Model | None,
        grader: Grader,
    ) -> None:
        self._found, self._place, self._answerer = found, place, answerer
        self._judge, self._grader = judge, grader
        self._source = lru_cache(_KEPT_SOURCES)(self._read)

    def ask(self, session: run_questions.Session) -> BaselineAnswer:
        """The answer with its scores; after a failure, the reason without scores. Raises ModelError if a call of the answerer failed."""
        pair, unanswered = session.pair, run_questions.blank(BaselineAnswer, session.pair)
        answerer = session.recorded(self._answerer, Role.ANSWERER.value)

        def model(_name: str | None, _temperature: float | None) -> Model:
            return answerer

        place = replace(self._place, model=model)
        answered = answer_from_document(pair.document_id, pair.question, place=place, download_missing=False)
        if answered.error is not None:
            if answerer.error is not None:
                raise answerer.error
            why = answered.error_message or answered.error.description
            again = {"unheard": answered.error in _AGAIN, "failure": why, "error": answered.error}
            return unanswered.model_copy(update=again)
        scored = unanswered.model_copy(update=_scores(answered, pair))
        again = answered.fulltext_error in _AGAIN
        if answered.answerable is False:
            return scored.model_copy(update={"unheard": again})
        grading, heard = self._grading(session, answered.answer)
        return scored.model_copy(update={"grading": grading, "unheard": again or not heard})

    def _grading(self, session: run_questions.Session, answer: str) -> tuple[AnswerGrade, bool]:
        """Returns (grade, heard). `heard` is False if the judge's call failed or no reply was usable, so that the answer must be graded
        again. If the judge was not asked, `heard` is True."""
        pair = session.pair
        judge = None if self._judge is None else session.recorded(self._judge, Role.JUDGE.value)
        picture = picture_of(pair) if pair.category is Mode.VISUAL else ""
        asked = AnswerToGrade(id=pair.id, question=pair.question, answer=answer, picture=picture)
        grader = replace(self._grader, judge=judge)
        graded = grader.grade(self._source(pair.document_id), pair.document_id, asked).grading
        heard = judge is None or (judge.error is None and not is_unusable(graded.judge_failure))
        return graded.model_copy(update={"calls": ()}), heard

    def _read(self, document_id: str) -> Source:
        texts = load_texts(self._place.store, self._place.corpus, document_id)
        return Source("" if texts is None else texts.fulltext or texts.own)


def _scores(answered: SemanticSearchAnswer, pair: QAPair) -> dict[str, object]:
    cited = (
        (chunk.start_line, chunk.end_line)
        for chunk in answered.chunks_used or ()
        if chunk.start_line is not None and chunk.end_line is not None
    )
    return {
        "given": answered.answer,
        "answerable": answered.answerable,
        "confidence": answered.confidence,
        "exact": exact(answered.answer, pair.answer),
        "f1": token_f1(answered.answer, pair.answer),
        "source": answered.source,
        "cited_lines": tuple(cited),
    }
