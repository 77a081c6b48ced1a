"""Models that play the seven roles of physics problems. A reply depends on the request alone: what was asked, and how often it was refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from qagen_dagster.configuration.profiles import PROBLEM_ROLES, Role
from qagen_dagster.errors import TransientModelError
from qagen_dagster.loop.problems.inputs import NO_ENGINE, Compiler, ProblemWork, References
from qagen_dagster.loop.problems.run_problem import TaskResults
from qagen_dagster.loop.problems.state_machine import Wishes, tasks_of
from qagen_dagster.models.messages import Image, Request, ToolMessage
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.problems.submissions import Format, Picture, Problem, ProblemInput, VariantKind
from qagen_dagster.store import Store
from tests.support.models import FakeModel, Turn, call, told

Arguments = dict[str, Any]
Script = Callable[[Request], list[Arguments]]
TERMINALS = {
    Role.CLASSIFIER: "submit_classification",
    Role.SCANNER: "submit_scan",
    Role.TIKZ: "submit_tikz",
    Role.IDEA: "submit_ideas",
    Role.ALTERNATE: "submit_alternate",
    Role.VARIANT: "submit_variant",
    Role.CONVERTER: "submit_conversion",
}
PICTURE = Picture(sha256="0" * 64)
STEPS = "The speed is $v = a t = {a} \\cdot {t} = \\boxed{{{v}\\,\\mathrm{{m\\,s^{{-1}}}}}}$."
SCENES = {
    "cart": "A cart starts from rest with acceleration ${a}\\,\\mathrm{{m\\,s^{{-2}}}}$. What is its speed after ${t}\\,\\mathrm{{s}}$?",
    "swan": "A swan takes off from calm water, gaining ${a}\\,\\mathrm{{m\\,s^{{-2}}}}$. How fast is it after ${t}\\,\\mathrm{{s}}$?",
}


def item(a: int = 2, t: int = 5, scene: str = "cart", *, steps: str = STEPS) -> str:
    """An open problem whose answer is a times t."""
    said = SCENES[scene].format(a=a, t=t)
    return f"\\item {said}\n\\begin{{solution}}\n{steps.format(a=a, t=t, v=a * t)}\n\\end{{solution}}"


def mcq(a: int = 2, t: int = 5, *, right: int = 1) -> str:
    """The same with four options, the second one right."""
    v = a * t
    options = "\n".join(
        f"\\task ${value}\\,\\mathrm{{m\\,s^{{-1}}}}$" + (" \\ans" if place < right else "")
        for place, value in enumerate((v, v + 1, v + 2, v + 3))
    )
    said = SCENES["cart"].format(a=a, t=t)
    steps = STEPS.format(a=a, t=t, v=v)
    return (
        f"\\item {said}\n\\begin{{tasks}}(2)\n{options}\n\\end{{tasks}}\n"
        f"\\begin{{solution}}\n{steps}\n\\end{{solution}}"
    )


def integer(a: int = 2, t: int = 5) -> str:
    """The same, asking for a number."""
    return item(a, t).replace("\n\\begin{solution}", " Give your answer as an integer.\n\\begin{solution}")


def classified(**fields: Any) -> Arguments:
    usual: Arguments = {
        "question_type": "subjective",
        "difficulty": "easy",
        "topic": "Kinematics",
        "subtopic": "Constant acceleration",
        "has_diagram": True,
        "diagram_type": "free_body",
        "confidence": 0.9,
    }
    return usual | fields


TIKZ: Arguments = {"tikz_code": "\\begin{tikzpicture}\n\\draw[->] (0,0) -- (1,0);\n\\end{tikzpicture}"}
IDEAS: Arguments = {"concepts": ["constant acceleration"], "techniques": ["use the law of speed"]}
ALTERNATE: Arguments = {
    "solution": (
        "\\begin{solution}\nBy energy, $v^2 = 2 a s$ with $s = 25\\,\\mathrm{m}$, so "
        "$v = \\boxed{10\\,\\mathrm{m\\,s^{-1}}}$.\n\\end{solution}"
    ),
    "method": "energy",
    "final_answer": "10\\,\\mathrm{m\\,s^{-1}}",
}
MERGED: Arguments = {
    "latex": (
        "\\item A swan gains speed at $3\\,\\mathrm{m\\,s^{-2}}$ for $4\\,\\mathrm{s}$ and then pulls a cart of its own mass. "
        "How fast do both glide?\n\\begin{solution}\n$v = 3 \\cdot 4 / 2 = \\boxed{6\\,\\mathrm{m\\,s^{-1}}}$.\n\\end{solution}"
    )
}


def varied(request: Request) -> list[Arguments]:
    """A good variant of the kind that is asked for."""
    text = told(request)
    number = 1 + text.count("--- variant")
    if "Variant: numerical" in text:
        return [{"latex": item(2 + number, 7)}]
    if "Variant: context" in text:
        return [{"latex": item(scene="swan")}]
    if "Variant: multi" in text:
        return [MERGED]
    steps = "Integrate $a(t)$: $v = \\int_0^{{{t}}} {a}\\,dt = \\boxed{{{v}\\,\\mathrm{{m\\,s^{{-1}}}}}}$."
    return [{"latex": item(3, 4, "swan", steps=steps)}]


def converted(request: Request) -> list[Arguments]:
    """A good conversion to the format that is asked for."""
    text = told(request)
    if "To: integer" in text:
        return [{"latex": integer()}]
    return [{"latex": mcq(right=2 if "To: mcq_mc" in text else 1) if "To: mcq" in text else item()}]


GOOD: dict[Role, Script] = {
    Role.CLASSIFIER: lambda _: [classified()],
    Role.SCANNER: lambda _: [{"latex": item(), "raw_diagram_description": "A cart on a line."}],
    Role.TIKZ: lambda _: [TIKZ],
    Role.IDEA: lambda _: [IDEAS],
    Role.ALTERNATE: lambda _: [ALTERNATE],
    Role.VARIANT: varied,
    Role.CONVERTER: converted,
}


class ProblemPlay:
    """The seven models; `script` gives what a role submits, one after the other while it is refused."""

    def __init__(
        self, script: Mapping[Role, Script | list[Arguments]] | None = None, *, images: bool = True
    ) -> None:
        self.scripts = GOOD | {role: _script(one) for role, one in (script or {}).items()}
        self.fakes = {role: _Fake(self._reply(role), role.value, images=images) for role in PROBLEM_ROLES}

    def asked(self, role: Role) -> int:
        return len(self.fakes[role].requests)

    def total(self) -> int:
        return sum(self.asked(role) for role in PROBLEM_ROLES)

    def work(
        self,
        problem: Problem,
        wishes: Wishes,
        compiler: Compiler = NO_ENGINE,
        references: References | None = None,
    ) -> ProblemWork:
        return ProblemWork(
            problem=problem,
            tasks=tasks_of(problem, wishes),
            models=self.fakes,
            see=lambda _: Image(media_type="image/png", data=b"png"),
            compiler=compiler,
            references=references or References(),
        )

    def _reply(self, role: Role) -> Callable[[Request], Turn]:
        def reply(request: Request) -> Turn:
            script = self.scripts[role](request)
            refused = sum(isinstance(message, ToolMessage) for message in request.messages)
            arguments = script[min(refused, len(script) - 1)]
            if "reason" in arguments:
                return call("report_unable", **arguments)
            return call(TERMINALS[role], **arguments)

        return reply


class _Fake(FakeModel):
    def __init__(self, turns: Callable[[Request], Turn], name: str, *, images: bool) -> None:
        super().__init__(self._while_alive, name)
        self._turns = turns
        self._left: list[int] | None = None
        self._spec = ModelSpec(provider="scripted", model=name, images=images)

    def warm(self, temperature: float) -> None:
        """Become another model."""
        self._spec = self._spec.model_copy(update={"temperature": temperature})

    def dies(self, left: list[int]) -> None:
        """Be gone after so many answers, counted together with whoever has the same list."""
        self._left = left

    def follow(self, turns: Callable[[Request], Turn]) -> None:
        """Answer by another function."""
        self._turns = turns

    def _while_alive(self, request: Request) -> Turn:
        if self._left is not None:
            self._left[0] -= 1
            if self._left[0] < 0:
                return TransientModelError("killed")
        return self._turns(request)


def task_results(root: Path, problem: Problem) -> TaskResults:
    return TaskResults(Store(root), "trial", problem.id)


def photo(**fields: Any) -> Problem:
    """A problem that is a picture."""
    usual: dict[str, Any] = {
        "id": "p1",
        "input": ProblemInput.IMAGE,
        "source_path": "p1.png",
        "picture": PICTURE,
    }
    return Problem.model_validate(usual | fields)


def typed(tex: str, **fields: Any) -> Problem:
    """A problem that is TeX."""
    usual: dict[str, Any] = {"id": "p1", "input": ProblemInput.TEX, "source_path": "p.tex", "tex": tex}
    return Problem.model_validate(usual | fields)


ALL = Wishes(
    alternates=1,
    variants=(VariantKind.NUMERICAL, VariantKind.CONTEXT, VariantKind.CONCEPTUAL, VariantKind.CALCULUS),
    conversions=(Format.MCQ_SC, Format.INTEGER),
)


def _script(one: Script | list[Arguments]) -> Script:
    return one if callable(one) else lambda _: one
