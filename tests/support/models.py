"""A model that follows a script of turns and keeps what it was asked."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterable
from typing import Any

from qagen_dagster.models.budget import Meter, Spent
from qagen_dagster.models.messages import (
    AssistantMessage,
    Message,
    Request,
    Response,
    Stop,
    Text,
    ToolCall,
    ToolMessage,
    Usage,
)
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.models.structured_output import read_arguments
from qagen_dagster.records.questions.submissions import Comparison

Turn = AssistantMessage | Response | Exception
CRITERIA = tuple(name for name in Comparison.model_fields if name != "explanation")


GUESS = "submit_closed_book_answer"


class FakeModel:
    """A `Model`: gives the turns in order, or what a function makes of each request.

    Without its document it knows nothing, and such requests are not kept, unless it `plays_closed_book`.
    """

    def __init__(
        self,
        turns: Iterable[Turn] | Callable[[Request], Turn],
        name: str = "fake",
        provider: str = "scripted",
        *,
        plays_closed_book: bool = False,
    ) -> None:
        self._next = turns if callable(turns) else self._in_order(list(turns))
        self._spec = ModelSpec(provider=provider, model=name)
        self._guard = threading.Lock()
        self._plays_closed_book = plays_closed_book
        self.requests: list[Request] = []

    @property
    def spec(self) -> ModelSpec:
        return self._spec

    def metered(self, meter: Meter) -> FakeModel:
        """The same model as one whose calls are paid."""

        def respond(request: Request) -> Turn:
            cost = Spent(usd=0.01, tokens=100, calls=1)
            with meter.hold(cost):
                response = self.respond(request)
                meter.record(cost)
            return response

        return FakeModel(
            respond, self._spec.model, self._spec.provider, plays_closed_book=self._plays_closed_book
        )

    def respond(self, request: Request) -> Response:
        if [one.name for one in request.tools] == [GUESS] and not self._plays_closed_book:
            return answer(call(GUESS, answer="unknown", confidence=0.0))
        with self._guard:
            self.requests.append(request)
        turn = self._next(request)
        if isinstance(turn, Exception):
            raise turn
        return turn if isinstance(turn, Response) else answer(turn)

    @staticmethod
    def _in_order(turns: list[Turn]) -> Callable[[Request], Turn]:
        def following(_request: Request) -> Turn:
            if not turns:
                raise AssertionError("the model was asked once more than the script foresees")
            return turns.pop(0)

        return following


def tool_call(name: str, call_id: str = "c1", /, **arguments: Any) -> ToolCall:
    return ToolCall(id=call_id, name=name, arguments=arguments)


def calls(*parts: ToolCall) -> AssistantMessage:
    return AssistantMessage(content=parts)


def call(tool: str, /, **arguments: Any) -> AssistantMessage:
    """A turn that calls one tool."""
    return calls(tool_call(tool, **arguments))


def say(text: str) -> AssistantMessage:
    return AssistantMessage(content=(Text(text=text),) if text else ())


def answer(message: AssistantMessage, stop: Stop | None = None) -> Response:
    usual = Stop.TOOLS if message.tool_calls else Stop.END
    return Response(
        message=message, stop=stop or usual, usage=Usage(input_tokens=7, output_tokens=3), model="fake"
    )


def cut(turn: Turn, characters: int) -> Turn:
    """The turn as a server gives it that cuts off every reply after so many characters of its last call."""
    message = turn.message if isinstance(turn, Response) else turn
    if isinstance(message, Exception) or not message.tool_calls:
        return turn
    *others, last = message.tool_calls
    raw = json.dumps(last.arguments)
    if len(raw) <= characters:
        return turn
    arguments, fault = read_arguments(raw[:characters])
    return answer(
        calls(*others, last.model_copy(update={"arguments": arguments, "fault": fault})), Stop.LENGTH
    )


def told(request: Request) -> str:
    """Everything a request says to the model, pictures aside."""
    return "\n".join((request.system, *(_words(message) for message in request.messages)))


def task(request: Request) -> str:
    """The tool that ends the task of a request: of several such tools, the one that the task names."""
    offered = [tool.name for tool in request.tools]
    named = re.findall(r"`(submit_\w+)`", told(request))
    return next((name for name in named if name in offered), offered[-1])


def _words(message: Message) -> str:
    if isinstance(message, ToolMessage):
        parts = [part for result in message.results for part in result.content]
    else:
        parts = list(message.content)
    return "\n".join(
        part.text if isinstance(part, Text) else str(getattr(part, "arguments", "")) for part in parts
    )
