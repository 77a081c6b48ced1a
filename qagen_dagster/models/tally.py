"""Counts what the process has paid and how often it has retried, for the display of progress. Nothing is decided by it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field


@dataclass
class Tally:
    """Of one process; safe for many threads."""

    calls: int = 0
    usd: float = 0.0  # calls without a known price count as 0
    retries: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def paid(self, usd: float) -> None:
        with self._lock:
            self.calls += 1
            self.usd += usd

    def retried(self) -> None:
        with self._lock:
            self.retries += 1


TALLY = Tally()
