"""Collects the requests of many threads into one batch, sends it, waits for it and distributes the responses.

This module decides which requests go by batch, which thread waits for what, and what happens to requests without a response. It also waits
while a server asks for a pause. The endpoints are in `wires/`, and the stored records in `batch_records.py`.

There is no background thread. The first thread that asks leads its batch: it waits for the batch window, sends, polls and stores every
response in the ledger. The other threads wait for the leader. If a request is already in a batch of an earlier run, the thread that asks
leads that batch to its end, and does not send the request again.

If a batch ends without a response to a request, a direct call for the request follows at once. A request that the server refuses for good
fails as in a direct call. If too much is enqueued at the server, the batch is sent again later, in halves. Limits of requests and tokens
per minute apply to direct calls only, because servers limit batches by what is enqueued.
"""

import copy
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from qagen_dagster import errors
from qagen_dagster.models import retry
from qagen_dagster.models.base import BatchProvider, BatchResult, JobStatus, Provider
from qagen_dagster.models.batch_records import Job, JobBook
from qagen_dagster.models.budget import TALLY
from qagen_dagster.models.ledger import Breaker, Ledger, LedgeredModel, request_key
from qagen_dagster.models.messages import Request, Response, ToolChoice, UserMessage
from qagen_dagster.models.rate_limits import RateLimits, shared_limiter
from qagen_dagster.models.retry import call_with_retry
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.models.wires.forcing import as_accepted, refuses_forcing

T = TypeVar("T")


class LimitedBatch:
    """A batch endpoint that waits while its server asks for a pause. A pause that the server asks for after a
    direct call delays batches, too. A pause after a call of the batch endpoint delays all callers that
    share its state. It does not delay direct calls, which do not depend on the batch queue."""

    def __init__(
        self, provider: BatchProvider, spec: ModelSpec, key_variable: str | None, folder: Path
    ) -> None:
        self._provider = provider
        self._direct = shared_limiter(spec, key_variable, folder, RateLimits())
        self._own = shared_limiter(spec, key_variable, folder, RateLimits(), of="batches")

    def submit(self, tag: str, requests: Sequence[tuple[str, Request]]) -> str:
        return self._call(lambda: self._provider.submit(tag, requests))

    def find(self, tag: str, count: int, since: datetime) -> list[str]:
        return self._call(lambda: self._provider.find(tag, count, since))

    def poll(self, job_id: str) -> JobStatus:
        return self._call(lambda: self._provider.poll(job_id))

    def results(self, job_id: str) -> dict[str, BatchResult]:
        return self._call(lambda: self._provider.results(job_id))

    def _call(self, send: Callable[[], T]) -> T:
        with self._direct.attempt(0, retry.call_ends()):
            return self._own.call(send)


MOST_REQUESTS = 1_000  # maximum requests of a batch; servers accept 50,000 and more, but at most about 200 MB


def single_turn(request: Request) -> bool:
    """Whether `request` is answered in one turn, so that it may go by batch.

    That is the case for a first turn without tools. It is also the case for a first turn that must call a
    tool, because agents require a call only if every tool ends the task. Later turns, including corrections,
    are direct calls, because each would wait for a batch of its own.
    """
    ends_task = not request.tools or request.tool_choice is ToolChoice.REQUIRED
    return ends_task and all(isinstance(message, UserMessage) for message in request.messages)


@dataclass
class _Group:
    """The threads that wait for one batch."""

    # collected for a new batch; empty for a batch that the book has
    requests: dict[str, Request] = field(default_factory=dict[str, Request])
    job: Job | None = None
    full: threading.Event = field(default_factory=threading.Event)  # no more requests fit into the batch
    done: threading.Event = field(default_factory=threading.Event)  # the leader has finished
    # the errors of requests that the server refuses for good, by key
    refused: dict[str, errors.ModelError] = field(default_factory=dict[str, errors.ModelError])
    failure: errors.ModelError | None = None  # the failure of the whole batch
    to_resend: bool = False  # the server lacks the batch or room for it: send its requests again


class Batcher:
    """Batches the requests that the threads of a process send to one model."""

    def __init__(
        self,
        spec: ModelSpec,
        provider: BatchProvider,
        ledger: Ledger,
        book: JobBook,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._spec, self._provider, self._ledger, self.book = spec, provider, ledger, book
        self._sleep = sleep
        self._lock = threading.Lock()
        self._collecting: _Group | None = None
        self._watched: dict[str, _Group] = {}  # batches that the book already has, by tag
        self._most: int | None = None  # maximum requests of a batch, after the server had no room for more

    def ask(self, key: str, request: Request) -> None:
        """Put the request `key` into a batch, unless it is in one, and wait until the batch has ended. The ledger then has the response if
        the batch gave one. Raises PermanentModelError for a request or batch that the server refuses, and TransientModelError after the
        deadline or if the thread that leads the batch was stopped."""
        ends = time.monotonic() + self._spec.batch_deadline_seconds
        while True:
            job = self.book.open_for(key)
            if job is None and self._ledger.get(key) is not None:
                return  # another thread has stored the responses and closed the batch
            group, lead = self._join(key, request, job)
            if lead:
                self._lead(group)
            else:
                group.done.wait()
            failure = group.failure or group.refused.get(key)
            if failure is not None:
                raise copy.copy(failure)
            if not group.to_resend:
                return
            if time.monotonic() > ends:
                raise errors.TransientModelError(
                    f"{self._spec.name}: the server had no room for the batch until the deadline"
                )

    def _join(self, key: str, request: Request, job: Job | None) -> tuple[_Group, bool]:
        """Returns (group, lead): the group whose batch has the request, and whether the caller leads it."""
        with self._lock:
            if job is not None:
                known = self._watched.get(job.tag)
                group = self._watched[job.tag] = known or _Group(job=job)
                return group, known is None
            waiting = self._collecting
            group = self._collecting = waiting or _Group()
            group.requests[key] = request
            if len(group.requests) >= min(MOST_REQUESTS, self._most or MOST_REQUESTS):
                self._collecting = None
                group.full.set()
            return group, waiting is None

    def _lead(self, group: _Group) -> None:
        try:
            job = self._sent(group)
            status = None if job is None else self._watch(job)
            if job is None or status is None:
                group.to_resend = True
            elif status.crowded:
                self._make_room(group, job, status)
            else:
                self._settle(group, job, status)
        except BaseException as error:
            stopped = errors.TransientModelError(
                f"{self._spec.name}: the thread that waited for the batch was stopped"
            )
            group.failure = error if isinstance(error, errors.ModelError) else stopped
            if not isinstance(error, errors.ModelError):
                raise
        finally:
            with self._lock:
                if self._collecting is group:
                    self._collecting = None
                if group.job is not None and self._watched.get(group.job.tag) is group:
                    del self._watched[group.job.tag]
            group.done.set()

    def _sent(self, group: _Group) -> Job | None:
        """The batch after the server has accepted it; None if the batch of an earlier run never reached the server."""
        job = group.job
        if job is None:
            group.full.wait(self._spec.batch_window_seconds)
            with self._lock:
                if self._collecting is group:
                    self._collecting = None
            asked = group.requests.items()
            return self._submit([(key, as_accepted(self._spec, request)) for key, request in asked])
        if job.id is not None:
            return job
        found = self._retried(lambda: self._found(job))
        if found is None:
            self.book.close(job, lost=dict.fromkeys(job.keys, "never sent"), note="never sent")
        return None if found is None else self.book.sent(job, found)

    def _make_room(self, group: _Group, job: Job, status: JobStatus) -> None:
        """Close a batch for which the server has too much enqueued. Its requests are sent again later, in halves."""
        self.book.close(job, lost=dict.fromkeys(job.keys, "not worked on"), note=status.note)
        group.to_resend = True
        with self._lock:
            self._most = max(1, len(job.keys) // 2)
        self._sleep(self._spec.batch_poll_seconds)

    def _submit(self, requests: list[tuple[str, Request]]) -> Job:
        job = self.book.begin(self._spec.name, [key for key, _ in requests])
        ends = time.monotonic() + self._spec.batch_deadline_seconds
        tried = False

        def attempt() -> str:
            nonlocal tried
            again, tried = tried, True
            # The server may have received an attempt to which it gave no answer.
            return (self._found(job) if again else None) or self._provider.submit(job.tag, requests)

        try:
            while True:
                try:
                    return self.book.sent(job, self._retried(attempt))
                except errors.RateLimitedError as error:
                    self._wait(error, ends)
        except errors.PermanentModelError as error:
            refusal = f"the batch was not taken: {error}"
            self.book.close(job, lost=dict.fromkeys(job.keys, "not sent"), note=refusal)
            # The server refuses the whole batch, but callers would take a RequestRefusedError for a refusal of their own request.
            if isinstance(error, errors.RequestRefusedError):
                raise errors.PermanentModelError(refusal) from None
            raise

    def _found(self, job: Job) -> str | None:
        found = self._provider.find(job.tag, len(job.keys), job.created)
        known = self.book.ids() if found else frozenset[str]()
        return next((job_id for job_id in found if job_id not in known), None)

    def _watch(self, job: Job) -> JobStatus:
        """Poll until the batch has ended. Polling continues after a transient failure. Raises
        TransientModelError after the deadline, and PermanentModelError as `BatchProvider.poll` does."""
        ends = time.monotonic() + self._spec.batch_deadline_seconds
        late = errors.TransientModelError(
            f"{self._spec.name}: batch {job.id} has not ended within "
            f"{self._spec.batch_deadline_seconds:g} s; the next run waits for it again"
        )
        while True:
            late.retry_after = None
            try:
                status = self._provider.poll(job.id or "")
                if status.ended:
                    return status
            except errors.TransientModelError as error:
                late.retry_after = error.retry_after
            self._wait(late, ends)

    def _wait(self, failure: errors.TransientModelError, ends: float) -> None:
        """Sleep for the poll interval, or longer if the server asks for it, but never beyond `ends`. Raises `failure` after `ends`."""
        left = ends - time.monotonic()
        if left <= 0:
            raise failure
        self._sleep(min(max(self._spec.batch_poll_seconds, failure.retry_after or 0.0), left))

    def _settle(self, group: _Group, job: Job, status: JobStatus) -> None:
        """Store all responses, and record the requests without a response."""
        results = self._retried(lambda: self._provider.results(job.id or ""))
        seconds = max(0.0, (datetime.now(UTC) - job.created).total_seconds())
        lost: dict[str, str] = {}
        for key in job.keys:
            result = results.get(key)
            if isinstance(result, dict):
                if self._ledger.get(key) is None:
                    self._ledger.put(
                        key, result, model=job.model, seconds=round(seconds, 6), retries=0, batch=True
                    )
                continue
            lost[key] = str(result or status.note or "no result")
            if isinstance(result, errors.PermanentModelError):
                group.refused[key] = result
        self.book.close(job, lost=lost, note=status.note)

    def _retried(self, function: Callable[[], T]) -> T:
        return call_with_retry(
            function,
            max_attempts=self._spec.max_attempts,
            deadline_seconds=self._spec.deadline_seconds,
            sleep=self._sleep,
        )


class BatchModel(LedgeredModel):
    """A `LedgeredModel` whose single-turn requests go by batch."""

    def __init__(
        self, provider: Provider, ledger: Ledger, batcher: Batcher, breaker: Breaker | None = None
    ) -> None:
        super().__init__(provider, ledger, breaker=breaker)
        self._batcher = batcher

    def respond(self, request: Request) -> Response:
        """As `LedgeredModel.respond`. A response from a batch is charged to the first caller that takes it."""
        if not single_turn(request):
            return super().respond(request)
        key = request_key(self.spec, request)
        if self._ledger.get(key) is None or self._batcher.book.marked(key):
            with self._ledger.only_one(key), self._held(key, request):
                if self._ledger.get(key) is None:
                    self._ask(key, request)
                entry = self._ledger.get(key)
                if entry is not None and self._batcher.book.marked(key):
                    spent = self._cost(request, entry)
                    TALLY.paid(spent.usd)
                    if self._meter is not None:
                        self._meter.record(spent)
                    self._batcher.book.unmark(key)
                    with suppress(errors.MalformedResponseError):
                        return self._finish(request, self._provider.read(entry.body), entry, replayed=False)
        # If the response is stored and charged already, this replays it. If the batch gave no usable
        # response, this sends the request directly.
        return super().respond(request)

    def _ask(self, key: str, request: Request) -> None:
        """As `Batcher.ask`, but a refusal to force a tool call raises nothing, because the direct call that follows need not force it."""
        try:
            self._batcher.ask(key, request)
        except errors.PermanentModelError as error:
            if request.tool_choice is not ToolChoice.REQUIRED or not refuses_forcing(error):
                raise

    def _held(self, key: str, request: Request) -> AbstractContextManager[None]:
        """Reserve the cost of the request. Nothing is reserved if its response is stored, or if it is in a batch that is not closed."""
        known = self._ledger.get(key) is not None or self._batcher.book.open_for(key) is not None
        return nullcontext() if known or self._meter is None else self._meter.hold(self._most(request))


class Batchers:
    """The batchers of a process for one store. Each model has one batcher, so that parallel ops share batches."""

    def __init__(self, book: JobBook) -> None:
        self._book = book
        self._lock = threading.Lock()
        self._batchers: dict[str, Batcher] = {}

    def of(self, spec: ModelSpec, ledger: Ledger, make: Callable[[], BatchProvider]) -> Batcher:
        """The batcher of `spec`. `make` builds its endpoint at the first use."""
        key = spec.model_dump_json()
        with self._lock:
            if key not in self._batchers:
                self._batchers[key] = Batcher(spec, make(), ledger, self._book)
            return self._batchers[key]
