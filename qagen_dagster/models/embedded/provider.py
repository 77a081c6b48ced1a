"""The embedded provider: a wire to a model in this process.

It turns a request into a mechanism's next tool calls, and these into a body that can be stored and replayed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import Field, ValidationError

from qagen_dagster.errors import ConfigError, MalformedResponseError
from qagen_dagster.models.base import ModelSpec
from qagen_dagster.models.embedded.answering.reader import read
from qagen_dagster.models.embedded.conversation import Action, Conversation, read_conversation
from qagen_dagster.models.embedded.exams import roles as exams
from qagen_dagster.models.embedded.problems import roles as problems
from qagen_dagster.models.embedded.questions.generator import propose
from qagen_dagster.models.embedded.questions.matcher import judge_duplicate
from qagen_dagster.models.messages import AssistantMessage, Request, Response, Stop, Text, ToolCall, Usage
from qagen_dagster.records.base import Record

Mechanism = Callable[[Conversation], list[Action]]  # decides the next tool calls from the conversation alone


class _Call(Record):
    id: str
    name: str
    arguments: dict[str, Any]


class _Body(Record):
    """The stored body, in this wire's own format."""

    model: str
    text: str = ""
    tool_calls: tuple[_Call, ...] = ()
    usage: Usage = Field(default_factory=Usage)


MECHANISMS: dict[str, Mechanism] = {
    "rules": propose,
    "reader": read,
    "matcher": judge_duplicate,
    "exam-designer": exams.design,
    "exam-implementer": exams.implement,
    "exam-verifier": exams.verify,
    "exam-style-judge": exams.judge_style,
    "problem-classifier": problems.classify_tex,
    "problem-scanner": problems.scan,
    "problem-tikz": problems.draw,
    "problem-ideas": problems.find_ideas,
    "problem-alternate": problems.solve_otherwise,
    "problem-variant": problems.make_variant,
    "problem-converter": problems.convert_format,
}


class EmbeddedProvider:
    """A `Provider` whose model is the mechanism of MECHANISMS that `spec.model` names. `mechanism` replaces it,
    for instance by a reader with other weights."""

    def __init__(self, spec: ModelSpec, mechanism: Mechanism | None = None) -> None:
        if spec.model not in MECHANISMS:
            raise ConfigError(
                f"embedded has no model {spec.model!r}; there are {', '.join(sorted(MECHANISMS))}",
                key="model",
            )
        self._spec = spec
        self._mechanism = mechanism or MECHANISMS[spec.model]

    @property
    def spec(self) -> ModelSpec:
        return self._spec

    def send(self, request: Request) -> dict[str, Any]:
        """Decide the next turn. Raises PermanentModelError if the request offers no tool that the mechanism can use."""
        conversation = read_conversation(request)
        actions = self._mechanism(conversation)
        turn = len(request.messages)
        calls = tuple(
            _Call(id=f"embedded_{turn}_{index}", name=action.name, arguments=action.arguments)
            for index, action in enumerate(actions)
        )
        written = sum(len(str(value).split()) for call in calls for value in call.arguments.values())
        read = len(conversation.system.split()) + len(conversation.prompt.split())
        read += sum(len(exchange.text.split()) for exchange in conversation.exchanges)
        body = _Body(
            model=self._spec.model, tool_calls=calls, usage=Usage(input_tokens=read, output_tokens=written)
        )
        return body.model_dump(mode="json")

    def read(self, body: dict[str, Any]) -> Response:
        """Read a body. Raises MalformedResponseError if another wire wrote it."""
        try:
            parsed = _Body.model_validate(body)
        except ValidationError as error:
            raise MalformedResponseError(
                f"not a body of the embedded model: {error.errors()[0]['msg']}"
            ) from None
        calls = [ToolCall(id=call.id, name=call.name, arguments=call.arguments) for call in parsed.tool_calls]
        words = [Text(text=parsed.text)] if parsed.text else []
        return Response(
            message=AssistantMessage(content=(*words, *calls)),
            stop=Stop.TOOLS if calls else Stop.END,
            usage=parsed.usage,
            model=f"{self._spec.provider}:{parsed.model}",
        )
