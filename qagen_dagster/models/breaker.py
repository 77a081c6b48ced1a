"""Stops asking a model whose replies no agent can use.

What belongs here: which reply that is, and counting such replies. What does not: retries (`retry.py`), and the limits of
one agent run (`agents/runner.py`).
"""

from __future__ import annotations

import threading

from qagen_dagster.errors import PermanentModelError
from qagen_dagster.models.messages import Request, Response, Stop

STOP_AFTER = 20  # useless replies in a row, of all documents together


def fault_of(request: Request, response: Response) -> str | None:
    """Why no agent can use a reply: it is empty, or each of its tool calls has an unknown tool or unreadable arguments."""
    if not response.message.content and response.stop is Stop.END:
        return "the reply is empty"
    names = {tool.name for tool in request.tools}
    calls = response.message.tool_calls
    faults = [
        f"unknown tool {call.name!r:.60}" if call.name not in names else f"{call.name}: {call.fault}"
        for call in calls
        if call.name not in names or call.fault is not None
    ]
    return " ".join(faults[0][:300].split()) if faults and len(faults) == len(calls) else None


class Breaker:
    """Counts the useless replies of one model; safe for many threads."""

    def __init__(self) -> None:
        self._lock, self._in_a_row, self._fault = threading.Lock(), 0, ""

    def check(self, model: str) -> None:
        """Raises PermanentModelError when `model` should not be asked again."""
        if self._in_a_row >= STOP_AFTER:
            raise PermanentModelError(
                f"{model}: stopped after {STOP_AFTER} useless replies in a row, the last: {self._fault}"
            )

    def count(self, fault: str | None) -> None:
        """Count a reply; None for a useful one, which ends the row."""
        with self._lock:
            self._in_a_row = 0 if fault is None else self._in_a_row + 1
            if self._in_a_row <= STOP_AFTER:  # later ones were in flight
                self._fault = fault or ""
