"""Every exception the package raises on purpose.

What belongs here: names, and the one line a person reads. What does not: handling.

    QagenError
    ├── ConfigError             a file or flag that a person must correct (exit code 2)
    ├── StoreError              a stored value that is missing or unreadable
    ├── DocumentError           a document that cannot be parsed, with its named outcome
    │   └── TooLargeError           a file of more bytes than allowed
    ├── ToolError               content for the model: what went wrong and what to do instead
    ├── ResumeError             a journal that belongs to other work
    └── ModelError              a model call that gave no usable response
        ├── TransientModelError     worth another try (rate limit, time-out, 5xx, connection)
        │   └── RateLimitedError        asked too much at once; the others who ask should slow down
        ├── PermanentModelError     not worth another try (bad key, bad request)
        │   └── ContextOverflowError    the request does not fit the model
        ├── MalformedResponseError  the body is not what the wire promises
        └── BudgetExhaustedError    a limit on spending is reached; the call was not made
"""

from __future__ import annotations

from pathlib import Path


class QagenError(Exception):
    """Base of all expected failures; its text is one line fit for a person."""


class ConfigError(QagenError):
    """Configuration that cannot be used, with the place to correct.

    Args:
        message: what is wrong, without the place.
        file: the file that holds the fault, if there is one.
        line: 1-based line in that file.
        key: dotted key (`scenarios.rag_eval.name`).
    """

    def __init__(
        self,
        message: str,
        *,
        file: Path | str | None = None,
        line: int | None = None,
        key: str | None = None,
    ) -> None:
        self.message, self.file, self.line, self.key = message, file, line, key
        place = "" if file is None else f"{file}:{line}: " if line else f"{file}: "
        super().__init__(f"{place}{f'{key}: ' if key else ''}{message}")


class StoreError(QagenError):
    """A stored value is missing or unreadable; the text names it."""


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
    """A tool could not do what it was asked; the text tells the model what to do instead."""


class ResumeError(QagenError):
    """A journal on disk belongs to other work than the one that asks for it."""


class ModelError(QagenError):
    """A model call gave no usable response. Never carries headers, keys or request bodies."""


class TransientModelError(ModelError):
    """Worth another try. `retry_after` is the server's own wish in seconds, if it said one."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        self.retry_after = retry_after
        super().__init__(message)


class RateLimitedError(TransientModelError):
    """The server refused because too much was asked of it (429, 529)."""


class PermanentModelError(ModelError):
    """Another try would end the same way (bad key, unknown model, invalid request)."""


class ContextOverflowError(PermanentModelError):
    """The request is larger than the model's context window."""


class MalformedResponseError(ModelError):
    """The server's body is not what its wire promises."""


class BudgetExhaustedError(ModelError):
    """A limit on spending is reached: the call was not made. The text names scope and limit."""
