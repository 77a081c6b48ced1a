from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from qagen_dagster.errors import (
    BudgetExhaustedError,
    ConfigError,
    ModelError,
    PermanentModelError,
    TransientModelError,
)
from qagen_dagster.models import batch
from qagen_dagster.models.anthropic_batch import AnthropicBatch
from qagen_dagster.models.base import Model, ModelSpec
from qagen_dagster.models.batch import BatchDesk, BatchModel, Desks, single_turn
from qagen_dagster.models.batch_jobs import Job, JobBook, JobState
from qagen_dagster.models.budget import Spent
from qagen_dagster.models.ledger import Ledger, request_key
from qagen_dagster.models.messages import (
    AssistantMessage,
    Request,
    Response,
    Text,
    ToolCall,
    ToolChoice,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from qagen_dagster.models.openai_batch import OpenAIBatch
from qagen_dagster.models.registry import PROVIDERS, build_model, build_provider, why_no_batch
from qagen_dagster.settings import PROJECT_ROOT
from qagen_dagster.store import Store
from tests.models.conftest import KEY, READ, ask, result
from tests.support.batch_server import BatchServer
from tests.support.wire_server import Call, Fault, Reply

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


class Toll:
    """Lets so many dollars be spent."""

    def __init__(self, dollars: float = 1e9) -> None:
        self.dollars, self.spent = dollars, Spent()
        self._lock = threading.Lock()

    def before(self) -> None:
        if self.spent.usd >= self.dollars:
            raise BudgetExhaustedError("no money")

    def paid(self, spent: Spent) -> None:
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
            "usd_per_million_input": 1.0,
            "usd_per_million_output": 2.0,
        }
        return ModelSpec(**{**values, **settings})

    def model(self, server: BatchServer, **settings: Any) -> Model:
        """As a process that has just started has it."""
        spec = self.spec(server, **settings)
        return build_model(spec, self.ledger, lambda _: KEY, self.folder / "state", Desks(self.book))

    def asleep(self, server: BatchServer, sleep: Callable[[float], None], **settings: Any) -> BatchModel:
        """A model whose waits are `sleep`."""
        spec = self.spec(server, **settings)
        endpoint = {"openai": OpenAIBatch, "anthropic": AnthropicBatch}[self.wire](spec, KEY)
        desk = BatchDesk(spec, endpoint, self.ledger, self.book, sleep=sleep)
        return BatchModel(build_provider(spec, lambda _: KEY), self.ledger, desk)

    def jobs(self) -> list[Job]:
        blobs = self.store.blobs("batches")
        return [Job.model_validate_json(blobs.get(name) or b"") for name in self._names() if "job-" in name]

    def marks(self) -> list[str]:
        return [name for name in self._names() if "job-" not in name]

    def _names(self) -> list[str]:
        return list(self.store.blobs("batches").keys())


@pytest.fixture(params=["openai", "anthropic"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    return Bench(str(request.param), tmp_path)


@pytest.fixture(autouse=True)
def most_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "MOST_REQUESTS", 1_000)


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


def test_what_one_turn_answers_goes_by_batch() -> None:
    called = AssistantMessage(content=(ToolCall(id="a", name="submit"),))
    told = ToolMessage(results=(result("a", "submit", Text(text="No."), is_error=True),))
    first = UserMessage(content=(Text(text="question 1"),))
    assert single_turn(question(1))
    assert single_turn(ask("x", tools=(), output_schema={"type": "object"}))
    assert single_turn(ask("x", tools=()))
    assert not single_turn(ask("x"))
    assert not single_turn(ask("x", tools=(READ, VERDICT)))
    assert not single_turn(question(1, messages=(first, called, told)))
    assert not single_turn(
        question(1, messages=(first, AssistantMessage(content=(Text(text="Hm."),)), first))
    )


def test_threads_share_a_batch_and_each_gets_its_own_answer(bench: Bench) -> None:
    with BatchServer(echo) as server:
        found = at_once(bench.model(server), map(question, range(12)))
        assert texts(found) == good(12)
        (sent,) = server.batches
        assert sent.keys() == {request_key(bench.spec(server), question(n)) for n in range(12)}
        assert server.direct == []
    assert {(one.batch, one.replayed) for one in responses(found)} == {(True, False)}
    (job,) = bench.jobs()
    assert (job.state, job.lost, set(job.keys)) == (JobState.CLOSED, {}, set(sent))
    assert bench.marks() == []


def test_a_request_in_a_batch_is_the_one_a_direct_call_sends(bench: Bench) -> None:
    with BatchServer(echo) as server:
        at_once(bench.model(server), [question(1)])
        bench.model(server, execution="direct").respond(question(1, sample=1))
        (sent,) = server.batches
        assert list(sent.values()) == server.direct


def test_direct_runs_replay_what_batches_brought_and_the_other_way_round(bench: Bench) -> None:
    with BatchServer(echo) as server:
        at_once(bench.model(server), map(question, range(3)))
        direct = bench.model(server, execution="direct")
        again = responses(at_once(direct, map(question, range(3))))
        assert texts(again) == good(3)
        assert {(one.replayed, one.batch) for one in again} == {(True, True)}
        paid = direct.respond(question(7))
        (replayed,) = responses(at_once(bench.model(server), [question(7)]))
        assert (replayed.replayed, replayed.batch, replayed.message) == (True, False, paid.message)
        assert (len(server.batches), len(server.direct)) == (1, 1)


def test_later_turns_and_explorers_are_asked_directly(bench: Bench) -> None:
    with BatchServer(echo) as server:
        assert not bench.model(server).respond(ask("question 3")).batch
        assert (server.batches, len(server.direct)) == ([], 1)


def test_the_same_request_of_two_threads_is_in_the_batch_once(bench: Bench) -> None:
    with BatchServer(echo) as server:
        found = responses(at_once(bench.model(server), [question(0), question(0), question(1)], full=2))
        assert sorted(one.replayed for one in found) == [False, False, True]
        assert [len(sent) for sent in server.batches] == [2]


def test_requests_after_the_window_make_another_batch(bench: Bench) -> None:
    with BatchServer(echo) as server:
        model = bench.model(server, batch_window_seconds=0)
        assert texts([model.respond(question(n)) for n in range(2)]) == good(2)
        assert [len(sent) for sent in server.batches] == [1, 1]


def test_models_of_one_process_share_a_desk(bench: Bench) -> None:
    with BatchServer(echo) as server:
        desks, batch.MOST_REQUESTS = Desks(bench.book), 2
        spec = bench.spec(server)
        two = [
            build_model(spec, bench.ledger, lambda _: KEY, bench.folder / "state", desks) for _ in range(2)
        ]
        with ThreadPoolExecutor(2) as threads:
            list(threads.map(lambda n: two[n].respond(question(n)), range(2)))
        assert [len(sent) for sent in server.batches] == [2]


def test_what_the_server_refuses_fails_for_its_thread_alone(bench: Bench) -> None:
    def answer(body: dict[str, Any]) -> Reply | Fault:
        bad = Fault(400, {"error": {"type": "invalid_request_error", "message": "HTTP 400: no"}})
        return bad if number_of(body) == 1 else echo(body)

    with BatchServer(answer) as server:
        found = at_once(bench.model(server), map(question, range(4)))
        assert [type(one) for one in found] == [Response, PermanentModelError, Response, Response]
        assert "400" in str(found[1])
        assert server.direct == []
    (job,) = bench.jobs()
    assert job.lost == {request_key(bench.spec(server), question(1)): str(found[1])}


def test_what_failed_in_passing_is_asked_directly(bench: Bench) -> None:
    with BatchServer(echo) as server:
        server.in_batch = lambda body: Fault(500) if number_of(body) == 1 else echo(body)
        found = responses(at_once(bench.model(server), map(question, range(4))))
        assert texts(found) == good(4)
        assert [one.batch for one in found] == [True, False, True, True]
        assert [number_of(body) for body in server.direct] == [1]
    (job,) = bench.jobs()
    assert list(job.lost) == [request_key(bench.spec(server), question(1))]
    assert bench.marks() == []


def test_what_expired_is_asked_directly(bench: Bench) -> None:
    with BatchServer(echo) as server:
        server.ends_as = "expired"
        server.in_batch = lambda body: echo(body) if number_of(body) == 0 else None
        found = responses(at_once(bench.model(server), map(question, range(3))))
        assert texts(found) == good(3)
        assert [one.batch for one in found] == [True, False, False]
        assert len(server.batches) == 1
    (job,) = bench.jobs()
    assert job.state is JobState.CLOSED
    assert len(job.lost) == 2
    assert all("expired" in why for why in job.lost.values())


def test_a_batch_that_failed_as_a_whole_is_asked_directly(tmp_path: Path) -> None:
    bench = Bench("openai", tmp_path)
    with BatchServer(echo) as server:
        server.ends_as = "failed"
        server.errors = [{"code": "token_limit_exceeded", "message": "Enqueued token limit reached"}]
        assert texts(at_once(bench.model(server), map(question, range(3)))) == good(3)
        assert len(server.direct) == 3
    (job,) = bench.jobs()
    assert job.note == "the batch is failed; token_limit_exceeded: Enqueued token limit reached"


@pytest.mark.parametrize("status", [400, 413])
def test_a_batch_that_the_server_does_not_take_fails_all_its_requests(bench: Bench, status: int) -> None:
    with BatchServer(echo) as server:
        server.submit_faults = [Fault(status, {"error": {"message": "prompt is too long"}})]
        found = at_once(bench.model(server), map(question, range(2)))
        assert [type(one) for one in found] == [PermanentModelError] * 2
        assert server.direct == []
        assert texts(at_once(bench.model(server), map(question, range(2)))) == good(2)
    assert [job.state for job in bench.jobs()] == [JobState.CLOSED] * 2


def test_a_batch_past_its_deadline_fails_and_is_waited_for_again(bench: Bench) -> None:
    with BatchServer(echo, polls=10**9) as server:
        found = at_once(bench.model(server, batch_deadline_seconds=0.05), map(question, range(3)))
        assert [type(one) for one in found] == [TransientModelError] * 3
        assert "has not ended within 0.05 s" in str(found[0])
        assert [job.state for job in bench.jobs()] == [JobState.OPEN]
        server.polls = 0
        assert texts(at_once(bench.model(server), map(question, range(3)))) == good(3)
        assert (len(server.batches), server.direct) == (1, [])


def test_polls_that_fail_in_passing_change_nothing(bench: Bench) -> None:
    with BatchServer(echo) as server:
        server.poll_faults = [Fault(500), Fault(429), Fault(404, "<html>a proxy's page</html>")]
        assert texts(at_once(bench.model(server), map(question, range(2)))) == good(2)
        assert (len(server.batches), server.direct) == (1, [])


def test_a_key_that_is_refused_leaves_the_batch_to_the_next_run(bench: Bench) -> None:
    with BatchServer(echo) as server:
        server.poll_faults = [Fault(401)]
        assert [type(one) for one in at_once(bench.model(server), [question(0)])] == [PermanentModelError]
        assert texts(at_once(bench.model(server), [question(0)])) == good(1)
        assert (len(server.batches), server.direct) == (1, [])


def test_a_batch_the_server_has_forgotten_is_asked_directly(bench: Bench) -> None:
    with BatchServer(echo, polls=10**9) as server:
        at_once(bench.model(server, batch_deadline_seconds=0.01), map(question, range(2)))
        server.jobs.clear()
        assert texts(at_once(bench.model(server), map(question, range(2)))) == good(2)
        assert len(server.direct) == 2
    (job,) = bench.jobs()
    assert job.note == "the server does not know the batch"


def test_results_are_fetched_again_after_a_page_of_a_proxy(bench: Bench) -> None:
    with BatchServer(echo) as server:
        server.results_faults = [Fault(502), Fault(200, "<html>busy</html>")]
        model = bench.asleep(server, lambda _: None)
        assert texts(at_once(model, map(question, range(2)))) == good(2)
        assert server.direct == []


class Interrupt:
    """A wait that Ctrl-C ends."""

    def __call__(self, seconds: float) -> None:
        raise KeyboardInterrupt


def test_an_interrupted_wait_leaves_the_batch_where_the_next_run_finds_it(bench: Bench) -> None:
    with BatchServer(echo, polls=2) as server:
        model = bench.asleep(server, Interrupt())
        stopped = at_once(model, map(question, range(3)))
        assert sorted(type(one).__name__ for one in stopped) == [
            "KeyboardInterrupt",
            "TransientModelError",
            "TransientModelError",
        ]
        assert [job.state for job in bench.jobs()] == [JobState.OPEN]
        found = responses(at_once(bench.model(server), map(question, range(3))))
        assert texts(found) == good(3)
        assert (len(server.batches), server.direct) == (1, [])
        assert {one.replayed for one in found} == {False}


def test_a_batch_that_was_taken_without_a_word_is_found(bench: Bench) -> None:
    with BatchServer(echo) as server:
        server.submit_faults = [Fault(503), None]
        model = bench.asleep(server, lambda _: None)
        assert texts(at_once(model, map(question, range(3)))) == good(3)
        assert (len(server.batches), server.direct) == (1, [])


def test_a_run_that_was_killed_while_it_sent_finds_out_whether_it_had(bench: Bench) -> None:
    with BatchServer(echo) as server:
        for fault, batches in ((None, 1), (Fault(503), 2)):
            server.submit_faults = [fault]
            wanted = [question(n, sample=batches) for n in range(3)]
            model = bench.asleep(server, Interrupt())
            at_once(model, wanted)
            assert len([job for job in bench.jobs() if job.state is JobState.SENDING]) == 1
            assert texts(at_once(bench.model(server), wanted)) == good(3)
            assert len(server.batches) == batches
        assert server.direct == []


def test_what_an_earlier_run_bought_is_charged_once_and_asks_no_budget(bench: Bench) -> None:
    with BatchServer(echo, polls=10**9) as server:
        at_once(bench.model(server, batch_deadline_seconds=0.01), map(question, range(3)))
        server.polls = 0
        toll = Toll(dollars=0.0)
        model = bench.model(server)
        assert isinstance(model, BatchModel)
        charged = model.charged_to(toll)
        found = responses([charged.respond(question(n)) for n in range(3)])
        assert [one.replayed for one in found] == [False] * 3
        assert (toll.spent.usd, toll.spent.tokens, toll.spent.calls) == (pytest.approx(3 * 70e-6), 360, 3)
        assert [charged.respond(question(n)).replayed for n in range(3)] == [True] * 3
        assert toll.spent.calls == 3


def test_budgets_stop_before_a_batch_and_count_its_price(bench: Bench) -> None:
    with BatchServer(echo) as server:
        toll = Toll(dollars=100e-6)  # a request of 100 and 20 tokens costs 140e-6, or 70e-6 in a batch
        model = bench.model(server)
        assert isinstance(model, BatchModel)
        charged = model.charged_to(toll)
        at_once(charged, [question(0)])
        assert toll.spent.usd == pytest.approx(70e-6)
        at_once(charged, [question(1)])
        assert toll.spent.usd == pytest.approx(140e-6)
        found = at_once(charged, map(question, range(2, 5)))
        assert [type(one) for one in found] == [BudgetExhaustedError] * 3
        assert len(server.batches) == 2
        assert texts(at_once(charged, map(question, range(2)))) == good(2)


def test_what_is_asked_directly_after_a_batch_costs_the_full_price(bench: Bench) -> None:
    with BatchServer(echo) as server:
        server.in_batch = lambda _: None
        toll = Toll()
        model = bench.model(server)
        assert isinstance(model, BatchModel)
        at_once(model.charged_to(toll), [question(0)])
        assert (toll.spent.usd, toll.spent.tokens, toll.spent.calls) == (pytest.approx(140e-6), 120, 1)


def test_the_key_is_nowhere_in_the_store(bench: Bench) -> None:
    with BatchServer(lambda body: Reply(text=f"{KEY} {number_of(body)}")) as server:
        server.in_batch = lambda body: (
            Fault(500, {"error": {"message": KEY}}) if number_of(body) else Reply(text=KEY)
        )
        at_once(bench.model(server), map(question, range(2)))
    assert all(KEY.encode() not in path.read_bytes() for path in bench.folder.rglob("*") if path.is_file())


def test_only_wires_with_batches_have_them(tmp_path: Path) -> None:
    able = [
        name
        for name in PROVIDERS
        if why_no_batch(ModelSpec(provider=name, model="m", execution="batch")) is None
    ]
    assert able == ["openai", "anthropic"]
    spec = ModelSpec(provider="openai", model="m", execution="batch")
    with pytest.raises(ConfigError, match="no place to keep batches"):
        build_model(spec, Ledger(Store(tmp_path).blobs("ledger")), lambda _: KEY, tmp_path)
    compatible = ModelSpec(
        provider="openai_compatible", model="m", execution="batch", base_url="http://127.0.0.1"
    )
    with pytest.raises(ConfigError, match="has no batches"):
        build_model(compatible, Ledger(Store(tmp_path).blobs("ledger")), lambda _: KEY, tmp_path)


def test_a_batch_that_is_full_does_not_wait(bench: Bench) -> None:
    with BatchServer(echo) as server:
        assert texts(at_once(bench.model(server), map(question, range(4)), full=2)) == good(4)
        assert [len(sent) for sent in server.batches] == [2, 2]


def test_damaged_records_are_as_if_there_were_none(bench: Bench) -> None:
    with BatchServer(echo, polls=10**9) as server:
        at_once(bench.model(server, batch_deadline_seconds=0.01), [question(0)])
        blobs = bench.store.blobs("batches")
        (job,) = bench.jobs()
        blobs.put(job.tag, b'{"tag": "job-')
        server.polls = 0
        assert texts(at_once(bench.model(server), [question(0)])) == good(1)
        assert len(server.batches) == 2


def test_a_process_that_is_killed_while_it_waits_does_not_send_twice(bench: Bench) -> None:
    with BatchServer(echo, polls=10**9) as server:
        words = [sys.executable, "-m", "tests.support.batch_process"]
        words += [bench.wire, server.url(bench.wire), str(bench.folder), "6"]
        killed = subprocess.Popen(words, cwd=PROJECT_ROOT)
        try:
            assert server.polled.wait(60)
        finally:
            killed.kill()
            killed.wait()
        assert [job.state for job in bench.jobs()] == [JobState.OPEN]
        server.polls = 0
        done = subprocess.run(words, cwd=PROJECT_ROOT, stdout=subprocess.PIPE, timeout=120, check=True)
        assert json.loads(done.stdout) == good(6)
        assert server.direct == []
        assert sum(len(sent) for sent in server.batches) == 6
    assert bench.marks() == []
