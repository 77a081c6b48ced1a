"""The models, the document with its limits, and the pool for the work on one document in one combination.

All ops and combinations of a process share the pool, which takes documents in the order in which they were added. So while one op waits
for its slowest document, other documents use the free calls.

The pool limits the number of model calls in flight. A document computes between two calls, and another document can call in that time.
So the pool works on more documents at once than it allows calls. Once the waiting documents are fewer than the allowed calls, all of
them start together, so that no document is left to call alone at the end.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate

from qagen_dagster.agents.questions.prompt_values import QAContext
from qagen_dagster.configuration.profiles import QUESTION_ROLES, Profile, Role
from qagen_dagster.loop.questions.stopping import QALimits
from qagen_dagster.loop.shared_budget import metered
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models import embedders
from qagen_dagster.models.base import Model
from qagen_dagster.models.budget import Meter
from qagen_dagster.models.embedders import Encode
from qagen_dagster.models.messages import Request, Response
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.corpus_options import Strategy
from qagen_dagster.records.ids import Combination, Mode, digest
from qagen_dagster.records.questions.results import RejectedQA

_GOLDEN = (5**0.5 - 1) / 2  # the fractional parts of its multiples are spread evenly over the shares
RULES = "embedded"  # the provider of the embedded models, which apply rules and cannot write text


@dataclass(frozen=True)
class QAModels:
    """The models of one combination.

    Attributes:
        answerer: for the batch strategy, and for imported questions if the generator is embedded. If it is None, the generator answers.
        judge: only for the batch strategy. If it is None, code alone grades answers.
        overlap: whether calls for one document may run at the same time.
    """

    generator: Model
    validator: Model
    deduplicator: Model
    answerer: Model | None = None
    judge: Model | None = None
    encode: Encode = embedders.encode
    overlap: bool = True
    writers: tuple[tuple[Model, float], ...] = ()  # models that share the writing, with their shares

    def writing(self, document_id: str, attempt: int = 0) -> "QAModels":
        """The same models, with the writer of an attempt at a document as the only generator. Writers take turns by their shares."""
        if not self.writers:
            return self
        at = (int(digest(document_id)[:8], 16) / 16**8 + attempt * _GOLDEN) % 1
        ends = accumulate(share for _, share in self.writers)
        found = (model for (model, _), end in zip(self.writers, ends, strict=True) if at < end)
        own = None if self.answerer is None or self.answerer.spec == self.generator.spec else self.answerer
        return replace(self, generator=next(found, self.writers[-1][0]), answerer=own, writers=())

    def metered(self, meter: Meter, *, overlap: bool = True) -> "QAModels":
        """The same models with `meter`, which checks and records their calls."""
        return replace(self.changed(lambda model: metered(model, meter)), overlap=overlap)

    def changed(self, change: Callable[[Model], Model]) -> "QAModels":
        """The same models after `change` was applied to each."""
        roles = (*QUESTION_ROLES, Role.ANSWERER, Role.JUDGE)
        models = {role.value: getattr(self, role.value) for role in roles}
        changed = {name: change(model) for name, model in models.items() if model is not None}
        return replace(
            self, **changed, writers=tuple((change(model), share) for model, share in self.writers)
        )


def question_models(
    space: Workspace,
    profile: Profile,
    mode: Mode,
    strategy: Strategy = Strategy.AGENT,
    shares: Mapping[str, float] | None = None,
) -> QAModels:
    """The models of a strategy, and the writers with `shares`. Raises ConfigError for an unknown provider or a missing key."""
    build = {role: space.model(profile.spec(role, mode)) for role in QUESTION_ROLES}
    found = QAModels(
        build[Role.GENERATOR],
        build[Role.VALIDATOR],
        build[Role.DEDUPLICATOR],
        encode=space.encode,
        writers=tuple((space.model(spec), share) for spec, share in profile.writing(shares, mode).values()),
    )
    if answering_role(profile, mode, strategy) is Role.ANSWERER:
        found = replace(found, answerer=space.model(profile.spec(Role.ANSWERER, mode)))
    if strategy is not Strategy.BATCH:
        return found
    return replace(found, judge=space.find_model(profile, Role.JUDGE, mode))


def answering_role(profile: Profile, mode: Mode, strategy: Strategy) -> Role:
    """The role that answers imported questions: the answerer if the generator is embedded or the strategy is batch, else the generator."""
    rules = profile.spec(Role.GENERATOR, mode).provider == RULES
    return Role.ANSWERER if rules or strategy is Strategy.BATCH else Role.GENERATOR


@dataclass(frozen=True)
class DocumentWork:
    """One document in one combination, with everything that decides its result.

    `fingerprint` is a hash of the configuration: models, prompts, corpus, scenario and version of the loop.
    """

    combination: Combination
    context: QAContext
    limits: QALimits
    fingerprint: str
    avoided: tuple[RejectedQA, ...] = ()  # questions that reviewers rejected, shown to the generator
    missing: tuple[str, ...] = ()  # questions of people that the set lacks, shown to the generator

    @property
    def source_document(self) -> str:
        """The path of the document in its corpus folder."""
        return f"documents/{self.context.view.document.source}"


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
        """The model, wrapped so that its calls count toward the limit of the pool."""
        return _LimitedModel(model, self._permits)

    def _start(self) -> None:
        while self._waiting and self._running < self._most():
            self._running += 1
            # A daemon thread, so that the end of the process does not wait for model calls. Journals keep the finished steps.
            work = self._waiting.popleft()
            threading.Thread(target=self._work, args=(work,), name="document", daemon=True).start()

    def _most(self) -> int:
        """The maximum number of documents at the same time: a quarter more than calls, or twice as many if fewer documents wait."""
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
