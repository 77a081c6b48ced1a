from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest

from qagen_dagster.errors import ConfigError, PermanentModelError, RequestRefusedError
from qagen_dagster.models import batcher
from qagen_dagster.models.batch_records import JobState
from qagen_dagster.models.batcher import Batchers, BatchModel, single_turn
from qagen_dagster.models.ledger import Ledger, request_key
from qagen_dagster.models.messages import AssistantMessage, Response, Text, ToolCall, ToolMessage, UserMessage
from qagen_dagster.models.providers import PROVIDERS, build_model, why_no_batch
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.store import Store
from tests.models.conftest import KEY, READ, ask, result
from tests.support.batches.bench import (
    VERDICT,
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
        batchers, batcher.MOST_REQUESTS = Batchers(bench.book), 2
        spec = bench.spec(server)
        two = [
            build_model(spec, bench.ledger, lambda _: KEY, bench.folder / "state", batchers) for _ in range(2)
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
        assert [type(one) for one in found] == [Response, RequestRefusedError, Response, Response]
        assert "400" in str(found[1])
        assert {number_of(body) for body in server.direct} == {1}, "asked again without forcing a call"
    (job,) = bench.jobs()
    assert set(job.lost) == {request_key(bench.spec(server), question(1))}


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


def test_a_response_of_a_batch_that_cannot_be_used_is_paid_and_asked_for_directly(tmp_path: Path) -> None:
    bench, meter = Bench("openai", tmp_path), Meter()
    with BatchServer(echo) as server:
        server.in_batch = lambda body: Fault(200, {"output": [], "usage": {"input_tokens": 7}})
        model = cast("BatchModel", bench.model(server)).metered(meter)
        (found,) = responses(at_once(model, [question(0)]))
        assert (found.message.text, found.batch, meter.spent.calls) == (good(1)[0], False, 2)
        assert bench.model(server).respond(question(0)).replayed
        assert [len(sent) for sent in server.batches] == [len(server.direct)] == [1]
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
        server.errors = [{"code": "invalid_request", "message": "There is something wrong with the file"}]
        assert texts(at_once(bench.model(server), map(question, range(3)))) == good(3)
        assert len(server.direct) == 3
    (job,) = bench.jobs()
    assert job.note == "the batch is failed; invalid_request: There is something wrong with the file"


@pytest.mark.parametrize("whole", [False, True])
def test_a_refused_tool_choice_is_asked_for_directly_and_later_batches_do_not_force(
    bench: Bench, whole: bool
) -> None:
    said = Fault(400, {"error": {"message": "tool_choice 'required' is not supported while thinking"}})

    def strict(body: dict[str, Any]) -> Reply | Fault:
        return echo(body) if "auto" in str(body["tool_choice"]) else said

    with BatchServer(strict) as server:
        server.submit_faults = [said] if whole else []
        model = bench.model(server)
        assert texts(at_once(model, map(question, range(3)))) == good(3)
        assert len(server.batches) == (0 if whole else 1)
        direct = len(server.direct)
        assert 3 <= direct <= 6, "each is refused at most once"
        assert len(responses(at_once(model, map(question, range(3, 6))))) == 3
        assert len(server.direct) == direct
        assert ["auto" in str(body["tool_choice"]) for body in server.batches[-1].values()] == [True] * 3


@pytest.mark.parametrize("status", [400, 413])
def test_a_batch_that_the_server_does_not_take_fails_all_its_requests(bench: Bench, status: int) -> None:
    with BatchServer(echo) as server:
        server.submit_faults = [Fault(status, {"error": {"message": "prompt is too long"}})]
        found = at_once(bench.model(server), map(question, range(2)))
        assert [type(one) for one in found] == [PermanentModelError] * 2
        assert server.direct == []
        assert texts(at_once(bench.model(server), map(question, range(2)))) == good(2)
    assert [job.state for job in bench.jobs()] == [JobState.CLOSED] * 2


def test_only_wires_with_batches_have_them(tmp_path: Path) -> None:
    able = [
        name
        for name in PROVIDERS
        if why_no_batch(ModelSpec(provider=name, model="m", execution="batch")) is None
    ]
    assert able == ["openai", "anthropic"]
    spec = ModelSpec(provider="openai", model="m", execution="batch")
    with pytest.raises(ConfigError, match="no store for batches"):
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
