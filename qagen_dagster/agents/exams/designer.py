"""The designer writes the reasoning idea of one question, without numbers, equations or a solution."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from qagen_dagster.agents.exams.ask import LIMITS, Said, ask
from qagen_dagster.agents.exams.rendering import ExamContext, words_of
from qagen_dagster.agents.prompts import Prompt, load_prompt
from qagen_dagster.agents.spec import AgentSpec, Terminal
from qagen_dagster.errors import ToolError
from qagen_dagster.models.base import Model
from qagen_dagster.records.base import Record
from qagen_dagster.records.exams.item import IdeaPlan
from qagen_dagster.toolkit.excerpt import OwnText, block, one_line

ROLE = "designer"
_IDEA_CHARACTERS = 2_000  # of all ideas shown together
_CONCRETE = re.compile(r"[^\s]{0,20}[0-9=][^\s]{0,20}")
_OTHER_SCHEMA = "schema_id must be {wanted}, the schema you were given."
_TOO_CONCRETE = (
    "{field} holds {found!r}: an idea has no numbers and no equations. Say in words what relation or quantity is meant; "
    "the implementer chooses numbers."
)


def prompt() -> Prompt:
    return load_prompt("exams/designer")


def design(
    context: ExamContext, model: Model, ideas: Sequence[str], failures: Sequence[str]
) -> Said[IdeaPlan]:
    """Ask for an idea that differs from `ideas`; `failures` say why earlier designs failed. Raises ModelError."""
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
        "schema": OwnText(context.schema.text),
        "ideas": shown_ideas(ideas),
        "failures": block(f"- {one_line(one, 400)}" for one in failures) or "(none)",
    }
    number = len(failures)
    return ask(spec, IdeaPlan, model, context, values, attempt=number + 1, sample=number)


def shown_ideas(ideas: Sequence[str]) -> str:
    """As many of the newest ideas as fit, and the number of older ideas that are not shown.

    The newest idea is always shown; it is cut if it alone is too long.
    """
    rows: list[str] = []
    room = _IDEA_CHARACTERS
    for idea in reversed(ideas):
        row = f"- {one_line(idea, _IDEA_CHARACTERS - 2)}"
        if rows and len(row) + 1 > room:
            break
        rows.append(row)
        room -= len(row) + 1
    hidden = len(ideas) - len(rows)
    if hidden:
        rows.append(f"({hidden} older {'idea is' if hidden == 1 else 'ideas are'} not shown)")
    return block(reversed(rows)) or "(none yet)"


def _check(schema_id: str, result: Record) -> None:
    plan = IdeaPlan.model_validate(result)
    if plan.schema_id.strip() != schema_id:
        raise ToolError(_OTHER_SCHEMA.format(wanted=schema_id))
    for name, said in words_of(plan).items():
        found = _CONCRETE.search(" ".join(said))
        if found is not None:
            raise ToolError(_TOO_CONCRETE.format(field=name, found=found.group()))
