"""Models that ask by batch, over one store and one server; and many threads that ask them at once."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from qagen_dagster.errors import BudgetExhaustedError, ModelError
from qagen_dagster.models import batcher as batch
from qagen_dagster.models.base import Model
from qagen_dagster.models.batch_records import Job, JobBook
from qagen_dagster.models.batcher import Batcher, Batchers, BatchModel
from qagen_dagster.models.budget import Spent
from qagen_dagster.models.ledger import Ledger
from qagen_dagster.models.messages import Request, Response, ToolChoice, ToolSpec
from qagen_dagster.models.providers import build_model, build_provider
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.models.wires.anthropic import AnthropicBatch
from qagen_dagster.models.wires.openai import OpenAIBatch
from qagen_dagster.store import Store
from tests.models.conftest import KEY, ask
from tests.support.batches.server import BatchServer
from tests.support.wire_server import Call, Reply

VERDICT = ToolSpec(name="submit", description="Submit.", parameters={"type": "object", "properties": {}})
MAKE_TURN = {"tools": (VERDICT,), "tool_choice": ToolChoice.REQUIRED}


def question(number: int, **fields: Any) -> Request:
    return ask(f"question {number}", **{**MAKE_TURN, **fields})


def number_of(body: dict[str, Any]) -> int:
    found = re.search(r"question (\d+)", str(body))
    assert found is not None
    return int(found[1])


def echo(body: dict[str, Any]) -> Reply:
    return Reply(text=f"answer\u2028{number_of(body)}", calls=(Call("submit"),))


class Meter:
    """Lets so many dollars be spent."""

    def __init__(self, dollars: float = 1e9) -> None:
        self.dollars, self.spent = dollars, Spent()
        self._lock = threading.Lock()

    @contextmanager
    def hold(self, most: Spent) -> Generator[None]:
        if self.spent.usd >= self.dollars:
            raise BudgetExhaustedError("no money")
        yield

    def record(self, spent: Spent) -> None:
        with self._lock:
            self.spent = self.spent.plus(spent)


class Bench:
    """A store, and models over it that speak one wire with one server."""

    def __init__(self, wire: str, folder: Path) -> None:
        self.wire, self.folder = wire, folder
        self.store = Store(folder / "store")
        self.ledger = Ledger(self.store.blobs("ledger"))
        self.book = JobBook(self.store.blobs("batches"))

    def spec(self, server: BatchServer, **settings: Any) -> ModelSpec:
        values: dict[str, Any] = {
            "provider": self.wire,
            "model": "m-1",
            "base_url": server.url(self.wire),
            "api_key_env": "THE_KEY",
            "timeout_seconds": 5,
            "execution": "batch",
            "batch_window_seconds": 60.0,  # `at_once` says how many there will be
            "batch_poll_seconds": 0.01,
            "batch_deadline_seconds": 500,  # not a day, should a test go wrong
            "usd_per_million_input": 1.0,
            "usd_per_million_output": 2.0,
        }
        return ModelSpec(**{**values, **settings})

    def model(self, server: BatchServer, **settings: Any) -> Model:
        """As a process that has just started has it."""
        spec = self.spec(server, **settings)
        return build_model(spec, self.ledger, lambda _: KEY, self.folder / "state", Batchers(self.book))

    def asleep(self, server: BatchServer, sleep: Callable[[float], None], **settings: Any) -> BatchModel:
        """A model whose waits are `sleep`."""
        spec = self.spec(server, **settings)
        endpoint = {"openai": OpenAIBatch, "anthropic": AnthropicBatch}[self.wire](spec, KEY)
        batcher = Batcher(spec, endpoint, self.ledger, self.book, sleep=sleep)
        return BatchModel(build_provider(spec, lambda _: KEY), self.ledger, batcher)

    def jobs(self) -> list[Job]:
        blobs = self.store.blobs("batches")
        return [Job.model_validate_json(blobs.get(name) or b"") for name in self._names() if "job-" in name]

    def marks(self) -> list[str]:
        return [name for name in self._names() if "job-" not in name]

    def _names(self) -> list[str]:
        return list(self.store.blobs("batches").keys())


def at_once(
    model: Model, requests: Iterable[Request], full: int | None = None
) -> list[Response | BaseException]:
    """Each asked by a thread of its own; a batch of as many, or of `full`, is sent without waiting for more."""

    def one(request: Request) -> Response | BaseException:
        try:
            return model.respond(request)
        except (ModelError, KeyboardInterrupt) as error:
            return error

    wanted = list(requests)
    batch.MOST_REQUESTS = full or len(wanted)
    with ThreadPoolExecutor(len(wanted)) as threads:
        return list(threads.map(one, wanted))


def texts(responses: Sequence[Response | BaseException]) -> list[str]:
    return [
        f"answer\u2028{n}"
        if isinstance(one, Response) and one.message.text == f"answer\u2028{n}"
        else repr(one)
        for n, one in enumerate(responses)
    ]


def good(count: int) -> list[str]:
    return [f"answer\u2028{n}" for n in range(count)]


def responses(found: Sequence[Response | BaseException]) -> list[Response]:
    assert all(isinstance(one, Response) for one in found), found
    return [one for one in found if isinstance(one, Response)]
