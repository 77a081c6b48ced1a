"""Asks a model for one record by its schema, reads the reply with tolerance, and asks for one correction.

For roles with a single turn. What belongs here: the two turns. What does not: how a wire enforces a schema, which
faults of JSON are tolerated (`json_reply.py`), and the meaning of the record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import ValidationError

from qagen_dagster.models import json_reply
from qagen_dagster.models.base import Model
from qagen_dagster.models.messages import Message, Request, Response, Stop, Text, UserMessage
from qagen_dagster.records.base import Record

R = TypeVar("R", bound=Record)
REPAIR = "Your reply cannot be used: {fault}. Send the whole JSON object again, corrected, and nothing else."


@dataclass(frozen=True)
class Structured(Generic[R]):
    """The value, or the `fault` that says why there is none; it is empty if there is a value."""

    value: R | None
    fault: str
    responses: tuple[Response, ...]


def ask_for(kind: type[R], model: Model, request: Request) -> Structured[R]:
    """Ask for one `kind`. If the reply is not one, ask once more and name the fault.

    A refusal is final. A server that enforces the schema changes nothing: its reply may be cut off. Raises ModelError.
    """
    asked = request.model_copy(update={"tools": (), "output_schema": kind.model_json_schema()})
    first = model.respond(asked)
    value, fault = _read(kind, first)
    if value is not None or first.stop in (Stop.REFUSAL, Stop.FILTER):
        return Structured(value, fault, (first,))
    repair = UserMessage(content=(Text(text=REPAIR.format(fault=fault)),))
    turns: tuple[Message, ...] = (*request.messages, first.message, repair)
    second = model.respond(asked.model_copy(update={"messages": turns}))
    return Structured(*_read(kind, second), (first, second))


def _read(kind: type[R], response: Response) -> tuple[R | None, str]:
    if response.stop in (Stop.REFUSAL, Stop.FILTER):
        return None, f"the model would not answer: {response.message.text[:200] or response.stop.value}"
    try:
        return kind.model_validate(json_reply.read_object(response.message.text)), ""
    except ValidationError as error:
        fault = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, fault["loc"])) or "the object"
        return None, f"{place}: {fault['msg']}"
    except ValueError as error:
        return None, str(error)
