"""Labels which passages of the corpus answer each published question, and which of the passages that searches find do not answer it.

The pool of a question has the passages that each ranking finds first, and the passages with its evidence. Code grades a passage that has
a quote, or the answer near most words of the question. If the scenario has `judge_labels` and the profile has a judge, the judge
grades the other passages. Otherwise the other passages stay unjudged; some of them may be relevant. In each round of feedback, each
relevant passage is the query of a search, and the best passages of these searches join the pool.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import lru_cache

from qagen_dagster.agents import evaluation as judges
from qagen_dagster.agents.questions.evidence.answer_support import unsupported
from qagen_dagster.configuration.profiles import Role
from qagen_dagster.english.facts import facts, missing_names
from qagen_dagster.english.sentences import split
from qagen_dagster.english.words import shared_words
from qagen_dagster.ingest.corpus_files import stored_text
from qagen_dagster.loop.evaluation import run_questions
from qagen_dagster.loop.evaluation.retrieval_baseline import retrieval_fingerprint
from qagen_dagster.loop.index import CorpusSearch, open_index
from qagen_dagster.loop.questions.publication.published_set import PassageText, hash_of, shared_lines
from qagen_dagster.models.base import Model
from qagen_dagster.models.embedders import EmbedderSpec
from qagen_dagster.publishing.questions.exported_set import Passage
from qagen_dagster.records import evaluation
from qagen_dagster.records.corpus_options import EvaluationOptions
from qagen_dagster.records.document import ChunkHit, Ranking
from qagen_dagster.records.ids import normalise
from qagen_dagster.records.questions.results import QAPair

VERSION = "1"  # increase if the same pool and the same replies would get different labels
CUT = 10  # the share of judged passages counts the passages among the first CUT results of any ranking
HELD = 0.5  # minimum number of lines that a chunk and a passage share, as a fraction of the lines of the shorter one
SUBJECT = 0.6  # minimum share of a question's content words near its answer; measured, see docs/evaluation.md
FEWEST = 5  # minimum words of a quote; a shorter quote may occur anywhere
_KEPT_TEXTS = 256  # documents whose texts are kept in memory
CODE = "code"


def labels_setup(found: run_questions.Evaluation) -> run_questions.Setup:
    """The setup, with the judge of passages; there is no judge if the scenario wants none or the profile has none."""
    options = _options(found)
    judge = found.profile.find(Role.JUDGE, found.combination.mode) if options.judge_labels else None
    asked = () if judge is None else (*run_questions.identities(judge), judges.relevance_prompt().hash)
    return run_questions.Setup((VERSION, *asked, *map(str, _size(options).items())), judge=judge)


def _options(found: run_questions.Evaluation) -> EvaluationOptions:
    return found.space.corpus(found.combination.corpus).scenario(found.combination.scenario).evaluation


def _size(options: EvaluationOptions) -> dict[str, float]:
    """The options for the size of the pool, except for defaults, which change no fingerprint."""
    return options.model_dump(include={"pool_depth", "feedback_rounds"}, exclude_defaults=True)


def plan_labels(found: run_questions.Evaluation) -> run_questions.EvaluationPlan:
    """Plan the labels. Raises StoreError if there is no index."""
    quotes = (one.quote for pair in found.questions for one in pair.evidence)
    how = (*labels_setup(found).how, retrieval_fingerprint(found), *quotes)
    return run_questions.plan_evaluation(found, evaluation.Kind.LABELS, lambda _: how)


def measure_labels(
    found: run_questions.Evaluation, progress: run_questions.Progress | None = None
) -> evaluation.LabelReport:
    """Label the pool of every published question and store the report. Raises ConfigError, StoreError if there is no index, and ModelError
    if the judge is not available, or if models fail for several consecutive questions."""
    planned, setup = plan_labels(found), labels_setup(found)
    judge = None if setup.judge is None else found.model(setup.judge)
    record = evaluation.DocumentEvaluation[evaluation.LabelledQuestion]
    with closing(open_index(found.space, found.combination.corpus, found.meter)) as search:
        embedder = EmbedderSpec.model_validate(search.index.embedder)
        ask = _Labeller(found, search, judge).ask
        run = run_questions.EvaluationRun(found, ask, evaluation.LabelledQuestion, record, progress)
        questions = run.run(planned, judge, 1 if embedder.local and judge is None else None)
    setup, metrics = replace(setup, model=embedder.name), _metrics(questions) | _size(_options(found))
    return run_questions.make_report(
        found, evaluation.Kind.LABELS, questions, metrics, planned.fingerprint, setup
    )


def _metrics(questions: Sequence[evaluation.LabelledQuestion]) -> dict[str, float]:
    labels = [label for question in questions for label in question.labels]
    first = [label.grade is not None for label in labels if label.place is not None and label.place <= CUT]
    counts = {
        "labelled": sum(bool(question.labels) for question in questions),
        "relevant": sum((label.grade or 0) >= evaluation.RELEVANT for label in labels),
        "hard_negatives": sum(label.grade == 0 for label in labels),
        "unjudged": sum(label.grade is None for label in labels),
    }
    share = {f"judged_share_at_{CUT}": round(sum(first) / len(first), 4)} if first else {}
    return share | {name: float(count) for name, count in counts.items()}


class _Labeller:
    """Labels the pool of one question. Called from many threads."""

    def __init__(self, found: run_questions.Evaluation, search: CorpusSearch, judge: Model | None) -> None:
        self._found, self._search, self._judge, self._options = found, search, judge, _options(found)
        self._text = lru_cache(_KEPT_TEXTS)(self._read)

    def ask(self, session: run_questions.Session) -> evaluation.LabelledQuestion:
        """The question with its labels."""
        pair, unlabelled = session.pair, run_questions.blank(evaluation.LabelledQuestion, session.pair)
        if self._text(pair.document_id) is None:
            why = "the search index does not hold this version of the document"
            return unlabelled.model_copy(update={"failure": why})
        given: dict[Passage, tuple[int, str]] = dict.fromkeys(self._proofs(pair), (3, CODE))
        depth = self._options.pool_depth
        pool = dict.fromkeys(given) | self._pool(pair.question)
        places = dict(sorted(pool.items(), key=lambda item: (item[1] or depth + 1, item[0].id)))
        failure = self._grade(session, places, given)
        for _ in range(self._options.feedback_rounds):
            relevant = [passage for passage, (grade, _) in given.items() if grade >= evaluation.RELEVANT]
            near = dict.fromkeys(self._near(relevant, places)[:depth])
            places |= near
            failure = self._grade(session, near, given) or failure
        labels = tuple(
            evaluation.Label(
                passage=passage.id,
                text_hash=hash_of(passage),
                start_line=passage.lines[0],
                end_line=passage.lines[1],
                place=place,
                grade=grade,
                by=by,
            )
            for passage, place in places.items()
            for grade, by in [given.get(passage, (None, ""))]
        )
        return unlabelled.model_copy(update={"labels": labels, "failure": failure})

    def _grade(
        self, session: run_questions.Session, some: Iterable[Passage], given: dict[Passage, tuple[int, str]]
    ) -> str:
        """Add the grades by code and by the judge to `given`. Returns why grades are missing; empty if none is, or without a judge."""
        known = {passage: self._by_code(session.pair, passage) for passage in some if passage not in given}
        given |= {passage: (grade, CODE) for passage, grade in known.items() if grade is not None}
        unknown, failure = [passage for passage in known if passage not in given], ""
        if self._judge is None:
            return failure
        judge = session.recorded(self._judge, Role.JUDGE.value)
        for start in range(0, len(unknown), judges.AT_ONCE):
            asked = unknown[start : start + judges.AT_ONCE]
            shown = [passage.shown for passage in asked]
            reply = judges.grade_passages(judge, Role.JUDGE.value, session.pair.question, shown)
            grades = () if reply.result is None else reply.result.grades
            judged = zip(asked, grades, strict=False)
            given |= {passage: (grade, Role.JUDGE.value) for passage, grade in judged}
            failure = failure or reply.failure
        return failure

    def _by_code(self, pair: QAPair, passage: Passage) -> int | None:
        document = self._found.document(passage.document_id)
        return code_grade(pair, passage.shown, (document and document.metadata.title) or "")

    def _proofs(self, pair: QAPair) -> Iterator[Passage]:
        """The passages with the evidence."""
        for evidence in pair.evidence:
            text = self._text(evidence.document_id or pair.document_id)
            place = None if text is None else text.place(evidence)
            yield from () if place is None else place.passages

    def _pool(self, question: str) -> dict[Passage, int]:
        """The passages that the rankings find, each with its best place in any ranking, from 1."""
        places: dict[Passage, int] = {}
        for ranking in Ranking:
            hits = self._search.searcher.search(None, question, self._options.pool_depth, -1.0, ranking)
            for place, hit in enumerate(hits, 1):
                places |= {found: min(place, places.get(found, place)) for found in self._passages(hit)}
        return places

    def _near(self, relevant: Iterable[Passage], known: Collection[Passage]) -> list[Passage]:
        """Passages that are not `known`, the most similar to a relevant passage first, by words and embedding together."""
        scores: dict[Passage, float] = {}
        for query in relevant:
            limit = self._options.pool_depth + len(known)
            for hit in self._search.searcher.search(None, query.text, limit, -1.0):
                best = {found: max(hit.score, scores.get(found, -1.0)) for found in self._passages(hit)}
                scores |= {found: score for found, score in best.items() if found not in known}
        return sorted(scores, key=lambda found: (-scores[found], found.id))

    def _passages(self, hit: ChunkHit) -> list[Passage]:
        """The passages that share at least HELD of the lines (of the shorter one) with the chunk of `hit`."""
        text, lines = self._text(hit.document_id), (hit.chunk.start_line, hit.chunk.end_line)
        return [one for one in text.passages if shared_lines(one.lines, lines) >= HELD] if text else []

    def _read(self, document_id: str) -> PassageText | None:
        """The text of a document; None if the document is unknown, or if the index does not hold its present version."""
        entry, record = self._found.entries.get(document_id), self._found.document(document_id)
        if entry is None or record is None or not self._search.holds(entry):
            return None
        text = stored_text(self._found.space.store, self._found.combination.corpus, entry)
        return PassageText(document_id, text, record.wrapped)


def code_grade(pair: QAPair, passage: str, title: str) -> int | None:
    """The grade of a passage: 3 if it has a quote of the evidence, RELEVANT if it `states` the answer, None if code cannot decide."""
    plain = normalise(passage)
    quotes = (normalise(one.quote) for one in pair.evidence)
    if any(len(quote.split()) >= FEWEST and quote in plain for quote in quotes):
        return 3
    return evaluation.RELEVANT if states(pair.question, pair.answer, passage, title) else None


def states(question: str, answer: str, passage: str, title: str) -> bool:
    """Whether a sentence of the passage has the answer, and this sentence, the sentence before it and the title together have at least
    SUBJECT of the question's content words. The title and the passage together must have all names in the question."""
    if not answer.strip() or unsupported(question, answer, passage, "", beside=title) is not None:
        return False
    if missing_names(facts(question), facts(f"{title}\n{passage}")):
        return False
    return closeness(question, answer, passage, title) >= SUBJECT


def closeness(question: str, answer: str, text: str, title: str = "") -> float:
    """The largest share (0-1) of the question's words in the title, a sentence with the answer, and the sentence before it, together."""
    sentences = [one.text for one in split(text)]
    shares = (
        shared_words(question, f"{title}\n{before}\n{sentence}")
        for before, sentence in zip(("", *sentences), sentences, strict=False)
        if unsupported("", answer, sentence, "") is None
    )
    return max(shares, default=0.0)
