"""Two agents: one answers questions without their document, one marks the answers that code cannot mark.

`loop/evaluation/closed_book.py` uses their results.
"""

from typing import TypeVar

from pydantic import Field

from qagen_dagster.agents.prompts import Prompt, load_prompt
from qagen_dagster.agents.runner import AgentRun, run_agent
from qagen_dagster.agents.spec import Finish, Terminal, without_tools
from qagen_dagster.models.base import Model
from qagen_dagster.records.base import Record, Share
from qagen_dagster.records.run import Outcome
from qagen_dagster.toolkit.excerpt import one_line

_MOST = 4_000  # characters of a question or an answer
ResultT = TypeVar("ResultT", bound=Record)


class SubmittedGuess(Record):
    """Give the answer to the question from what you know."""

    answer: str = Field(
        description='The answer in as few words as it takes, or "unknown".', max_length=20_000
    )
    confidence: Share = Field(default=0.0, description="How sure you are that it is right, from 0 to 1.")


class Mark(Record):
    """Say whether the given answer is right."""

    right: bool = Field(description="Whether the given answer states what the reference answer states.")
    explanation: str = Field(description="One sentence: what agrees or differs.", max_length=2_000)


def prompts() -> tuple[Prompt, ...]:
    """The prompts of both agents."""
    return load_prompt("evaluation/closed_book"), marking_prompt()


def guess(model: Model, question: str, corpus_context: str) -> Outcome[SubmittedGuess]:
    """The answer of `model` without the document. The caller records the calls. Raises ModelError."""
    return outcome(SubmittedGuess, guessing(model, "answerer", question, corpus_context))


def guessing(model: Model, role: str, question: str, corpus_context: str) -> AgentRun:
    """The run that answers without the document; its result is a `SubmittedGuess`. Raises ModelError."""
    terminal = Terminal("submit_closed_book_answer", SubmittedGuess)
    spec = without_tools(
        "closed-book answerer", role, load_prompt("evaluation/closed_book"), terminal, max_nudges=1
    )
    values = {"question": one_line(question, _MOST), "corpus_context": one_line(corpus_context, _MOST)}
    return run_agent(spec, model, {}, values)


def mark(model: Model, role: str, question: str, reference: str, given: str) -> Outcome[Mark]:
    """Whether `given` is right. The caller records the calls. Raises ModelError."""
    return outcome(Mark, marking(model, role, question, reference, given))


def marking_prompt() -> Prompt:
    return load_prompt("evaluation/same_answer")


def marking(model: Model, role: str, question: str, reference: str, given: str) -> AgentRun:
    """The run that compares `given` with the reference answer; its result is a `Mark`. Raises ModelError."""
    spec = without_tools("examiner", role, marking_prompt(), Terminal("submit_mark", Mark), max_nudges=1)
    texts = {"question": question, "reference": reference, "given": given}
    return run_agent(spec, model, {}, {name: one_line(text, _MOST) for name, text in texts.items()})


def outcome(kind: type[ResultT], run: AgentRun) -> Outcome[ResultT]:
    """The result of a run, or why it has none."""
    end = run.end
    if isinstance(end, Finish):
        return Outcome(kind.model_validate(end.result))
    return Outcome(None, str(end)[:500])
