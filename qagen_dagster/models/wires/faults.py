"""Maps a failed call, by its HTTP status and body, to one of our errors.

No type of an SDK appears here, so the rules are the same for every wire. Texts contain no header, no API key and at
most `MAX_TEXT` characters.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ConfigDict, ValidationError

from qagen_dagster.errors import (
    ConfigError,
    ContextOverflowError,
    MalformedResponseError,
    ModelError,
    PermanentModelError,
    RateLimitedError,
    TransientModelError,
)
from qagen_dagster.models import json_reply

MAX_TEXT = 300
# Users set placeholder keys like "none", "EMPTY" or "lm-studio", and answers may contain these words.
_SHORTEST_IN_ERROR, _SHORTEST_IN_BODY = 6, 16
_TRANSIENT = frozenset({408, 409, 425, 429})
_TOO_MUCH = frozenset({429, 529})
_OUT_OF_MONEY = ("insufficient_quota", "billing_hard_limit_reached")
_OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context length|context window|context length"
    r"|available context size|exceed context limit|prompt is too long|input is too long|too many input tokens"
    r"|exceeds the maximum number of tokens",
    re.IGNORECASE,
)
_KEY_LIKE = re.compile(
    r"(?:\b(?:sk|pk|rk|gsk|xai|key|hf|nvapi)[-_]|\bAIza)[A-Za-z0-9_*.-]{6,}"
    r"|(?<=bearer )[^\s\"',]{6,}|(?<=api[_-]key[=:] )[^\s\"',]{6,}|(?<=key=)[^\s\"',&]{6,}",
    re.IGNORECASE,
)


def scrub(text: str, secret: str | None = None) -> str:
    """`text` in one line, shortened, without `secret` and anything else that looks like an API key."""
    if secret and len(secret) >= _SHORTEST_IN_ERROR:
        text = text.replace(secret, "[key]")
    text = _KEY_LIKE.sub("[key]", " ".join(text[: 4 * MAX_TEXT].split()))
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


def from_status(
    name: str, status: int, body: object, headers: Mapping[str, str], secret: str | None = None
) -> ModelError:
    """The error for an HTTP answer with an error status; `body` is parsed JSON or text."""
    said = _message(body)
    text = scrub(f"{name}: HTTP {status}: {said}" if said else f"{name}: HTTP {status}", secret)
    if status == 413 or (status != 429 and _OVERFLOW.search(f"{_codes(body)} {said[:2000]}")):
        return ContextOverflowError(text)
    out_of_money = any(code in _codes(body) for code in _OUT_OF_MONEY)
    if (status in _TRANSIENT or status >= 500) and not out_of_money:
        kind = RateLimitedError if status in _TOO_MUCH else TransientModelError
        return kind(text, retry_after=retry_after(headers))
    return PermanentModelError(text)


def from_error_body(name: str, error: object, secret: str | None = None) -> ModelError:
    """The error for a body that reports a failure under status 200."""
    fields = cast("dict[str, Any]", error) if isinstance(error, dict) else {"message": str(error)}
    code = fields.get("code")
    if isinstance(code, int) and 400 <= code < 600:
        return from_status(name, code, fields, {}, secret)
    said, words = _message(fields), _codes(fields)
    text = scrub(f"{name}: the server reports a failure: {said}", secret)
    if _OVERFLOW.search(f"{words} {said[:2000]}"):
        return ContextOverflowError(text)
    if any(word in words for word in ("overloaded", "rate_limit")):
        return RateLimitedError(text)
    if any(word in words for word in ("server_error", "timeout", "api_error")):
        return TransientModelError(text)
    return PermanentModelError(text)


def retry_after(headers: Mapping[str, str], *, now: datetime | None = None) -> float | None:
    """The seconds that the server asks to wait: Retry-After-Ms, or Retry-After as a number or HTTP date."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None or not value:
        return seconds
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())


def json_body(name: str, text: str, secret: str | None = None) -> dict[str, Any]:
    """The body of a successful answer, without `secret`.

    Raises TransientModelError when it is not a JSON object: it is a proxy's page or was cut off, and not
    the model's reply.
    """
    if secret and len(secret) >= _SHORTEST_IN_BODY:
        text = text.replace(secret, "[key]")
    try:
        body = json_reply.loads(text)
    except ValueError:
        raise TransientModelError(scrub(f"{name}: not JSON: {text[:120]!r}", secret)) from None
    if not isinstance(body, dict):
        raise TransientModelError(scrub(f"{name}: not a JSON object: {text[:120]!r}", secret))
    return cast("dict[str, Any]", body)


class Shape(BaseModel):
    """The part of a body that we read; anything else that the server sends is ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


S = TypeVar("S", bound=Shape)


def shaped(shape: type[S], body: object) -> S:
    """`body` as `shape`. Raises MalformedResponseError naming the first part that does not fit."""
    try:
        return shape.model_validate(body)
    except ValidationError as error:
        fault = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(str(step) for step in fault["loc"]) or "body"
        raise MalformedResponseError(scrub(f"the response is malformed at {place}: {fault['msg']}")) from None


def count(body: object, *path: str) -> int:
    """A token count, 0 if the server does not say."""
    value: object = body
    for step in path:
        value = cast("dict[str, Any]", value).get(step) if isinstance(value, dict) else None
    return int(value) if isinstance(value, (int, float)) and math.isfinite(value) and value > 0 else 0


def check_url(url: str) -> str:
    """`url`, if a client can use it. Raises ConfigError."""
    if not re.match(r"https?://[^\s/]", url):
        raise ConfigError(f"{url!r} is not an http:// or https:// address", key="base_url")
    return url


def _number(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _message(body: object) -> str:
    """The error message of the server, from any of the places where servers put it."""
    if not isinstance(body, dict):
        return str(body or "")
    fields = cast("dict[str, Any]", body)
    for key in ("error", "message", "detail"):
        if fields.get(key):
            return _message(fields[key])
    return ""


def _codes(body: object) -> str:
    """The machine-readable codes and types at the top of an error body."""
    if not isinstance(body, dict):
        return ""
    fields = cast("dict[str, Any]", body)
    inner = _codes(fields.get("error"))
    return " ".join(str(fields[key]) for key in ("code", "type", "status") if fields.get(key)) + " " + inner
