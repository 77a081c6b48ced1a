"""One record from one reply: asked for by schema, read with tolerance, repaired once.

For roles of a single turn. What belongs here: the two turns. What does not: how a wire enforces a schema, what
JSON is forgiven (`json_reply.py`), and what the record means.
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
    """What came of it. `fault` says why there is no value, and is empty where there is one."""

    value: R | None
    fault: str
    responses: tuple[Response, ...]


def ask_for(kind: type[R], model: Model, request: Request) -> Structured[R]:
    """Ask for one `kind`, and once more, with the fault in words, where the reply is none.

    A refusal is final. The same rules hold where the server enforces the schema: what it enforces may be cut off.
    Raises ModelError when the model cannot be had.
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
