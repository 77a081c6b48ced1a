"""The agents of evaluations: one answers questions without their document, one marks answers that code cannot mark, one grades passages.

A grade states how well a passage answers a question. The scale and the wording are from UMBRELA (Upadhyay et al., 2024), whose grades
agree with the grades that people gave for TREC. Several passages are graded in one call.
"""

from collections.abc import Sequence
from typing import TypeVar

from pydantic import Field, model_validator

from qagen_dagster.agents.next_step import Finish
from qagen_dagster.agents.prompts import Prompt, load_prompt
from qagen_dagster.agents.runner import AgentRun, run_agent
from qagen_dagster.agents.spec import Terminal, without_tools
from qagen_dagster.errors import ToolError
from qagen_dagster.models.base import Model
from qagen_dagster.records.base import Record, Share
from qagen_dagster.records.evaluation import Grade
from qagen_dagster.records.questions.submissions import in_list
from qagen_dagster.records.run import Outcome
from qagen_dagster.toolkit.excerpt import block, enclose, one_line

_MOST = 4_000  # maximum characters shown of a question, an answer or a passage
_ResultT = TypeVar("_ResultT", bound=Record)
AT_ONCE = 10  # passages that are graded in one call


class SubmittedGuess(Record):
    """Give the answer to the question from what you know."""

    answer: str = Field(
        description='The answer in as few words as it takes, or "unknown".', max_length=20_000
    )
    confidence: Share = Field(default=0.0, description="How sure you are that it is right, from 0 to 1.")


class NumberedGuess(SubmittedGuess):
    """The answer to one of the questions."""

    number: int = Field(ge=1, description="Number of the question.")


class SubmittedGuesses(Record):
    """Give the answer to every question from what you know."""

    answers: tuple[NumberedGuess, ...] = Field(min_length=1, max_length=40)

    _single = model_validator(mode="before")(in_list("answers", NumberedGuess))


class Mark(Record):
    """Say whether the given answer is right."""

    right: bool = Field(description="Whether the given answer states what the reference answer states.")
    explanation: str = Field(description="One sentence: what agrees or differs.", max_length=2_000)


def prompts() -> tuple[Prompt, ...]:
    """The prompts of the agent that answers and of the agent that marks."""
    return load_prompt("evaluation/closed_book"), marking_prompt()


def guess(model: Model, question: str, corpus_context: str) -> Outcome[SubmittedGuess]:
    """The answer that `model` gives without the document. The caller records the calls, so the outcome has none. Raises ModelError."""
    return _outcome(SubmittedGuess, guessing(model, "answerer", (question,), corpus_context))


def several_prompt() -> Prompt:
    """The prompt of the agent that answers several questions without the document."""
    return load_prompt("evaluation/closed_book_several")


def guessing(model: Model, role: str, questions: Sequence[str], corpus_context: str) -> AgentRun:
    """The run that answers questions without the document. Raises ModelError.

    Its result is a `SubmittedGuess` for one question, else `SubmittedGuesses` with numbers from 1.
    """
    shown = [one_line(one, _MOST) for one in questions]
    if len(shown) > 1:
        prompt, terminal = several_prompt(), Terminal("submit_closed_book_answers", SubmittedGuesses)
        asked = {"questions": block(f"{number}. {one}" for number, one in enumerate(shown, 1))}
    else:
        prompt, terminal = prompts()[0], Terminal("submit_closed_book_answer", SubmittedGuess)
        asked = {"question": shown[0]}
    spec = without_tools("closed-book answerer", role, prompt, terminal, max_nudges=1)
    return run_agent(spec, model, {}, {**asked, "corpus_context": one_line(corpus_context, _MOST)})


def mark(model: Model, role: str, question: str, reference: str, given: str) -> Outcome[Mark]:
    """Whether `given` states the same as the reference answer. The caller records the calls, so the outcome has none. Raises ModelError."""
    return _outcome(Mark, marking(model, role, question, reference, given))


def marking_prompt() -> Prompt:
    return load_prompt("evaluation/same_answer")


def marking(model: Model, role: str, question: str, reference: str, given: str) -> AgentRun:
    """The run that compares the answer `given` with the reference answer; its result is a `Mark`. Raises ModelError."""
    spec = without_tools("examiner", role, marking_prompt(), Terminal("submit_mark", Mark), max_nudges=1)
    texts = {"question": question, "reference": reference, "given": given}
    return run_agent(spec, model, {}, {name: one_line(text, _MOST) for name, text in texts.items()})


def _outcome(kind: type[_ResultT], run: AgentRun) -> Outcome[_ResultT]:
    """The result of a run, or the reason why it has none."""
    end = run.end
    if isinstance(end, Finish):
        return Outcome(kind.model_validate(end.result))
    return Outcome(None, str(end)[:500])


class SubmittedGrades(Record):
    """Give the grades of all passages."""

    grades: tuple[Grade, ...] = Field(description="One grade for each passage, from 0 to 3, in their order.")


def relevance_prompt() -> Prompt:
    return load_prompt("evaluation/relevance")


def grade_passages(
    model: Model, role: str, question: str, passages: Sequence[str]
) -> Outcome[SubmittedGrades]:
    """The grades of `passages` in their order. The caller records the calls, so the outcome has none. Raises ModelError."""

    def check(result: Record) -> None:
        count = len(SubmittedGrades.model_validate(result).grades)
        if count != len(passages):
            raise ToolError(f"grades: there are {len(passages)} passages, and {count} grades.")

    terminal = Terminal("submit_grades", SubmittedGrades, check)
    spec = without_tools("relevance judge", role, relevance_prompt(), terminal, max_nudges=1)
    shown = [block([f"Passage {at}", enclose([one_line(one, _MOST)])]) for at, one in enumerate(passages, 1)]
    values = {"question": one_line(question, _MOST), "passages": block(shown)}
    return _outcome(SubmittedGrades, run_agent(spec, model, {}, values))
