"""How a generator is asked for several questions at once: one submission, whose faults it is told once."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from qagen_dagster.agents.prompts import Prompt
from qagen_dagster.agents.questions.context import QAContext
from qagen_dagster.agents.runner import call_summaries, first_that_fits, run_agent
from qagen_dagster.agents.spec import AgentLimits, AgentSpec, Finish, Terminal
from qagen_dagster.errors import ToolError
from qagen_dagster.models.base import Model
from qagen_dagster.records.base import Record
from qagen_dagster.records.questions.results import CallSummary, Candidate
from qagen_dagster.toolkit.excerpt import Block, block, one_line

ROLE = "generator"


@dataclass(frozen=True)
class Drafts:
    """The candidates of one request, or why there is none. A candidate whose evidence check failed has a gate."""

    candidates: tuple[Candidate, ...]
    failure: str
    calls: tuple[CallSummary, ...]


def ask(
    what: str,
    prompt: Prompt,
    terminal: Terminal,
    context: QAContext,
    model: Model,
    values: dict[str, str],
    candidates_of: Callable[[Record], Sequence[Candidate]],
    sample: int,
    openings: Iterable[str] = ("",),
    *,
    tools: bool = False,
) -> Drafts:
    """Ask for a submission of `what`, with the document's `tools` or without. Faults are told once, then they reject. Raises ModelError."""
    told = False

    def reject_once(result: Record) -> None:
        nonlocal told
        faults = [
            f"question {at}: {one.gate_detail}" for at, one in enumerate(candidates_of(result), 1) if one.gate
        ]
        if faults and not told:
            told = True
            raise ToolError(
                f"Not accepted: {'; '.join(faults)}. Correct these and submit all questions once more."
            )

    limits = AgentLimits(max_turns=40, max_tool_calls=80) if tools else AgentLimits(max_turns=4)
    named = tuple(context.tools) if tools else ()
    spec = AgentSpec(
        f"generator of {what}", ROLE, prompt, named, (replace(terminal, check=reject_once),), limits
    )
    begin = partial(run_agent, spec, model, context.tools if tools else {}, values, sample=sample)
    run = first_that_fits(partial(begin, opening=opening) for opening in openings)
    calls = call_summaries(run, ROLE, model.spec, context.view.document.id, sample)
    if not isinstance(run.end, Finish):
        return Drafts((), str(run.end), calls)
    return Drafts(tuple(candidates_of(run.end.result)), "", calls)


def listed(questions: Iterable[str]) -> Block | str:
    """Questions as a list for a prompt."""
    return block(f"- {one}" for one in questions) or "(none yet)"


def refused(questions: Iterable[tuple[str, str]]) -> Block | str:
    """Rejected questions, each with the reason, as a list for a prompt."""
    return (
        block(line for one, why in questions for line in (f"- {one}", f"  {one_line(why, 600)}"))
        or "(none yet)"
    )
