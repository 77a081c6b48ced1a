"""Scores of a system under test: its answers and its retrieved passages, compared with published questions."""

from __future__ import annotations

from qagen_dagster.records.base import Record, Share
from qagen_dagster.records.evaluation import Decided, EvaluatedQuestion
from qagen_dagster.records.ids import Mode


class Passage(Record):
    """A passage that a system retrieved: lines of a document, or the whole document."""

    document_id: str
    start_line: int | None = None  # 1-based
    end_line: int | None = None


class SystemAnswer(Record):
    """What a system gave for one question. `passages` are in the order of the system, the best first."""

    id: str
    answer: str | None = None
    passages: tuple[Passage, ...] | None = None


class SystemOutput(Record):
    """The answers of a system by question id, and the rows that could not be used."""

    name: str
    answers: dict[str, SystemAnswer]
    faults: tuple[str, ...] = ()


class ScoredAnswer(EvaluatedQuestion):
    """A published question with what a system gave for it.

    `right` is None if it was not decided; `failure` then says why. The ranks are 1-based; None: not retrieved.
    """

    question_type: str
    mode: Mode
    hops: int | None
    given: str | None = None  # None: the system gave no answer
    right: bool | None = None
    decided: Decided | None = None
    explanation: str = ""
    document_rank: int | None = None  # among the retrieved documents
    evidence_ranks: tuple[int | None, ...] = ()  # for each quote: the first retrieved passage that has it


class Measure(Record):
    """A mean over `questions` questions with its 95 % interval."""

    value: Share
    low: Share
    high: Share
    questions: int


class Scores(Record):
    """Counts and measures of some questions. What the system did not give is left out."""

    questions: int
    counts: dict[str, int]
    measures: dict[str, Measure]


class SystemScores(Record):
    """The scores of one system: of all questions, and by type, mode, hops and document."""

    system: str
    overall: Scores
    groups: dict[str, dict[str, Scores]]
    answers: tuple[ScoredAnswer, ...]
    faults: tuple[str, ...] = ()


class Comparison(Record):
    """Two systems on the same questions. Questions that were not decided for both are left out.

    `p_value` is of McNemar's exact test, two-sided.
    """

    measure: str
    both: int
    neither: int
    only_first: tuple[str, ...]  # question ids
    only_second: tuple[str, ...]
    p_value: Share


class ScoredSet(Record):
    """A published set that was scored against."""

    combination: str
    content_id: str
    questions: int


class ScoreReport(Record):
    """One system, or two systems compared."""

    sets: tuple[ScoredSet, ...]
    judge_model: str  # empty: none was asked
    systems: tuple[SystemScores, ...]
    comparisons: tuple[Comparison, ...] = ()
