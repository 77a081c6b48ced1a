"""The exceptions that the layers of the package raise for each other.

QagenError
├── ConfigError             a file or flag that a person must correct
├── StoreError              a stored value that is missing or unreadable, or cannot be written
├── DocumentError           a document that cannot be parsed, with its outcome
│   └── TooLargeError           a file of more bytes than allowed
├── ToolError               text for the model: what went wrong and what to do instead
├── ResumeError             a stored journal that was written for other work
└── ModelError              a model call that gave no usable response
    ├── TransientModelError     a retry may succeed (rate limit, timeout, 5xx, connection)
    │   ├── RateLimitedError        too many requests; all processes should back off
    │   └── UnreachableError        no connection to a server that has not yet answered this process
    ├── PermanentModelError     a retry would fail as well (bad key, bad request)
    │   └── RequestRefusedError     the server refuses the form of the request, or its length
    │       └── ContextOverflowError    the request does not fit the context window
    ├── MalformedResponseError  the body does not follow the API
    └── BudgetExhaustedError    a limit on spending is reached; the call was not made
"""

from pathlib import Path


class QagenError(Exception):
    """Base class of all expected errors. The message is one line for a person. The command ends with `exit_code`."""

    exit_code = 1


class ConfigError(QagenError):
    """Configuration that cannot be used, with the place to correct.

    Args:
        message: what is wrong, without the place.
        file: the file that contains the error; None if no file does.
        line: 1-based line in that file; None if it is not known.
        key: dotted key (`scenarios.rag_eval.name`); None if the error is not about a key.
    """

    exit_code = 2

    def __init__(
        self, message: str, *, file: Path | str | None = None, line: int | None = None, key: str | None = None
    ) -> None:
        self.message, self.file, self.line, self.key = message, file, line, key
        place = "" if file is None else f"{file}:{line}: " if line else f"{file}: "
        super().__init__(f"{place}{f'{key}: ' if key else ''}{message}")


class StoreError(QagenError):
    """A stored value is missing or unreadable, or cannot be written. The message names the value or the store."""


class DocumentError(QagenError):
    """A document cannot be parsed. `outcome` is one of `records.document.Outcome`."""

    def __init__(self, outcome: str, detail: str) -> None:
        self.outcome, self.detail = outcome, detail
        super().__init__(f"{outcome}: {detail}")


class TooLargeError(DocumentError):
    """A file has more bytes than allowed."""

    def __init__(self, size: int, max_bytes: int) -> None:
        self.size = size
        super().__init__("too_large", f"{size:,} bytes; the limit is {max_bytes:,}")


class ToolError(QagenError):
    """A tool could not do what it was asked. The message tells the model what to do instead."""


class ResumeError(QagenError):
    """A stored journal was written for other work, so the work cannot be resumed from it."""


class ModelError(QagenError):
    """A model call gave no usable response. The message never contains headers, keys or request bodies."""


class TransientModelError(ModelError):
    """A retry may succeed. `retry_after` is the delay in seconds for which the server asked, or None."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        self.retry_after = retry_after
        super().__init__(message)


class UnreachableError(TransientModelError):
    """No connection could be made to a server that has not answered this process yet.

    `since` is the time of the first attempt, in seconds of `time.monotonic()`.
    """

    def __init__(self, message: str, *, since: float) -> None:
        self.since = since
        super().__init__(message)


class RateLimitedError(TransientModelError):
    """The server refused the request because of too many requests or overload (429, 529)."""


class PermanentModelError(ModelError):
    """A retry would fail in the same way (bad key, unknown model, invalid request)."""


class RequestRefusedError(PermanentModelError):
    """The server refused the request with a status that can also mean that the prompt is too long (400, 413, 422)."""


class ContextOverflowError(RequestRefusedError):
    """The request is larger than the context window of the model."""


class MalformedResponseError(ModelError):
    """The body of a response does not follow the API."""


class BudgetExhaustedError(ModelError):
    """A limit on spending is reached, so the call was not made. The message names scope and limit."""
