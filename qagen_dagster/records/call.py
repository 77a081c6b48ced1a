"""A model call as it is accounted for. What was said in it is the ledger's."""

from __future__ import annotations

from typing import NamedTuple, Self

from qagen_dagster.records.base import Record


class CallSummary(Record):
    """One model call as accounted: no content, no secrets."""

    request_key: str  # hash of the canonical request: the ledger's address
    role: str
    model: str
    document_id: str
    attempt: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0  # of the input
    reasoning_tokens: int = 0  # of the output
    usd: float | None = None  # None: the price is unknown
    seconds: float = 0.0
    retries: int = 0
    replayed: bool = False  # served from the ledger: nothing was paid
    cache_write_tokens: int = 0  # of the input
    unused: bool = False  # made ahead of its step, which then was not needed


class Usage(NamedTuple):
    """What is counted of a call. It takes a fifth of the memory of the record, and a large corpus has a million."""

    role: str
    model: str
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cache_write_tokens: int
    usd: float | None
    seconds: float
    retries: int
    replayed: bool
    unused: bool

    @classmethod
    def of(cls, call: CallSummary) -> Self:
        return cls(*(getattr(call, name) for name in cls._fields))
