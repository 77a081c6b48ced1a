from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from qagen_dagster.errors import (
    BudgetExhaustedError,
    PermanentModelError,
    RateLimitedError,
    TransientModelError,
)
from qagen_dagster.models import batcher
from qagen_dagster.models.batch_records import JobState
from qagen_dagster.models.batcher import BatchModel
from qagen_dagster.settings import PROJECT_ROOT
from tests.models.conftest import KEY
from tests.support.batches.bench import (
    Bench,
    Meter,
    at_once,
    echo,
    good,
    number_of,
    question,
    responses,
    texts,
)
from tests.support.batches.server import BatchServer
from tests.support.wire_server import Fault, Reply


@pytest.fixture(params=["openai", "anthropic"])
def bench(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(batcher, "MOST_REQUESTS", 1_000)  # `at_once` changes it
    return Bench(str(request.param), tmp_path)


def test_a_batch_past_its_deadline_fails_and_is_waited_for_again(bench: Bench) -> None:
    with BatchServer(echo, polls=10**9) as server:
        found = at_once(bench.model(server, batch_deadline_seconds=0.05), map(question, range(3)))
        assert [type(one) for one in found] == [TransientModelError] * 3
        assert "has not ended within 0.05 s" in str(found[0])
        assert [job.state for job in bench.jobs()] == [JobState.OPEN]
        server.polls = 0
        assert texts(at_once(bench.model(server), map(question, range(3)))) == good(3)
        assert (len(server.batches), server.direct) == (1, [])


def test_a_batch_that_is_refused_for_now_waits_as_long_as_the_server_wishes(bench: Bench) -> None:
    naps: list[float] = []
    with BatchServer(echo) as server:
        server.submit_faults = [Fault(429, headers={"retry-after": "3600"})] * 2
        model = bench.asleep(server, naps.append, batch_deadline_seconds=90_000)
        assert texts(at_once(model, map(question, range(2)))) == good(2)
        assert (len(server.batches), server.direct) == (1, [])
        assert server.uploads == (1 if bench.wire == "openai" else 0)  # the file is there already
    assert naps.count(3_600.0) == 2
    assert bench.marks() == []


def test_a_batch_that_is_refused_until_its_deadline_fails_and_is_sent_by_the_next_run(bench: Bench) -> None:
    with BatchServer(echo) as server:
        server.submit_faults = [Fault(429, headers={"retry-after": "3600"})]
        model = bench.asleep(server, lambda _: None, batch_deadline_seconds=1e-9)
        assert [type(one) for one in at_once(model, [question(0)])] == [RateLimitedError]
        assert texts(at_once(bench.asleep(server, lambda _: None), [question(0)])) == good(1)
        assert (len(server.batches), server.direct) == (1, [])


def test_a_batch_for_which_there_is_no_room_is_sent_again_in_halves(tmp_path: Path) -> None:
    bench, naps = Bench("openai", tmp_path), list[float]()
    with BatchServer(echo, polls=1) as server:
        server.room = 3
        model = bench.asleep(server, naps.append, batch_poll_seconds=7)
        assert texts(at_once(model, map(question, range(8)))) == good(8)
        assert server.direct == []
        assert sorted(map(len, server.batches)) == [2, 2, 2, 2, 4, 4, 8]
    assert 7.0 in naps
    assert bench.marks() == []


def test_polls_wait_as_long_as_the_server_wishes(bench: Bench) -> None:
    naps: list[float] = []
    with BatchServer(echo) as server:
        server.poll_faults = [Fault(429, headers={"retry-after": "120"}), Fault(503)]
        assert texts(at_once(bench.asleep(server, naps.append), [question(0)])) == good(1)
    assert naps[:2] == [120.0, 0.01]


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
        # One request: a second one that came when the first was over would go into a batch of its own.
        at_once(bench.model(server, batch_deadline_seconds=0.01), [question(0)])
        server.jobs.clear()
        assert texts(at_once(bench.model(server), [question(0)])) == good(1)
        assert len(server.direct) == 1
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
        meter = Meter(dollars=0.0)
        model = bench.model(server)
        assert isinstance(model, BatchModel)
        metered = model.metered(meter)
        found = responses([metered.respond(question(n)) for n in range(3)])
        assert [one.replayed for one in found] == [False] * 3
        assert (meter.spent.usd, meter.spent.tokens, meter.spent.calls) == (pytest.approx(3 * 70e-6), 360, 3)
        assert [metered.respond(question(n)).replayed for n in range(3)] == [True] * 3
        assert meter.spent.calls == 3


def test_budgets_stop_before_a_batch_and_count_its_price(bench: Bench) -> None:
    with BatchServer(echo) as server:
        meter = Meter(dollars=100e-6)  # a request of 100 and 20 tokens costs 140e-6, or 70e-6 in a batch
        model = bench.model(server)
        assert isinstance(model, BatchModel)
        metered = model.metered(meter)
        at_once(metered, [question(0)])
        assert meter.spent.usd == pytest.approx(70e-6)
        at_once(metered, [question(1)])
        assert meter.spent.usd == pytest.approx(140e-6)
        found = at_once(metered, map(question, range(2, 5)))
        assert [type(one) for one in found] == [BudgetExhaustedError] * 3
        assert len(server.batches) == 2
        assert texts(at_once(metered, map(question, range(2)))) == good(2)


def test_what_is_asked_directly_after_a_batch_costs_the_full_price(bench: Bench) -> None:
    with BatchServer(echo) as server:
        server.in_batch = lambda _: None
        meter = Meter()
        model = bench.model(server)
        assert isinstance(model, BatchModel)
        at_once(model.metered(meter), [question(0)])
        assert (meter.spent.usd, meter.spent.tokens, meter.spent.calls) == (pytest.approx(140e-6), 120, 1)


def test_the_key_is_nowhere_in_the_store(bench: Bench) -> None:
    with BatchServer(lambda body: Reply(text=f"{KEY} {number_of(body)}")) as server:
        server.in_batch = lambda body: (
            Fault(500, {"error": {"message": KEY}}) if number_of(body) else Reply(text=KEY)
        )
        at_once(bench.model(server), map(question, range(2)))
    assert all(KEY.encode() not in path.read_bytes() for path in bench.folder.rglob("*") if path.is_file())


def test_damaged_records_are_as_if_there_were_none(bench: Bench) -> None:
    with BatchServer(echo, polls=10**9) as server:
        at_once(bench.model(server, batch_deadline_seconds=0.01), [question(0)])
        blobs = bench.store.blobs("batches")
        (job,) = bench.jobs()
        blobs.put(job.tag, b'{"tag": "job-')
        server.polls = 0
        assert texts(at_once(bench.model(server), [question(0)])) == good(1)
        assert len(server.batches) == 2


@pytest.mark.parametrize("bench", ["openai"], indirect=True)
def test_a_process_that_is_killed_while_it_waits_does_not_send_twice(bench: Bench) -> None:
    with BatchServer(echo, polls=10**9) as server:
        words = [sys.executable, "-m", "tests.support.batches.process"]
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
