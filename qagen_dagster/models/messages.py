"""The neutral conversation: the messages that agents use and every wire translates.

No type of a provider appears here. Values are frozen, so a request can be hashed and replayed.
"""

import base64
import json
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, FieldSerializationInfo, field_serializer, field_validator

from qagen_dagster.records.base import Record
from qagen_dagster.records.ids import content_hash

_BY_HASH = object()  # context of a JSON dump in which the hash of each picture replaces its bytes


class Text(Record):
    type: Literal["text"] = "text"
    text: str


class Image(Record):
    """A picture as bytes (base64 in JSON), with the title that the model sees."""

    type: Literal["image"] = "image"
    media_type: Literal["image/png", "image/jpeg"]
    data: bytes
    title: str = ""

    @field_validator("data", mode="before")
    @classmethod
    def _decode(cls, value: object) -> object:
        return base64.b64decode(value, validate=True) if isinstance(value, str) else value

    @field_serializer("data", when_used="json")
    def _encode(self, value: bytes, info: FieldSerializationInfo) -> str:
        return content_hash(value) if info.context is _BY_HASH else self.encoded

    @property
    def encoded(self) -> str:
        """The bytes in base64."""
        return base64.b64encode(self.data).decode("ascii")

    @property
    def data_url(self) -> str:
        return f"data:{self.media_type};base64,{self.encoded}"


class Thinking(Record):
    """Reasoning, separate from the answer.

    `wire` names the wire from which the reasoning came. `payload` is sent back unchanged, over this wire only.
    """

    type: Literal["thinking"] = "thinking"
    text: str = ""
    wire: str = ""
    payload: dict[str, Any] = Field(default_factory=dict)


class ToolCall(Record):
    """A call of a tool by the model. `fault` is the reason why the arguments could not be read; None if they could be read."""

    type: Literal["tool_call"] = "tool_call"
    id: str
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    fault: str | None = None


Content = Annotated[Text | Image, Field(discriminator="type")]
AssistantPart = Annotated[Text | Thinking | ToolCall, Field(discriminator="type")]


class ToolResult(Record):
    """The result of one tool call.

    If the tool failed, `is_error` is True, and `content` is the message of the error.
    """

    call_id: str
    name: str
    content: tuple[Content, ...]
    is_error: bool = False


class UserMessage(Record):
    role: Literal["user"] = "user"
    content: tuple[Content, ...]


class AssistantMessage(Record):
    role: Literal["assistant"] = "assistant"
    content: tuple[AssistantPart, ...]

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.content if isinstance(part, Text))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return tuple(part for part in self.content if isinstance(part, ToolCall))

    @property
    def in_reasoning(self) -> str:
        """A description of a reply that has reasoning, but no text and no tool call; empty for others. Some
        servers put the whole text of a reply into their field for reasoning."""
        thought = " ".join(part.text for part in self.content if isinstance(part, Thinking)).strip()
        if self.text.strip() or self.tool_calls or not thought:
            return ""
        return f"the reply is empty but for the field for reasoning, which says: {' '.join(thought[:300].split())}"


class ToolMessage(Record):
    """The results of all tool calls of one turn, in the order of the calls."""

    role: Literal["tool"] = "tool"
    results: tuple[ToolResult, ...]


Message = Annotated[UserMessage | AssistantMessage | ToolMessage, Field(discriminator="role")]


class ToolSpec(Record):
    """A tool as a model sees it. `parameters` is a JSON schema of an object."""

    name: str
    description: str
    parameters: dict[str, Any]


class ToolChoice(StrEnum):
    AUTO = "auto"
    REQUIRED = "required"
    NONE = "none"


class Request(Record):
    """One call: everything that determines the response, except for the model and its settings (ModelSpec).

    `sample` distinguishes repeated samples of the same request. `output_schema` asks for one JSON object
    instead of tool calls.
    """

    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: ToolChoice = ToolChoice.AUTO
    output_schema: dict[str, Any] | None = None
    sample: int = 0

    def canonical(self) -> str:
        """The JSON that the ledger hashes. It is compact and has sorted keys. The hash of each picture replaces its bytes."""
        value = self.model_dump(mode="json", context=_BY_HASH)
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


class Usage(Record):
    """Tokens as the provider counted them.

    Input includes tokens that were read from the provider's cache or written to it. Output includes
    reasoning. A count that the server does not report is 0.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cache_write_tokens: int = 0
    measured: bool = True  # False: counts are missing or impossible, so the cost is unknown

    def believed(self, message: AssistantMessage) -> "Usage":
        """These counts, marked as not `measured` if they cannot be right for the reply `message`. They cannot
        be right if no input was counted, or if the output is too small for the characters of the message."""
        characters = sum(
            len(part.model_dump_json(include={"text", "name", "arguments"})) for part in message.content
        )
        empty = not any(isinstance(part, ToolCall) or part.text for part in message.content)
        possible = self.input_tokens and (empty or self.output_tokens * MOST_CHARACTERS >= characters)
        return self if possible else self.model_copy(update={"measured": False})

    def charged(self, most: "Usage") -> "Usage":
        """The usage that budgets count. `most` is the most that the request may take. If this usage is measured, and its counts are neither
        too small nor too large for the request, budgets count this usage. Otherwise they count `most`; if no count of this
        usage is too large, a larger count replaces that of `most`."""
        names = ("input_tokens", "output_tokens")
        limits = {name: MOST_CHARACTERS * max(getattr(most, name), _LEAST_LIMIT) for name in names}
        possible = all(getattr(self, name) <= limit for name, limit in limits.items())
        if self.measured and possible and self.input_tokens * MOST_CHARACTERS >= most.input_tokens:
            return self
        tokens = {name: max(getattr(self, name), getattr(most, name)) for name in names} if possible else {}
        return most.model_copy(update=tokens)


MOST_CHARACTERS = 100  # characters per token: no text has more on average; also the factor by which a credible count may exceed the maximum
_LEAST_LIMIT = 1000  # tokens; a smaller maximum counts as this, because servers add tokens to short prompts


class Stop(StrEnum):
    """The reason why the model stopped."""

    END = "end"
    TOOLS = "tools"
    LENGTH = "length"
    REFUSAL = "refusal"
    FILTER = "filter"


class Response(Record):
    """A response in neutral form, and the circumstances of the call.

    Attributes:
        model: the model that the server names.
        request_key: the key of the response in the ledger.
        seconds, retries: the time of the whole call, and its retries.
        replayed: whether the response was in the ledger, so that nothing was paid for it now.
        batch: whether the response was paid at the price of a batch.
        charged: what budgets count instead of `usage`; None if they count `usage`.
    """

    message: AssistantMessage
    stop: Stop
    usage: Usage = Field(default_factory=Usage)
    model: str = ""
    request_key: str = ""
    seconds: float = 0.0
    retries: int = 0
    replayed: bool = False
    batch: bool = False
    charged: Usage | None = None
