"""The roles that work on physics problems, as agents: their submissions, the texts in their prompts, and the run of one task.

The first output that breaks a property is refused with the reasons, and a second such output ends the run. The caller decides which
properties an output must keep.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from qagen_dagster.agents import next_step
from qagen_dagster.agents import spec as agent_spec
from qagen_dagster.agents.prompts import Prompt, load_prompt
from qagen_dagster.agents.runner import call_summaries, raw_text, run_agent, unfinished
from qagen_dagster.configuration.profiles import Role
from qagen_dagster.errors import ToolError
from qagen_dagster.models.base import Model
from qagen_dagster.models.messages import Image, Request, Response
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.models.structured_output import fitted
from qagen_dagster.records.base import Record, Unable
from qagen_dagster.records.blind import BlindSolution
from qagen_dagster.records.problems import submissions
from qagen_dagster.records.problems.result import Compiled, CompileOutcome, Stage, TaskEnd
from qagen_dagster.records.run import CallSummary
from qagen_dagster.toolkit.excerpt import block, fence
from qagen_dagster.toolkit.tool import Tool, explain, is_misfit

ResultT = TypeVar("ResultT", bound=Record)
LIMITS = agent_spec.AgentLimits(max_turns=6, max_nudges=1)
TOOL_LIMITS = agent_spec.AgentLimits(max_turns=14, max_tool_calls=16, max_nudges=1)
BROKEN = "Not accepted: the output breaks what it must have. Put this right and submit the whole of it once more:\n{rows}"
UNCOMPILED = (
    "Not accepted yet: the LaTeX does not compile. Put it right and submit the whole of it once more. The engine says:\n"
    "{message}"
)
_SHAPELESS = (next_step.GiveUpReason.MAX_TURNS, next_step.GiveUpReason.MAX_TOOL_CALLS)


@dataclass(frozen=True)
class Assignment(Generic[ResultT]):
    """The task of a role: the `kind` of its result, and the tool that submits it. `shape` is the number of the property that an output
    breaks if it is no valid result."""

    role: Role
    terminal: str
    kind: type[ResultT]
    shape: int


@dataclass(frozen=True)
class Asking(Generic[ResultT]):
    """The model to ask, and how its output is checked.

    `settle` completes a result before it is checked. `judge` returns the properties that a result breaks. `compile` compiles
    the LaTeX of a result, if it has any. If `must_compile` holds, a second result that does not compile ends the run.
    """

    model: Model
    account: str
    judge: Callable[[ResultT], tuple[submissions.Breach, ...]] = lambda _: ()
    compile: Callable[[ResultT], Compiled | None] = lambda _: None
    must_compile: Callable[[ResultT], bool] = lambda _: False
    settle: Callable[[ResultT], ResultT] = lambda result: result
    pictures: tuple[Image, ...] = ()
    tools: dict[str, Tool] = field(default_factory=dict[str, Tool])
    sample: int = 0


@dataclass(frozen=True)
class Reply(Generic[ResultT]):
    """The end of a task. `result` is the accepted result, or the last result that broke a property, or None."""

    end: TaskEnd
    result: ResultT | None
    detail: str
    breaches: tuple[submissions.Breach, ...]
    repaired: tuple[submissions.Breach, ...]
    compiled: Compiled | None
    prompt: str
    raw: str
    calls: tuple[CallSummary, ...]


class Refused(Record):
    """The result that ends a run after two outputs that broke properties."""

    breaches: tuple[submissions.Breach, ...]


@dataclass
class _Strikes:
    """The faults in one run so far."""

    turn: int = 0
    struck_in: int = 0  # the turn of the first refusal for a broken property, or 0
    breaches: tuple[submissions.Breach, ...] = ()
    compiled_in: int = 0  # the turn of the first refusal for LaTeX that does not compile, or 0
    compiled: Compiled | None = None
    last: Record | None = None


@dataclass(frozen=True, kw_only=True)
class _Judged(agent_spec.Terminal, Generic[ResultT]):
    """A terminal that refuses the first result that breaks a property. The second such result ends the run."""

    job: Assignment[ResultT]
    asking: Asking[ResultT]
    strikes: _Strikes

    def submit(self, arguments: dict[str, object]) -> Record:
        try:
            result = self.asking.settle(fitted(self.job.kind, arguments, ignore_unknown=True))
        except ValidationError as error:
            reason = explain(error, self.name)
            breach = submissions.Breach(property=self.job.shape, detail=reason)
            if not is_misfit(reason, self.name):
                return self._struck((breach,))
            self.strikes.breaches = self.strikes.breaches or (breach,)
            raise ToolError(reason) from None
        breaches = self.asking.judge(result)
        if breaches:
            self.strikes.last = result
            return self._struck(breaches)
        compiled = self.asking.compile(result)
        self.strikes.compiled = compiled
        failed = compiled is not None and compiled.outcome is CompileOutcome.FAILED
        if compiled is not None and failed and self.strikes.compiled_in in (0, self.strikes.turn):
            self.strikes.compiled_in = self.strikes.turn
            raise ToolError(UNCOMPILED.format(message=compiled.message))
        if compiled is not None and failed and self.asking.must_compile(result):
            self.strikes.last = result
            reason = f"it does not compile: {' '.join(compiled.message.split())[:300]}"
            return Refused(breaches=(submissions.Breach(property=self.job.shape, detail=reason),))
        return result

    def _struck(self, breaches: tuple[submissions.Breach, ...]) -> Record:
        if self.strikes.struck_in not in (0, self.strikes.turn):
            return Refused(breaches=breaches)
        self.strikes.struck_in, self.strikes.breaches = self.strikes.turn, breaches
        raise ToolError(BROKEN.format(rows="\n".join(f"- {one}" for one in breaches)))


@dataclass(frozen=True)
class _Counted:
    """A model that counts its turns, so that two bad submissions in one turn count once."""

    inner: Model
    strikes: _Strikes

    @property
    def spec(self) -> ModelSpec:
        return self.inner.spec

    def respond(self, request: Request) -> Response:
        self.strikes.turn += 1
        return self.inner.respond(request)


def ask(
    job: Assignment[ResultT], prompt: Prompt, asking: Asking[ResultT], values: dict[str, str]
) -> Reply[ResultT]:
    """Run the task. Raises ModelError when the model is not available, or no reply is usable."""
    strikes = _Strikes()
    spec = agent_spec.AgentSpec(
        name=f"problem {job.role}",
        role=job.role,
        prompt=prompt,
        tools=tuple(asking.tools),
        terminals=(
            _Judged(job.terminal, job.kind, job=job, asking=asking, strikes=strikes),
            agent_spec.Terminal("report_unable", Unable),
        ),
        limits=TOOL_LIMITS if asking.tools else LIMITS,
        reads_text=True,
    )
    model = _Counted(asking.model, strikes)
    run = run_agent(spec, model, asking.tools, values, sample=asking.sample, pictures=asking.pictures)
    filtered = next_step.ended_by(str(run.end), next_step.GiveUpReason.FILTERED)
    if isinstance(run.end, next_step.GiveUp) and (filtered or next_step.is_unusable(str(run.end))):
        raise unfinished(str(run.end))
    calls = call_summaries(run.responses, job.role, model.spec, asking.account, 1)
    last = strikes.last if isinstance(strikes.last, job.kind) else None
    end, result, detail, breaches = _end(run.end, job, last)
    done = end is TaskEnd.DONE
    return Reply(
        end=end,
        result=result,
        detail=detail,
        breaches=breaches,
        repaired=strikes.breaches if done else (),
        compiled=strikes.compiled if done else None,
        prompt=prompt.name,
        raw=raw_text(run),
        calls=calls,
    )


def _end(
    end: next_step.Finish | next_step.GiveUp, job: Assignment[ResultT], last: ResultT | None
) -> tuple[TaskEnd, ResultT | None, str, tuple[submissions.Breach, ...]]:
    """The end of the task, its result, a detail, and the properties that the result breaks."""
    if isinstance(end, next_step.GiveUp):
        detail = str(end)
        if end.reason in _SHAPELESS:
            return TaskEnd.REJECTED, last, detail, (submissions.Breach(property=job.shape, detail=detail),)
        return TaskEnd.FAILED, None, detail, ()
    if isinstance(end.result, Refused):
        detail = "; ".join(str(one) for one in end.result.breaches)
        return TaskEnd.REJECTED, last, detail, end.result.breaches
    if isinstance(end.result, Unable):
        return TaskEnd.DECLINED, None, " ".join(end.result.reason.split()), ()
    return TaskEnd.DONE, job.kind.model_validate(end.result), "", ()


FIND = Assignment(Role.CLASSIFIER, "submit_problems", submissions.PageResult, 13)
SOLVE = Assignment(Role.SOLVER, "submit_solution", BlindSolution, 16)
ASSIGNMENTS: dict[Stage, Assignment[Any]] = {
    Stage.CLASSIFY: Assignment(Role.CLASSIFIER, "submit_classification", submissions.ClassificationResult, 1),
    Stage.SCAN: Assignment(Role.SCANNER, "submit_scan", submissions.ScanResult, 3),
    Stage.DIAGRAM: Assignment(Role.TIKZ, "submit_tikz", submissions.TikzResult, 4),
    Stage.IDEA: Assignment(Role.IDEA, "submit_ideas", submissions.IdeaResult, 5),
    Stage.ALTERNATE: Assignment(Role.ALTERNATE, "submit_alternate", submissions.AlternateResult, 6),
    Stage.VARIANT: Assignment(Role.VARIANT, "submit_variant", submissions.VariantResult, 9),
    Stage.CONVERT: Assignment(Role.CONVERTER, "submit_conversion", submissions.ConversionResult, 11),
}
_FALLBACK = submissions.QuestionKind.MCQ_SC  # unknown kinds use the scanner's prompt of this kind
_NONE = "(none)"
_PROMPTS = {
    Role.CLASSIFIER: "classify",
    Role.TIKZ: "tikz",
    Role.IDEA: "idea",
    Role.ALTERNATE: "alternate",
    Role.CONVERTER: "convert",
    Role.SOLVER: "solve",
}  # the scanner and the variant writer have a prompt for each kind


def find_prompt() -> Prompt:
    """The prompt that asks for the places of the problems on a page."""
    return load_prompt("problems/find")


def prompts() -> tuple[Prompt, ...]:
    """The prompt of every role and kind. Raises ConfigError, which names a file that lacks a part."""
    return (
        find_prompt(),
        *map(role_prompt, _PROMPTS),
        *(scan_prompt(kind.value) for kind in submissions.QuestionKind),
        *(variant_prompt(kind) for kind in submissions.VariantKind),
    )


def role_prompt(role: Role) -> Prompt:
    """The prompt of a role that has only one prompt."""
    return load_prompt(f"problems/{_PROMPTS[role]}")


def scan_prompt(kind: str) -> Prompt:
    """The scanner's prompt for a kind of question; for an unknown kind, the prompt for single-correct multiple choice."""
    known = kind if kind in {one.value for one in submissions.QuestionKind} else _FALLBACK.value
    return load_prompt(f"problems/scan_{known}")


def variant_prompt(kind: submissions.VariantKind) -> Prompt:
    """The prompt for a kind of variant."""
    return load_prompt(f"problems/variant_{kind.value}")


def solve_blind(
    model: Model, account: str, question: str, options: str, prompt: Prompt | None = None, sample: int = 0
) -> Reply[BlindSolution]:
    """Solve a problem from its question and options alone; `prompt` replaces the shipped prompt. Raises ModelError."""
    values = {"question": shown(question), "options": shown(options)}
    asking = Asking[BlindSolution](model, account, sample=sample)
    return ask(SOLVE, prompt or role_prompt(Role.SOLVER), asking, values)


def shown(text: str) -> str:
    """The text, or a placeholder when it is empty."""
    return text.strip() or _NONE


def material(name: str, text: str, *, pictured: bool = False) -> str:
    """The text between tags. If there is no text and the problem is `pictured`, a line that refers to the picture."""
    if not text.strip() and pictured:
        return f"The {name} is in the picture."
    return fence(name, shown(text))


def shown_ideas(ideas: submissions.IdeaResult | None) -> str:
    """The ideas as text, one field after another."""
    if ideas is None:
        return _NONE
    fields = {
        "Key concepts": ideas.concepts,
        "Techniques used": ideas.techniques,
        "Formulas": ideas.formulas,
        "What a student stumbles over": ideas.difficulty_factors,
    }
    rows = ([f"{name}:", *(f"- {one}" for one in entries)] for name, entries in fields.items() if entries)
    return block(line for row in rows for line in row) or _NONE


def numbered(name: str, items: Sequence[str]) -> str:
    """The items, each after a line with its number, which an item cannot imitate."""
    imitation = re.compile(rf"---(?=\s*{name}\s+\d)", re.IGNORECASE)
    texts = (imitation.sub(r"\\---", item.strip()) for item in items)
    rows = (f"--- {name} {number} ---\n{item}" for number, item in enumerate(texts, 1))
    return "\n\n".join(rows) or _NONE
