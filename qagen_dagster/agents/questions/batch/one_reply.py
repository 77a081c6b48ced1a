"""Runs an agent that has only submit tools on a shown text, and reads its reply.

All requests have the same system text and tools, and then the shown text, so that providers cache these once for all agents. A model whose
context is too small is asked again with less text. Some models call no tool. In this case the plain text is read for type tags,
`Answer:` and quotes, or JSON. The reader is deliberately tolerant, and it ignores text that is no question and no answer.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

from pydantic import ValidationError

from qagen_dagster.agents.next_step import GiveUp, GiveUpReason
from qagen_dagster.agents.prompts import Prompt, load_addition
from qagen_dagster.agents.questions.batch.shown_text import Reading
from qagen_dagster.agents.questions.prompt_values import QAContext
from qagen_dagster.agents.runner import AgentRun, call_summaries, first_that_fits, run_agent
from qagen_dagster.agents.spec import AgentSpec, Beginning, Terminal
from qagen_dagster.models import structured_output
from qagen_dagster.models.base import Model
from qagen_dagster.models.call_cost import FREE_PROVIDERS
from qagen_dagster.models.messages import Stop
from qagen_dagster.records.corpus_options import QuestionType
from qagen_dagster.records.questions import batch
from qagen_dagster.records.questions.submissions import EvidenceQuote
from qagen_dagster.records.run import CallSummary
from qagen_dagster.toolkit.excerpt import single_line, with_fewer_numbers

_BULLET = re.compile(r"^\s{0,20}(?:[-*\u2022]|\(?\d{1,3}[.):])\s{1,5}")
_TAG = re.compile(r"\s{0,5}[(\[]([A-Za-z][A-Za-z _-]{3,30})[)\]][.*]{0,3}\s{0,5}$")
_LABEL = re.compile(
    r"^[\s*]{0,5}(?:([A-Za-z][A-Za-z _-]{3,30})\*{0,2}:|[(\[]([A-Za-z][A-Za-z _-]{3,30})[)\]]\*{0,2}:?)[\s*]{0,5}"
)
_ANSWER = re.compile(r"^[\s*#]{0,5}answer[\s*]{0,3}:[\s*]{0,3}", re.IGNORECASE | re.MULTILINE)
_EVIDENCE = re.compile(
    r"^[\s*#]{0,5}(?:supporting )?evidence[\s*]{0,3}:[\s*]{0,3}", re.IGNORECASE | re.MULTILINE
)
_QUOTED = re.compile('["\u201c]([^"\u201c\u201d\n]{8,1500})["\u201d]')
_SHORTEST = 8  # characters; shorter text is no question and no quote
_TERMINALS = (
    Terminal("submit_questions", batch.SubmitQuestions),
    Terminal("submit_grounded_answers", batch.SubmitGroundedAnswers),
    Terminal("submit_rewrite", batch.SubmitRewrite),
)
_KINDS = frozenset(kind.value for kind in QuestionType)


def untagged(question: str) -> tuple[str, QuestionType | None]:
    """A question without its leading label and trailing type tags, and the type that the label, or else the first tag, names."""
    text = " ".join(question.split()).strip()
    found: list[QuestionType] = []
    while (tag := _TAG.search(text[-60:])) and (kind := _kind(tag.group(1))):
        text = text[: len(text) - len(tag.group())].rstrip()
        found.append(kind)
    label = _LABEL.match(text)
    if label and (kind := _kind(label.group(1) or label.group(2))):
        text = text[label.end() :]
        found.append(kind)
    return text.strip(' *"\u201c\u201d'), found[-1] if found else None


def questions(texts: Iterable[str], default: QuestionType | None) -> tuple[batch.DraftQuestion, ...]:
    """The questions in the first text that has questions. `default` is the type of a question without a known tag."""
    return next((found for text in texts if (found := _from_json(text) or _from_lines(text, default))), ())


def answer(texts: Iterable[str]) -> batch.SubmitGroundedAnswer | None:
    """The answer, with its quotes, in the first text that has an answer."""
    return next((found for text in texts if (found := _answer(text)) is not None), None)


def _from_json(text: str) -> tuple[batch.DraftQuestion, ...]:
    try:
        return batch.SubmitQuestions.model_validate(structured_output.read_object(text)).questions
    except (ValidationError, ValueError):
        return ()


def _from_lines(text: str, default: QuestionType | None) -> tuple[batch.DraftQuestion, ...]:
    found: list[batch.DraftQuestion] = []
    for line in text.splitlines():
        question, kind = untagged(_BULLET.sub("", line))
        kind = kind or (default if question.endswith("?") else None)
        if kind is not None and len(question) >= _SHORTEST:
            found.append(batch.DraftQuestion(question=question, question_type=kind))
    return tuple(found)


def _answer(text: str) -> batch.SubmitGroundedAnswer | None:
    try:
        return batch.SubmitGroundedAnswer.model_validate(structured_output.read_object(text))
    except (ValidationError, ValueError):
        pass
    sections = _EVIDENCE.split(text, maxsplit=1)
    label = _ANSWER.search(sections[0])
    words = sections[0][label.end() :].strip() if label else ""
    if not words:
        return None
    quotes = _quotes(sections[1]) if len(sections) > 1 else []
    return batch.SubmitGroundedAnswer(
        answer=words, evidence=tuple(EvidenceQuote(quote=one) for one in quotes[:20])
    )


def _quotes(text: str) -> list[str]:
    lines = [_BULLET.sub("", line).strip() for line in text.splitlines()]
    return [quote.strip() for quote in _QUOTED.findall(text)] or [
        line for line in lines if len(line) >= _SHORTEST
    ]


def _kind(word: str) -> QuestionType | None:
    name = batch.as_type(word)
    return QuestionType(str(name)) if name in _KINDS else None


@dataclass(frozen=True)
class Reply:
    """The end of the last run, the parts that it showed, and the calls of all runs."""

    run: AgentRun
    parts: tuple[int, ...]
    calls: tuple[CallSummary, ...]

    @property
    def texts(self) -> list[str]:
        """The model's texts, in order, if it called no tool, else an empty list. A text that was cut off lacks its last line."""
        end = self.run.end
        if not isinstance(end, GiveUp) or end.reason not in (
            GiveUpReason.NO_TOOL_CALL,
            GiveUpReason.OUTPUT_LIMIT,
        ):
            return []
        texts = ((one.message.text, one.stop is Stop.LENGTH) for one in self.run.responses)
        return [text.rpartition("\n")[0] if cut else text for text, cut in texts]

    @property
    def failure(self) -> str:
        end = self.run.end
        return str(end) if isinstance(end, GiveUp) else ""


@dataclass(frozen=True)
class Task:
    """The choices of parts to show. The next choice is used if a choice is too long. The calls are recorded with `attempt`."""

    choices: Iterable[tuple[int, ...]]
    attempt: int
    sample: int


def beginning_prompt() -> Prompt:
    """The system text of all these agents."""
    return load_addition("questions/batch/document")


def ask(
    spec: AgentSpec, model: Model, context: QAContext, reading: Reading, task: Task, values: dict[str, str]
) -> Reply:
    """Run the agent with these prompt values. Raises ModelError, and ValueError if the task has no choice of parts."""
    shown: list[tuple[int, ...]] = []
    tools = tuple(one.spec() for one in _TERMINALS)
    agent = replace(spec, beginning=Beginning(beginning_prompt().user, tools))

    def show(parts: tuple[int, ...]) -> AgentRun:
        shown.append(parts)
        all_values = values | {"document_card": context.document_card(whole=reading.has_body(parts))}
        text = reading.show(parts)
        text = text if model.spec.provider in FREE_PROVIDERS else with_fewer_numbers(text)
        opening = f"{single_line(reading.note(parts))}\n{text}"
        return run_agent(agent, model, {}, all_values, sample=task.sample, opening=opening)

    run = first_that_fits(partial(show, parts) for parts in dict.fromkeys(task.choices))
    calls = call_summaries(run.responses, spec.role, model.spec, context.view.document.id, task.attempt)
    return Reply(run, shown[-1], calls)
