"""The answerer answers a question from excerpts of a document in one turn. `answering/answer_from_document.py`
chooses the excerpts, at most `max_chunks` (`records/corpus_options.py`)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from pydantic import Field

from qagen_dagster.agents.next_step import Finish
from qagen_dagster.agents.prompts import Prompt, load_addition, load_prompt
from qagen_dagster.agents.runner import AgentRun, call_summaries, run_agent
from qagen_dagster.agents.spec import Terminal, without_tools
from qagen_dagster.errors import ToolError
from qagen_dagster.models.base import Model
from qagen_dagster.models.messages import Thinking
from qagen_dagster.records.answer import Share
from qagen_dagster.records.base import Record
from qagen_dagster.records.run import CallSummary
from qagen_dagster.toolkit.excerpt import Block, block, enclose, one_line, row

ROLE = "answerer"
LONGEST_ROW = 4_000  # characters of a line that are shown


class SubmittedAnswer(Record):
    """Give the answer to the question, with the excerpts it rests on."""

    answer: str = Field(
        description="The answer in as few words as it takes; if not answerable, what the excerpts do not tell.",
        max_length=20_000,
    )
    answerable: bool = Field(description="Whether the excerpts answer the question.")
    confidence: Share = Field(description="How sure you are that the document says so, from 0 to 1.")
    chunks: tuple[int, ...] = Field(
        default=(), description="Numbers of the excerpts that the answer rests on."
    )
    note: str = Field(default="", description="Optional: one sentence on how you found it.", max_length=2_000)


@dataclass(frozen=True)
class Excerpt:
    """A piece of the document as the model sees it, in whole or partial lines. `start_line` is the number of the first line.

    `section` is the title above the excerpt, if the title is shown.
    """

    number: int
    start_line: int | None
    text: str
    section: str = ""


@dataclass(frozen=True)
class AnswerRun:
    """The result of a run. If the model gave no answer, `submitted` is None, and `failure` states the reason."""

    submitted: SubmittedAnswer | None
    failure: str
    reasoning: str | None
    calls: tuple[CallSummary, ...]


def prompt() -> Prompt:
    return load_prompt("answering/document")


def several_prompt() -> Prompt:
    """The addition before the user part of `prompt`, for excerpts of several documents."""
    return load_addition("answering/several")


def answer_from_excerpts(
    model: Model,
    question: str,
    title: str | None,
    excerpts: Sequence[Excerpt],
    *,
    document_id: str,
    role: str = ROLE,
    attempt: int = 1,
    several: bool = False,
) -> AnswerRun:
    """Ask `model`, and ask again when its reply cannot be used. The calls count for `role` and `attempt`. Raises ModelError.

    `several` means that the excerpts come from several documents and that `section` is the title of a document.
    """
    terminal = Terminal(
        "submit_document_answer", SubmittedAnswer, partial(_check, {one.number for one in excerpts})
    )
    own_prompt = several_prompt().before(prompt()) if several else prompt()
    spec = without_tools("document answerer", role, own_prompt, terminal)
    title_shown = (
        Block("(named above each excerpt)")
        if several
        else enclose([f"title: {one_line(title or 'none', 300)}"])
    )
    above = "title of the document" if several else "section"
    values = {
        "question": one_line(question, 4_000),
        "document_title": title_shown,
        "excerpts": Block("\n\n".join(_shown(one, above) for one in excerpts)),
    }
    run = run_agent(spec, model, {}, values)
    calls = call_summaries(run.responses, role, model.spec, document_id, attempt)
    if not isinstance(run.end, Finish):
        return AnswerRun(None, str(run.end)[:500], _thinking(run), calls)
    submitted = SubmittedAnswer.model_validate(run.end.result)
    return AnswerRun(submitted, "", _thinking(run) or submitted.note or None, calls)


def _shown(excerpt: Excerpt, name: str) -> Block:
    rows = [
        row(number, line, LONGEST_ROW)
        for number, line in enumerate(excerpt.text.split("\n"), excerpt.start_line or 1)
    ]
    above = [f"{name}: {one_line(excerpt.section, 120)}"] if excerpt.section else []
    return block([f"Excerpt {excerpt.number}", enclose([*above, *rows])])


def _thinking(run: AgentRun) -> str | None:
    """The model's reasoning, without its answer."""
    parts = [
        part.text.strip()
        for response in run.responses
        for part in response.message.content
        if isinstance(part, Thinking)
    ]
    return "\n\n".join(filter(None, parts)) or None


def _check(shown: set[int], result: Record) -> None:
    """Refuses a submission without an answer, and a submission that cites excerpts that were not shown."""
    submitted = SubmittedAnswer.model_validate(result)
    unknown = sorted(set(submitted.chunks) - shown)
    if unknown:
        raise ToolError(
            f"chunks: there is no excerpt {unknown[0]}; shown were {', '.join(map(str, sorted(shown)))}."
        )
    if not submitted.answer.strip():
        raise ToolError(
            "answer is empty: give it, or say what the excerpts do not tell (answerable = false)."
        )
