"""The designer: the reasoning idea of one question, without numbers, equations or anything solved."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from qagen_dagster.agents.exam.asking import LIMITS, Said, ask
from qagen_dagster.agents.exam.context import ExamContext, words_of
from qagen_dagster.agents.prompts import Prompt, load_prompt
from qagen_dagster.agents.spec import AgentSpec, Terminal
from qagen_dagster.errors import ToolError
from qagen_dagster.models.base import Model
from qagen_dagster.records.base import Record
from qagen_dagster.records.exam import IdeaPlan
from qagen_dagster.toolkit.excerpt import one_line

ROLE = "designer"
_SHOWN_IDEAS = 40
_CONCRETE = re.compile(r"[^\s]{0,20}[0-9=][^\s]{0,20}")
_OTHER_SCHEMA = "schema_id must be {wanted}, the schema you were given."
_TOO_CONCRETE = (
    "{field} holds {found!r}: an idea has no numbers and no equations. Say in words what relation or quantity is meant; "
    "the implementer chooses numbers."
)


def prompt() -> Prompt:
    return load_prompt("exam_designer")


def design(
    context: ExamContext, model: Model, ideas: Sequence[str], failures: Sequence[str]
) -> Said[IdeaPlan]:
    """Ask for an idea unlike `ideas`; `failures` say why earlier designs of this item could not be used. Raises ModelError."""
    spec = AgentSpec(
        name="exam designer",
        role=ROLE,
        prompt=prompt(),
        tools=(),
        terminals=(Terminal("submit_idea", IdeaPlan, partial(_check, context.schema.id)),),
        limits=LIMITS,
        reads_text=True,
    )
    values = context.exam() | context.target()
    values |= {
        "schema": context.schema.text,
        "ideas": "\n".join(f"- {one_line(idea, 400)}" for idea in ideas[-_SHOWN_IDEAS:]) or "(none yet)",
        "failures": "\n".join(f"- {one_line(one, 400)}" for one in failures) or "(none)",
    }
    number = len(failures)
    return ask(spec, IdeaPlan, model, context, values, attempt=number + 1, sample=number)


def _check(schema_id: str, result: Record) -> None:
    plan = IdeaPlan.model_validate(result)
    if plan.schema_id.strip() != schema_id:
        raise ToolError(_OTHER_SCHEMA.format(wanted=schema_id))
    for name, said in words_of(plan).items():
        found = _CONCRETE.search(" ".join(said))
        if found is not None:
            raise ToolError(_TOO_CONCRETE.format(field=name, found=found.group()))
