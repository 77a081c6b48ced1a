"""The validator answers several questions blind in one request, so that the document is shown once.

It sees nothing but the questions: no proposed answer, no type, and not the order in which they were written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qagen_dagster.agents.prompts import Prompt, load_addition
from qagen_dagster.agents.questions import validator
from qagen_dagster.agents.questions.context import QAContext
from qagen_dagster.agents.spec import Finish, Terminal
from qagen_dagster.models.base import Model
from qagen_dagster.records.ids import Mode, digest
from qagen_dagster.records.questions.batch import SubmitAnswers
from qagen_dagster.records.questions.results import CallSummary
from qagen_dagster.records.questions.submissions import JudgingAnswer
from qagen_dagster.toolkit.excerpt import block


@dataclass(frozen=True)
class BlindAnswers:
    """The blind answers by question. A question that got none is left out."""

    answers: dict[str, JudgingAnswer]
    calls: tuple[CallSummary, ...]


def many_prompt() -> Prompt:
    """The addition before the user part of the validator's textual prompt, for several questions."""
    return load_addition("questions/batch/blind_many")


def answer(context: QAContext, model: Model, questions: Sequence[str], attempt: int) -> BlindAnswers:
    """Answer questions that may be asked together. Raises ModelError.

    A model that does not see the whole document in its first message is not asked: it searches for each question by itself.
    """
    if not context.opens_whole(model.spec):
        return BlindAnswers({}, ())
    shuffled = sorted(questions, key=lambda one: digest(context.view.document.id, one))
    asked = block(f"{number}. {one}" for number, one in enumerate(shuffled, 1))
    prompt = many_prompt().before(validator.blind_prompt(Mode.TEXTUAL))
    terminal = Terminal("submit_answers", SubmitAnswers)
    tools = not context.shows_all(model.spec)
    run, calls = validator.run_blind(context, model, prompt, asked, terminal, attempt, tools=tools)
    given = SubmitAnswers.model_validate(run.end.result).answers if isinstance(run.end, Finish) else ()
    found = {
        shuffled[one.number - 1]: JudgingAnswer.model_validate(one.model_dump(exclude={"number"}))
        for one in given
        if one.number <= len(shuffled)
    }
    return BlindAnswers(found, calls)
