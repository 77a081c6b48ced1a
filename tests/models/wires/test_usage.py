"""Replies without counts of tokens that can be: all that was reserved for them stays charged, and their cost is unknown."""

from __future__ import annotations

import math
from typing import Any, cast

import pytest

from qagen_dagster.agents.runner import call_summaries
from qagen_dagster.loop.shared_budget import total_spent
from qagen_dagster.models.budget import Spent
from qagen_dagster.models.ledger import LedgeredModel
from tests.models.conftest import ModelMaker, ask
from tests.support.meters import CallMeter
from tests.support.wire_server import Fault, Reply, Seen, Step, WireServer, wire_body

PRICES = {"usd_per_million_input": 10.0, "usd_per_million_output": 30.0}
IN, OUT = ("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens")
ABSENT: list[Any] = [None, {}, [], "none", 7]
ABSENT += [{**dict.fromkeys(IN, a), **dict.fromkeys(OUT, b)} for a, b in [
    (0, 0), (0, 20), (50, 0), (50, None), (None, 20), (-50, -20), (50, -20), ("50", "20"), ([50], {"n": 20}),
    (math.nan, 20), (50, math.inf), (1e30, 20), (50, 10**15), (True, True), ({}, 20),
]]  # fmt: skip
ABSENT += [{"total_tokens": 70}]


def serve(usage: object, text: str = "The answer is forty-two.") -> WireServer:
    """A server whose replies have this `usage`; `...`: none."""

    def step(seen: Seen, number: int) -> Step:
        body = wire_body(seen.path, Reply(text=text), seen.body, number)
        body.pop("usage")
        return Fault(200, body if usage is ... else {**body, "usage": usage})

    return WireServer(step)


def asked(make_model: ModelMaker, server: WireServer, **prices: float) -> tuple[CallMeter, list[Any]]:
    """The meter, and the summaries of the call and of its replay."""
    meter = CallMeter(1)
    with server:
        model = cast("LedgeredModel", make_model(server, **prices)).metered(meter)
        answers = [model.respond(ask()), model.respond(ask())]
    return meter, list(call_summaries(answers, "generator", model.spec, "d", 1))


@pytest.mark.parametrize("usage", [..., *ABSENT], ids=str)
def test_what_was_reserved_stays_charged(make_model: ModelMaker, usage: object) -> None:
    meter, calls = asked(make_model, serve(usage), **PRICES)
    (held,), (paid,) = meter.held, meter.paid
    assert (paid.usd >= 0.9 * held.usd > 0, paid.tokens >= held.tokens > 4096) == (True, True)
    assert [call.usd for call in calls] == [None, None]
    assert (
        total_spent(calls[:1]) == total_spent(calls[1:]) == Spent(usd=paid.usd, tokens=paid.tokens, calls=1)
    )


@pytest.mark.parametrize(("counts", "text"), [((1, 1), "x" * 300), ((20, 1), "long " * 60)])
def test_counts_too_small_for_the_text(make_model: ModelMaker, counts: tuple[int, int], text: str) -> None:
    usage = {**dict.fromkeys(IN, counts[0]), **dict.fromkeys(OUT, counts[1])}
    meter, calls = asked(make_model, serve(usage, text), **PRICES)
    assert (calls[0].usd, meter.paid[0].tokens >= meter.held[0].tokens) == (None, True)


@pytest.mark.parametrize("counts", [(90_000_000, 20), (50, 90_000_000), (1_000_000, 20)])
def test_counts_too_large_for_the_request(make_model: ModelMaker, counts: tuple[int, int]) -> None:
    usage = {**dict.fromkeys(IN, counts[0]), **dict.fromkeys(OUT, counts[1])}
    meter, calls = asked(make_model, serve(usage), **PRICES)
    assert [call.usd for call in calls] == [None, None]
    assert meter.paid[0].tokens == meter.held[0].tokens


def test_believable_counts_are_charged_as_they_are(make_model: ModelMaker) -> None:
    meter, calls = asked(make_model, serve({**dict.fromkeys(IN, 50.0), **dict.fromkeys(OUT, 20)}), **PRICES)
    assert [call.usd for call in calls] == pytest.approx([0.0011] * 2)
    assert (meter.paid[0].tokens, calls[0].charged_tokens) == (70, None)


def test_a_model_without_a_price_per_token_is_free_with_and_without_counts(make_model: ModelMaker) -> None:
    _, calls = asked(make_model, serve(...), **dict.fromkeys(PRICES, 0.0))
    assert [call.usd for call in calls] == [0.0, 0.0]


def test_an_unreadable_reply_is_charged(make_model: ModelMaker) -> None:
    meter = CallMeter(2)
    with WireServer(
        [Fault(200, {"choices": "none", "output": 3, "content": 3}), Reply(text="fine")]
    ) as server:
        cast("LedgeredModel", make_model(server, **PRICES)).metered(meter).respond(ask())
    assert meter.paid[0].tokens >= meter.held[0].tokens
    assert meter.paid[1].tokens == 120
