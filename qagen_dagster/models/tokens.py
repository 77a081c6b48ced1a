"""Estimates the tokens of a request before it is sent: the probable number for rate limits, and the most for budgets."""

import json
from collections.abc import Generator, Iterable
from typing import Any

from qagen_dagster.models.messages import Message, Request, Text, ToolCall, ToolMessage, Usage
from qagen_dagster.models.spec import ModelSpec

TOKEN_CHARACTERS = 4  # characters of English per token; in estimates of a request, bytes per token
_FEWEST_BYTES = 2  # bytes per token in text that takes many tokens
PICTURE_TOKENS = 1_500  # tokens of a picture of about a megapixel
_LONGEST_OUTPUT = 1_024  # maximum of output tokens in an estimate; most answers are far shorter


def estimate(request: Request, spec: ModelSpec) -> int:
    """The probable tokens of an attempt at `request`, input and output together."""
    return _input(request, spec, TOKEN_CHARACTERS) + min(spec.max_output_tokens, _LONGEST_OUTPUT)


def at_most(request: Request, spec: ModelSpec) -> Usage:
    """The tokens that an attempt at `request` will hardly exceed. Servers enforce the limit of the output."""
    tokens = _input(request, spec, _FEWEST_BYTES)
    return Usage(input_tokens=tokens, cache_write_tokens=tokens, output_tokens=spec.max_output_tokens)


def _input(request: Request, spec: ModelSpec, token_bytes: int) -> int:
    """Tokens of input, if a token has `token_bytes` bytes."""
    size, pictures = len(request.system.encode()), 0
    for tool in request.tools:
        size += len(tool.description.encode()) + len(json.dumps(tool.parameters))
    for part in _parts(request.messages):
        if isinstance(part, Text):
            size += len(part.text.encode())
        elif isinstance(part, ToolCall):
            size += len(json.dumps(part.arguments))
        elif part.type == "image" and spec.images:
            pictures += 1
    return size // token_bytes + pictures * PICTURE_TOKENS


def _parts(messages: Iterable[Message]) -> Generator[Any]:
    for message in messages:
        if isinstance(message, ToolMessage):
            for result in message.results:
                yield from result.content
        else:
            yield from message.content
