from __future__ import annotations

import logging
from typing import Any

import pytest

from qagen_dagster.errors import PermanentModelError
from qagen_dagster.models.base import Provider
from qagen_dagster.models.messages import ToolChoice
from qagen_dagster.models.wires.forcing import ForcedTools
from tests.models.conftest import ProviderMaker, ask
from tests.support.wire_server import Call, Fault, Reply, Seen, Step, WireServer

FORCED = ask(tool_choice=ToolChoice.REQUIRED)
CALL = Reply(calls=(Call("look", {"number": 7}),))
REFUSALS: list[tuple[int, Any]] = [
    (
        400,
        {
            "error": {
                "message": "The tool_choice parameter does not support being set to required in thinking mode"
            }
        },
    ),
    (400, {"error": "tool choice must be auto"}),
    (422, {"detail": [{"loc": ["body", "tool_choice"], "msg": "unexpected value"}]}),
    (404, {"error": {"message": "No endpoints found that support the provided 'tool_choice' value."}}),
    (400, {"message": "'required' is not one of ['auto', 'none']"}),
    (400, {"error": {"message": "Failed to initialize samplers: failed to parse grammar"}}),
    (400, {"error": {"message": "\u53c2\u6570\u9519\u8bef", "code": "1210"}}),
    (400, "Bad Request"),
    (422, ""),
]


def strict(status: int, body: Any) -> WireServer:
    """A server that refuses to force a tool call."""

    def step(seen: Seen, _: int) -> Step:
        return CALL if "auto" in str(seen.body["tool_choice"]) else Fault(status, body)

    return WireServer(step)


def forced(make: ProviderMaker, server: WireServer, name: str = "m-1") -> Provider:
    return ForcedTools(make(server, model=name))


@pytest.mark.parametrize(("status", "body"), REFUSALS)
def test_a_refused_choice_is_asked_for_without_forcing_and_told_once(
    make_provider: ProviderMaker, caplog: pytest.LogCaptureFixture, status: int, body: Any
) -> None:
    with caplog.at_level(logging.WARNING), strict(status, body) as server:
        for _ in range(3):
            provider = forced(make_provider, server)
            assert provider.read(provider.send(FORCED)).message.tool_calls
    assert len(server.requests) == 4
    assert [record.getMessage().partition(";")[2] for record in caplog.records] == [
        " tool calls are not forced for it (tool_choice: auto)"
    ]


def test_another_failure_remains_and_nothing_is_remembered(
    make_provider: ProviderMaker, caplog: pytest.LogCaptureFixture
) -> None:
    with WireServer(then=Fault(400, {"error": {"message": "the field `messages` is required"}})) as server:
        for _ in range(2):
            with pytest.raises(PermanentModelError, match="messages"):
                forced(make_provider, server).send(FORCED)
    assert len(server.requests) == 4
    with WireServer(then=Fault(400, {"error": {"message": "temperature is too high"}})) as server:
        with pytest.raises(PermanentModelError, match="temperature"):
            forced(make_provider, server).send(FORCED)
        assert len(server.requests) == 2
    assert not caplog.records


def test_a_choice_that_is_taken_stays_forced(make_provider: ProviderMaker) -> None:
    with WireServer(then=CALL) as server:
        forced(make_provider, server).send(FORCED)
    assert "auto" not in str(server.bodies[0]["tool_choice"])
