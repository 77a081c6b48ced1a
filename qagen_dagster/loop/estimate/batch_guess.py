"""Guesses the amounts of a document of the batch strategy when there are no past runs, as `rough_guess` does for agents.

A round shows the document to the generator, to the answerer and to the validator, each once for all questions. What is asked for again is
answered from passages. A validator that is not shown the whole document answers each question by itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from qagen_dagster.agents.questions import validator
from qagen_dagster.agents.questions.batch import answerer, questioner
from qagen_dagster.agents.questions.batch.reading import BUDGETS, PASSAGE
from qagen_dagster.agents.spec import Terminal
from qagen_dagster.configuration.profiles import Role
from qagen_dagster.grounding import judge
from qagen_dagster.loop.estimate import rough_guess
from qagen_dagster.loop.estimate.forecast import Use
from qagen_dagster.loop.estimate.rough_guess import (
    CARD_TOKENS,
    COMPARED,
    PASS_RATE,
    SUBMIT_TOKENS,
    VERDICT_TOKENS,
    Task,
    one_call,
    prompt_tokens,
    written,
)
from qagen_dagster.loop.questions.batch.state import BatchLimits, Wanted
from qagen_dagster.loop.questions.batch.state_machine import MOST
from qagen_dagster.loop.questions.controls import OF_VALUES, SEVERAL
from qagen_dagster.models.base import ModelSpec
from qagen_dagster.models.budget import FREE_PROVIDERS
from qagen_dagster.models.rate_limits import TOKEN_CHARACTERS
from qagen_dagster.records.corpus import QuestionType
from qagen_dagster.records.questions.batch import (
    SubmitAnswers,
    SubmitGroundedAnswer,
    SubmitGroundedAnswers,
    SubmitQuestions,
)
from qagen_dagster.records.questions.submissions import GroundingVerdict

AGAIN = 0.1  # share of the answers that are asked for again, alone
UNDECIDED = 0.7  # share of the answers that code leaves to the judge
QUESTION_TOKENS = 40  # a question as it is written or shown
NAMED_LINES = 2  # of a question, by its generator
COMPUTED = 0.7  # share of the comparisons and totals whose result code computes, so that no passage is hidden


@dataclass(frozen=True)
class _Round:
    """The rounds of a document, and the candidates of all of them."""

    count: float
    asked: float  # questions of one round, with those in reserve
    tries: float
    requests: float  # of one side for the answers of one round


def guess(task: Task, limits: BatchLimits, size: float, models: dict[Role, ModelSpec]) -> dict[str, Use]:
    """The amounts of each role for one document of `size` characters. Without a judge in `models` nothing is judged."""
    wanted = limits.wanted("")  # other documents give other types as often
    questions = rough_guess.expected_questions(size, limits.target_count)
    rounds = _rounds(questions, wanted)
    document = min(size, BUDGETS[0]) / TOKEN_CHARACTERS
    mended = rough_guess.corrections(rounds.tries - questions, models[Role.ANSWERER])
    compared = COMPARED * max(0.0, rounds.tries - 1)
    pair = one_call(
        task.duplicate_tokens(questions / 2),
        written(VERDICT_TOKENS, models[Role.DEDUPLICATOR]),
        models[Role.DEDUPLICATOR],
    )
    found = {
        Role.GENERATOR.value: _questions(task, document, models[Role.GENERATOR], rounds, wanted),
        Role.ANSWERER.value: _answers(document, models[Role.ANSWERER], rounds, mended, wanted),
        Role.VALIDATOR.value: _validation(task, size, models[Role.VALIDATOR], rounds, mended, wanted),
        Role.DEDUPLICATOR.value: pair.times(compared),
    }
    if Role.JUDGE in models:
        found[Role.JUDGE.value] = _judged(size, models[Role.JUDGE]).times(UNDECIDED * (rounds.tries + mended))
    return found


def _rounds(questions: float, wanted: Wanted) -> _Round:
    """The reserve of a round makes up for what is rejected in it; after that, the shares of rejected ones multiply."""
    target = sum(count for _, count in wanted)
    reserve = sum(questioner.reserve(count) for _, count in wanted) * questions / target
    missing = max(0.0, questions - PASS_RATE * (questions + reserve))
    more = math.log(1 + missing) / math.log(1 / (1 - PASS_RATE))
    asked = questions + reserve
    requests = max(1.0, asked / MOST)
    return _Round(1 + more, asked, questions / PASS_RATE, requests)


def _questions(task: Task, document: float, spec: ModelSpec, rounds: _Round, wanted: Wanted) -> Use:
    types = [kind for kind, _ in wanted]
    told = sum(map(len, (questioner.in_words(types), questioner.rules(types), questioner.examples(types))))
    ends = (Terminal("submit_questions", SubmitQuestions).spec(),)
    given = task.told + CARD_TOKENS + told / TOKEN_CHARACTERS + prompt_tokens(questioner.prompt(), ends)
    said = written(QUESTION_TOKENS * rounds.asked, spec)
    return one_call(given + document, said, spec).times(rounds.count)


def _answers(document: float, spec: ModelSpec, rounds: _Round, mended: float, wanted: Wanted) -> Use:
    """A round without counts shows the answerer what is near the lines that a model on a server names."""
    each = rounds.asked / rounds.requests
    near = each * NAMED_LINES * 3 * PASSAGE / TOKEN_CHARACTERS
    counts = any(kind is QuestionType.AGGREGATION for kind, _ in wanted)
    shown = document if counts or spec.provider in FREE_PROVIDERS else min(document, near)
    ends = (Terminal("-", SubmitGroundedAnswers).spec(),)
    given = CARD_TOKENS + shown + prompt_tokens(answerer.prompt(), ends)
    together = one_call(given + QUESTION_TOKENS * each, written(SUBMIT_TOKENS * each, spec), spec)
    passages = min(document, BUDGETS[2] / TOKEN_CHARACTERS)
    alone_ends = (Terminal("-", SubmitGroundedAnswer).spec(),)
    alone = one_call(
        CARD_TOKENS + passages + prompt_tokens(answerer.prompt(), alone_ends),
        written(SUBMIT_TOKENS, spec),
        spec,
    )
    return together.times(rounds.requests * rounds.count).plus(alone.times(AGAIN * rounds.tries + mended))


def _validation(
    task: Task, size: float, spec: ModelSpec, rounds: _Round, mended: float, wanted: Wanted
) -> Use:
    blind, judged = rough_guess.validation(task, size, spec)
    hides = {kind: 1 - COMPUTED if kind in OF_VALUES else 1.0 for kind in SEVERAL}
    several = sum(hides.get(kind, 0) * count for kind, count in wanted) / sum(count for _, count in wanted)
    compared = judged.times(rounds.tries + mended)
    hidden = rough_guess.hidden_passages(task, spec).times(several * PASS_RATE * rounds.tries)
    if spec.provider in FREE_PROVIDERS or size > spec.opening_characters:
        return blind.times(rounds.tries).plus(compared).plus(hidden)
    ends = (Terminal("-", SubmitAnswers).spec(),)
    more = prompt_tokens(validator.blind_many_prompt(), ends) + size / TOKEN_CHARACTERS
    each = rounds.asked / rounds.requests
    together = one_call(
        task.blind_tokens() + more + QUESTION_TOKENS * each, written(SUBMIT_TOKENS * each, spec), spec
    )
    return together.times(rounds.requests * rounds.count).plus(compared).plus(hidden)


def _judged(size: float, spec: ModelSpec) -> Use:
    ends = (Terminal("-", GroundingVerdict).spec(),)
    shown = min(size, judge.BESIDE_QUOTES) / TOKEN_CHARACTERS
    given = prompt_tokens(judge.judge_prompt(), ends) + shown + SUBMIT_TOKENS
    return one_call(given, written(VERDICT_TOKENS, spec), spec)
