"""The pool in which a process works on documents, in the order in which they were added.

All ops and combinations of the process share it. So while one op waits for its slowest document, other documents use the free calls.

The pool limits the number of model calls in flight. A document computes between two calls, and another document can call in that time.
So the pool works on more documents at once than it allows calls. Once the waiting documents are fewer than the allowed calls, all of
them start together, so that no document is left to call alone at the end.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable

from qagen_dagster.models.base import Model, ModelSpec
from qagen_dagster.models.messages import Request, Response


class DocumentPool:
    """Works on documents with at most `calls` model calls in flight."""

    def __init__(self, calls: int) -> None:
        self._calls = calls
        self._permits = threading.Semaphore(calls)
        self._lock = threading.Lock()
        self._waiting: deque[Callable[[], None]] = deque()
        self._running = 0

    def add(self, documents: Iterable[Callable[[], None]]) -> None:
        """Add the work on documents. Add all known documents in one call, because their number decides how many start."""
        with self._lock:
            self._waiting.extend(documents)
            self._start()

    def limited(self, model: Model) -> Model:
        """The model, whose calls count towards the limit of the pool."""
        return _LimitedModel(model, self._permits)

    def _start(self) -> None:
        while self._waiting and self._running < self._most():
            self._running += 1
            # A daemon thread, so that the end of the process does not wait for model calls. Journals keep the finished steps.
            work = self._waiting.popleft()
            threading.Thread(target=self._work, args=(work,), name="document", daemon=True).start()

    def _most(self) -> int:
        """The maximum number of documents at the same time."""
        return 2 * self._calls if len(self._waiting) < self._calls else self._calls + self._calls // 4

    def _work(self, document: Callable[[], None]) -> None:
        try:
            document()
        finally:
            with self._lock:
                self._running -= 1
                self._start()


class _LimitedModel:
    def __init__(self, model: Model, permits: threading.Semaphore) -> None:
        self._model, self._permits = model, permits

    @property
    def spec(self) -> ModelSpec:
        return self._model.spec

    def respond(self, request: Request) -> Response:
        with self._permits:
            return self._model.respond(request)
