"""Answers a published set with several answerers, and derives facts about each question from their answers.

An answerer is a reader with its input: the passages that one ranking finds first in the corpus or in the question's document, or
nothing. The embedded reader is always in the panel, and the models of a profile join it.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from math import isnan
from statistics import fmean

from qagen_dagster.agents import answering as document_answer
from qagen_dagster.agents import evaluation
from qagen_dagster.agents.answering import Excerpt, answer_from_excerpts
from qagen_dagster.agents.next_step import is_unusable
from qagen_dagster.agents.runner import unfinished
from qagen_dagster.configuration.profiles import Role
from qagen_dagster.english.answers import Match, match
from qagen_dagster.grounding.judge import RecordingModel
from qagen_dagster.loop.evaluation import run_questions
from qagen_dagster.loop.evaluation.answer_marks import mark_answer
from qagen_dagster.loop.evaluation.ranking_measures import NAMES
from qagen_dagster.loop.evaluation.relevance_labels import closeness
from qagen_dagster.loop.evaluation.retrieval_baseline import retrieval_fingerprint
from qagen_dagster.loop.index import CorpusSearch, open_index
from qagen_dagster.loop.statistics import Scores
from qagen_dagster.models.base import Model
from qagen_dagster.models.call_cost import FREE_PROVIDERS
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.document import Ranking
from qagen_dagster.records.evaluation import DocumentEvaluation, Kind, PanelAnswer, PanelQuestion, PanelReport
from qagen_dagster.records.ids import Mode
from qagen_dagster.records.questions.results import QAPair

VERSION = "4"  # increase if the same responses would get different verdicts
FEWEST = 8  # minimum number of answerers that read, for the two-parameter model
STRONG = 3  # minimum number of strong answerers; if more than nine answerers read, the best third is strong
RELIABLE = 0.9  # minimum share of right answers of the best answerer, among questions without a suspicion
_HALF = 0.5  # the score of an undecided answer
_ROLES = (Role.ANSWERER, Role.VALIDATOR, Role.JUDGE)
_DEPTHS, _USUAL = (1, 3), 5  # numbers of passages that are shown


@dataclass(frozen=True)
class Answerer:
    """A reader, and the ranking whose first passages it reads. If the ranking is None, it reads nothing."""

    reader: ModelSpec
    ranking: Ranking | None
    depth: int = 0
    own: bool = False  # whether only the document of the question is searched

    @property
    def name(self) -> str:
        shown = "no documents" if self.ranking is None else f"{NAMES[self.ranking]}@{self.depth}"
        return f"{self.reader.name} {shown}{' of its document' if self.own else ''}"


def answerers(found: run_questions.Evaluation) -> tuple[Answerer, ...]:
    """The panel: the embedded reader with each ranking, and the models of the answerer, the validator and the judge, if the profile has
    them.

    The embedded reader searches the corpus at each of `_DEPTHS` and the question's document at `_USUAL`. Each other model answers three
    times: from `_USUAL` passages of the corpus (fused ranking), from as many of the question's document, and without a passage.
    """
    reader = ModelSpec(provider="embedded", model="reader")
    panel = [Answerer(reader, ranking, depth) for ranking in Ranking for depth in _DEPTHS]
    panel += [Answerer(reader, ranking, _USUAL, own=True) for ranking in Ranking]
    roles = (found.profile.find(role, found.combination.mode) for role in _ROLES)
    bound = {spec.name: spec for spec in roles if spec is not None and spec.provider != reader.provider}
    for spec in bound.values():
        searches = (Answerer(spec, Ranking.BOTH, _USUAL, own=own) for own in (False, True))
        panel += [*searches, Answerer(spec, None)]
    return tuple(panel)


def panel_setup(found: run_questions.Evaluation) -> run_questions.Setup:
    """The setup. Its judge, which compares answers if code cannot decide, is None if the profile has no judge."""
    panel, judge = answerers(found), found.profile.find(Role.JUDGE, found.combination.mode)
    readers = _readers(panel)
    prompts = (*evaluation.prompts(), document_answer.prompt())
    known = run_questions.identities(*readers.values(), judge)
    how = (VERSION, *known, *(one.name for one in panel), *(prompt.hash for prompt in prompts))
    return run_questions.Setup(how, ", ".join(readers), judge)


def _readers(panel: Sequence[Answerer]) -> dict[str, ModelSpec]:
    return {one.reader.name: one.reader for one in panel}


def plan_panel(found: run_questions.Evaluation) -> run_questions.EvaluationPlan:
    """Plan the answers. Raises StoreError if there is no index."""
    how = (*panel_setup(found).how, retrieval_fingerprint(found))
    return run_questions.plan_evaluation(found, Kind.PANEL, lambda _: how)


def ask_panel(found: run_questions.Evaluation, progress: run_questions.Progress | None = None) -> PanelReport:
    """Let the panel answer every question and store the report. Raises ConfigError, StoreError if there is no index, and ModelError if a
    model is not available or fails for several consecutive questions."""
    planned, setup, panel = plan_panel(found), panel_setup(found), answerers(found)
    specs = _readers(panel) | ({} if setup.judge is None else {setup.judge.name: setup.judge})
    models = {name: found.model(spec) for name, spec in specs.items()}
    slowest = next((model for model in models.values() if model.spec.provider not in FREE_PROVIDERS), None)
    record = DocumentEvaluation[PanelQuestion]
    with closing(open_index(found.space, found.combination.corpus, found.meter)) as search:
        ask = _Panel(found, search, panel, models, setup.judge_name).ask
        run = run_questions.EvaluationRun(found, ask, PanelQuestion, record, progress)
        questions = confirmed(rated(run.run(planned, slowest)), found.text)
    metrics = _metrics(questions)
    return run_questions.make_report(found, Kind.PANEL, questions, metrics, planned.fingerprint, setup)


@dataclass(frozen=True)
class _Panel:
    """Lets all answerers answer one question. Called from many threads."""

    found: run_questions.Evaluation
    search: CorpusSearch
    answerers: tuple[Answerer, ...]
    models: Mapping[str, Model]
    judge: str

    def ask(self, session: run_questions.Session) -> PanelQuestion:
        """The question with the marked answers; with a failure if it cannot be asked."""
        pair, asked = session.pair, run_questions.blank(PanelQuestion, session.pair)
        entry = self.found.entries.get(pair.document_id)
        if pair.category is Mode.VISUAL or entry is None or not self.search.holds(entry):
            why = "a picture or another version of its document is asked about, and answerers read the text of the index"
            return asked.model_copy(update={"failure": why})
        models = {name: session.recorded(model, Role.ANSWERER.value) for name, model in self.models.items()}
        seen: dict[object, str] = {}  # several searches may find the same passages in the same order
        answers: list[PanelAnswer] = []
        for answerer in self.answerers:
            shown = self._shown(pair, answerer)
            key = (answerer.reader.name, None if shown is None else tuple(shown))
            if key not in seen:
                seen[key] = self._answer(pair, models[answerer.reader.name], shown)
            marked = mark_answer(
                pair.question, pair.answer, seen[key], models.get(self.judge), Role.JUDGE.value
            )
            if is_unusable(marked.failure):
                raise unfinished(marked.failure)
            right, reads = marked.result and marked.result.right, shown is not None
            answers.append(PanelAnswer(answerer=answerer.name, given=seen[key], right=right, reads=reads))
        return asked.model_copy(update={"answers": tuple(answers)})

    def _shown(self, pair: QAPair, answerer: Answerer) -> list[Excerpt] | None:
        """The passages that an answerer reads; None if it reads nothing."""
        if answerer.ranking is None:
            return None
        within = pair.document_id if answerer.own else None
        hits = self.search.searcher.search(within, pair.question, answerer.depth, -1.0, answerer.ranking)
        places = ((hit.chunk, self.found.text(hit.document_id)) for hit in hits)
        return [
            Excerpt(at, chunk.start_line, text[chunk.start : chunk.end])
            for at, (chunk, text) in enumerate(places, 1)
        ]

    def _answer(self, pair: QAPair, model: RecordingModel, shown: Sequence[Excerpt] | None) -> str:
        """The answer of a reader; empty if it finds no answer. Raises MalformedResponseError if none of its replies was usable."""
        if shown is None:
            context = self.found.space.corpus(self.found.combination.corpus).config.corpus_context
            guess = evaluation.guess(model, pair.question, context)
            answer, failure = guess.result and guess.result.answer, guess.failure
        else:
            run = answer_from_excerpts(model, pair.question, None, shown, document_id=pair.document_id)
            answer, failure = run.submitted and run.submitted.answerable and run.submitted.answer, run.failure
        if is_unusable(failure):
            raise unfinished(failure)
        return answer or ""


def rated(questions: Sequence[PanelQuestion]) -> tuple[PanelQuestion, ...]:
    """The questions, in the same order, with the statistics that follow from all answers. A question without answers is not changed."""
    asked = [question for question in questions if question.answers]
    if not asked:
        return tuple(questions)
    reading = [at for at, answer in enumerate(asked[0].answers) if answer.reads]
    right = [[_HALF if (r := one.answers[at].right) is None else float(r) for one in asked] for at in reading]
    best = sorted(range(len(reading)), key=lambda row: -fmean(right[row]))[: max(STRONG, len(reading) // 3)]
    scores = Scores(right)
    slopes, levels = scores.two_parameters() if len(reading) >= FEWEST else ([None] * len(asked),) * 2
    found: dict[str, PanelQuestion] = {}
    for column, one in enumerate(asked):
        correlation = float(scores.discrimination(column)[0])
        guesses = [answer.right for answer in one.answers if not answer.reads and answer.right is not None]
        facts = {
            "share_right": fmean(row[column] for row in right),
            "discrimination": None if isnan(correlation) else correlation,
            "slope": slopes[column],
            "difficulty": levels[column],
        }
        found[one.question_id] = one.model_copy(
            update={
                **{name: None if value is None else round(value, 4) for name, value in facts.items()},
                **suspicion(one.answer, [one.answers[reading[row]] for row in best]),
                "leaked": any(guesses) if guesses else None,
            }
        )
    return tuple(found.get(question.question_id, question) for question in questions)


def confirmed(questions: Sequence[PanelQuestion], text: Callable[[str], str]) -> tuple[PanelQuestion, ...]:
    """The questions, with fewer suspects if even the best answerer is right for less than the share RELIABLE.

    A question then stays suspected only if its document has the other answer closer to the words of the question than the published answer.
    """
    known = _metrics([question for question in questions if not question.suspected])
    reliable = max((share for name, share in known.items() if name.startswith("right")), default=0.0)

    def stays(question: PanelQuestion) -> bool:
        asked, document = question.question, text(question.document_id)
        other, key = closeness(asked, question.other, document), closeness(asked, question.answer, document)
        return reliable >= RELIABLE or other > key

    return tuple(one.model_copy(update={"suspected": one.suspected and stays(one)}) for one in questions)


def suspicion(key: str, strong: Sequence[PanelAnswer]) -> dict[str, object]:
    """The wrong answer that is most frequent in `strong`, the share of `strong` that gives it, and whether all of `strong` give it. `key`
    is the published answer. An undecided answer counts as wrong if it has nothing in common with `key`. `strong` must not be empty."""
    wrong = [
        one.given
        for one in strong
        if one.given and (one.right is False or (one.right is None and match(one.given, key) is Match.APART))
    ]
    same = ([other for other in wrong if match(one, other) is Match.SAME] for one in wrong)
    best = max([*same, wrong[:0]], key=len)
    share = len(best) / len(strong)
    return {"other": next(iter(best), ""), "suspicion": round(share, 4), "suspected": share == 1}


def _metrics(questions: Sequence[PanelQuestion]) -> dict[str, float]:
    asked = [question for question in questions if question.answers]
    right: dict[str, list[float]] = {}
    for answer in (answer for one in asked for answer in one.answers):
        right.setdefault(answer.answerer, []).append(_HALF if answer.right is None else answer.right)
    leaked = [one.leaked for one in asked if one.leaked is not None]
    shares = {f"right: {name}": values for name, values in right.items()} | {"leaked_share": leaked}
    shares["suspected_share"] = [one.suspected for one in asked]
    means = {name: round(fmean(values), 4) for name, values in shares.items() if values}
    return {"answerers": float(len(right))} | means
