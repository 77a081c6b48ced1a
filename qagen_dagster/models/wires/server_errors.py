"""The ModelErrors for HTTP statuses and error bodies, and the texts of these errors.

No type of an SDK appears here, so the rules are the same for all wires in this folder. The text of an error has at most `MAX_TEXT`
characters, without any header and without any API key of six characters or more.
"""

import re
from collections.abc import Mapping
from typing import Any, cast

from qagen_dagster.errors import (
    ContextOverflowError,
    ModelError,
    PermanentModelError,
    RateLimitedError,
    RequestRefusedError,
    TransientModelError,
)
from qagen_dagster.models.retry import retry_after

MAX_TEXT = 300
# Shorter keys stay in texts: users set placeholder keys like "none" or "EMPTY", and answers may contain these words.
_SHORTEST_IN_ERROR = 6
_TRANSIENT = frozenset({408, 409, 425, 429})
_TOO_MUCH = frozenset({429, 529})
NO_CREDIT = "the account has no credit"
_OUT_OF_MONEY = re.compile(
    r"insufficient_quota|exceeded_current_quota|billing_hard_limit|payment required|insufficient[ _](?:balance|credit|fund)"
    r"|balance (?:is )?(?:too low|insufficient|not enough)|\u4f59\u989d\u4e0d\u8db3",  # Chinese: "balance insufficient"
    re.IGNORECASE,
)
_OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|context (?:window|length|size|limit)|maximum model length|max_seq_len|session_len"
    r"|(?:prompt|input|request) (?:is )?too (?:long|large)|(?:prompt|input) (?:length|tokens? (?:count|exceed))|too many (?:input )?tokens"
    r"|input is too|is too large to process|exceeds the maximum number of tokens|max(?:imum)? (?:prompt|number of input)|prompt exceeds"
    r"|requested context|model token limit|number of input tokens|payload size exceeds|has too many tokens|`inputs`"
    r"|prompt contains \d+ tokens|prompt \u8d85\u957f|\u8f93\u5165\u957f\u5ea6",  # Chinese: "prompt too long", "length of the input"
    re.IGNORECASE,
)
# With status 429, only this text says that the request alone is above the limit of a minute, and so is too long.
_ABOVE_RATE = re.compile("request too large", re.IGNORECASE)
_MAY_BE_LENGTH = frozenset({400, 413, 422})
# Reasons for the end of a reply that mean a failure of the server: error, failed, aborted, cancelled, network_error, ...
_BROKEN = re.compile(r"error|fail|abort|cancel|time_?out|insufficient_system_resource", re.IGNORECASE)
_KEY_LIKE = re.compile(
    r"(?:\b(?:sk|pk|rk|gsk|xai|key|hf|nvapi)[-_]|\bAIza)[A-Za-z0-9_*.-]{6,}"
    r"|(?<=bearer )[^\s\"',]{6,}|(?<=api[_-]key[=:] )[^\s\"',]{6,}|(?<=key=)[^\s\"',&]{6,}",
    re.IGNORECASE,
)


def scrub(text: str, secret: str | None = None) -> str:
    """`text` in one line, shortened, without `secret` or anything else that looks like an API key."""
    if secret and len(secret) >= _SHORTEST_IN_ERROR:
        text = text.replace(secret, "[key]")
    text = _KEY_LIKE.sub("[key]", " ".join(text[: 4 * MAX_TEXT].split()))
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


def from_status(
    name: str, status: int, body: object, headers: Mapping[str, str], secret: str | None = None
) -> ModelError:
    """The error for an HTTP answer with an error status; `body` is parsed JSON or text."""
    message = _message(body)
    text = scrub(f"{name}: HTTP {status}: {message}" if message else f"{name}: HTTP {status}", secret)
    too_long = _ABOVE_RATE if status == 429 else _OVERFLOW
    if status == 413 or too_long.search(f"{_codes(body)} {message[:2000]}"):
        return ContextOverflowError(text)
    if status == 402 or _OUT_OF_MONEY.search(f"{_codes(body)} {message[:2000]}"):
        return PermanentModelError(f"{text} ({NO_CREDIT})")
    if status in _TRANSIENT or status >= 500:
        kind = RateLimitedError if status in _TOO_MUCH else TransientModelError
        return kind(text, retry_after=retry_after(headers))
    return (RequestRefusedError if status in _MAY_BE_LENGTH else PermanentModelError)(text)


def from_error_body(name: str, error: object, secret: str | None = None) -> ModelError:
    """The error for a body that reports a failure under status 200."""
    fields = cast("dict[str, Any]", error) if isinstance(error, dict) else {"message": str(error)}
    code = str(fields.get("code"))
    if re.fullmatch(r"[45]\d\d", code):
        return from_status(name, int(code), fields, {}, secret)
    message, words = _message(fields), _codes(fields)
    text = scrub(f"{name}: the server reports a failure: {message}", secret)
    if _OVERFLOW.search(f"{words} {message[:2000]}"):
        return ContextOverflowError(text)
    if any(word in words for word in ("overloaded", "rate_limit")):
        return RateLimitedError(text)
    if any(word in words for word in ("server_error", "timeout", "api_error")):
        return TransientModelError(text)
    return (RequestRefusedError if "invalid_request" in words else PermanentModelError)(text)


def failure_in(name: str, body: dict[str, Any], secret: str | None = None) -> ModelError | None:
    """The error for a body under status 200 that reports a failure or an unfinished reply; None if it reports neither.
    The report is in the body itself or in a part of it: a choice, an output item or a content block. A failure of
    unknown kind is permanent if the body itself has an error, else transient."""
    if body.get("error") or body.get("type") == "error" or body.get("status") == "failed":
        return from_error_body(name, body.get("error"), secret)
    lists = (body.get(key) for key in ("choices", "output", "content"))
    parts = [part for found in lists if isinstance(found, list) for part in cast("list[object]", found)]
    for part in (body, body.get("incomplete_details"), *parts):
        fields = cast("dict[str, Any]", part) if isinstance(part, dict) else {}
        ends = {key: str(fields.get(key)) for key in ("finish_reason", "stop_reason", "status", "reason")}
        reported = fields.get("error") or next(
            (f"{key}: {end}" for key, end in ends.items() if _BROKEN.search(end)), None
        )
        if reported:
            failure = from_error_body(name, reported, secret)
            return TransientModelError(str(failure)) if type(failure) is PermanentModelError else failure
    return None


def _message(body: object) -> str:
    """The error message of the server, from any place where servers put it."""
    if not isinstance(body, dict):
        return str(body or "")
    fields = cast("dict[str, Any]", body)
    for key in ("error", "message", "detail", "errors", "msg"):
        if fields.get(key):
            return _message(fields[key])
    return ""


def _codes(body: object) -> str:
    """The machine-readable codes and types of an error body and of the errors inside it."""
    if not isinstance(body, dict):
        return ""
    fields = cast("dict[str, Any]", body)
    inner = _codes(fields.get("error"))
    return " ".join(str(fields[key]) for key in ("code", "type", "status") if fields.get(key)) + " " + inner
