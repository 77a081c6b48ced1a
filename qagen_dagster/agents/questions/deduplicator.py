"""The deduplicator: a cheap model decides whether a new question asks the same as an accepted one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from qagen_dagster.agents.prompts import Prompt, load_prompt
from qagen_dagster.agents.runner import call_summaries, run_agent
from qagen_dagster.agents.spec import Finish, Terminal, without_tools
from qagen_dagster.errors import ToolError
from qagen_dagster.models.base import Model
from qagen_dagster.records.base import Record
from qagen_dagster.records.questions.results import CallSummary, DuplicateStep
from qagen_dagster.records.questions.submissions import DuplicateVerdict
from qagen_dagster.toolkit.excerpt import block

ROLE = "deduplicator"


@dataclass(frozen=True)
class DuplicateFinding:
    """`index` is the place of the repeated question among the compared ones; None if the new question is unique.

    `score` is the cosine similarity to the repeated question, and 1 if the words are the same. If no question is repeated,
    it is the similarity to the most similar question.
    """

    index: int | None
    detail: str
    calls: tuple[CallSummary, ...] = ()
    score: float | None = None
    step: DuplicateStep = "model"


def prompt() -> Prompt:
    return load_prompt("questions/deduplicator")


def find_duplicate(
    model: Model,
    question: str,
    answer: str,
    accepted: Sequence[tuple[str, str]],
    *,
    document_id: str,
    attempt: int,
) -> DuplicateFinding:
    """Compare one question with `accepted` (question, answer) pairs. Raises ModelError.

    If the model gives no verdict, the question counts as unique, because the validator and the deduplication of the whole corpus
    still check it.
    """
    terminal = Terminal("submit_duplicate_verdict", DuplicateVerdict, partial(_check, len(accepted)))
    spec = without_tools("question deduplicator", ROLE, prompt(), terminal)
    values = {
        "question": question,
        "answer": answer,
        "accepted": block(f"{n}. {q} [answer: {a}]" for n, (q, a) in enumerate(accepted, 1)),
    }
    run = run_agent(spec, model, {}, values, sample=attempt)
    calls = call_summaries(run, ROLE, model.spec, document_id, attempt)
    if not isinstance(run.end, Finish):
        return DuplicateFinding(None, f"no verdict ({run.end.reason.value}): kept as unique", calls)
    verdict = DuplicateVerdict.model_validate(run.end.result)
    if verdict.verdict == "unique" or verdict.duplicate_of is None:
        return DuplicateFinding(None, verdict.explanation, calls)
    return DuplicateFinding(verdict.duplicate_of - 1, verdict.explanation, calls)


def _check(count: int, result: Record) -> None:
    """Refuses the verdict "duplicate" if it does not name one of the `count` listed questions."""
    verdict = DuplicateVerdict.model_validate(result)
    number = verdict.duplicate_of
    if verdict.verdict == "duplicate" and (number is None or number > count):
        raise ToolError(f"duplicate_of must be a number from 1 to {count}.")
