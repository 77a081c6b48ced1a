"""The deduplicator: a cheap model decides whether a new question asks the same as an accepted question."""

from collections.abc import Sequence
from functools import partial
from typing import Literal

from qagen_dagster.agents.next_step import Finish
from qagen_dagster.agents.prompts import Prompt, load_prompt
from qagen_dagster.agents.runner import call_summaries, run_agent
from qagen_dagster.agents.spec import Terminal, without_tools
from qagen_dagster.errors import ToolError
from qagen_dagster.models.base import Model
from qagen_dagster.records.base import Record
from qagen_dagster.records.questions.results import DuplicateStep
from qagen_dagster.records.questions.submissions import DuplicateVerdict
from qagen_dagster.records.run import CallSummary
from qagen_dagster.toolkit.excerpt import block

ROLE = "deduplicator"


class Compared(Record):
    """A comparison of a question with others. `duplicate_of` is the index of the question that it repeats; None if it is unique.

    `score` is the cosine similarity to the repeated question, and 1 if the words are the same. If no question is repeated,
    it is the similarity to the likeliest candidate, or None if there was no candidate.
    """

    kind: Literal["compared"] = "compared"
    duplicate_of: int | None
    detail: str = ""
    score: float | None = None
    step: DuplicateStep = ""  # the step that decided; empty in older journals and without a candidate
    calls: tuple[CallSummary, ...] = ()


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
) -> Compared:
    """Compare one question with `accepted` (question, answer) pairs. If the model gives no verdict, the question counts as unique.

    Raises ModelError.
    """
    terminal = Terminal("submit_duplicate_verdict", DuplicateVerdict, partial(_check, len(accepted)))
    spec = without_tools("question deduplicator", ROLE, prompt(), terminal)
    values = {
        "question": question,
        "answer": answer,
        "accepted": block(f"{n}. {q} [answer: {a}]" for n, (q, a) in enumerate(accepted, 1)),
    }
    run = run_agent(spec, model, {}, values, sample=attempt)
    calls = call_summaries(run.responses, ROLE, model.spec, document_id, attempt)
    if not isinstance(run.end, Finish):
        why = f"no verdict ({run.end.reason.value}): kept as unique"
        return Compared(duplicate_of=None, detail=why, step="model", calls=calls)
    verdict = DuplicateVerdict.model_validate(run.end.result)
    unique = verdict.verdict == "unique" or verdict.duplicate_of is None
    index = None if unique else (verdict.duplicate_of or 0) - 1
    return Compared(duplicate_of=index, detail=verdict.explanation, step="model", calls=calls)


def _check(count: int, result: Record) -> None:
    """Refuses the verdict "duplicate" if it does not name one of the `count` listed questions."""
    verdict = DuplicateVerdict.model_validate(result)
    number = verdict.duplicate_of
    if verdict.verdict == "duplicate" and (number is None or number > count):
        raise ToolError(f"duplicate_of must be a number from 1 to {count}.")
