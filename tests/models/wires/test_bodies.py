"""Whatever a server sends, reading it gives a response or MalformedResponseError."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qagen_dagster.errors import MalformedResponseError
from qagen_dagster.models.base import ModelSpec
from qagen_dagster.models.providers import build_provider
from tests.models.conftest import KEY, WIRES
from tests.support.wire_server import Call, Reply, wire_body

PATHS = {"openai": "/responses", "openai_compatible": "/chat/completions", "anthropic": "/messages"}
FULL = Reply(text="text", calls=(Call("a", {"b": 1}), Call("c")), thinking="hm")
PROVIDERS = {wire: build_provider(ModelSpec(provider=wire, model="m"), lambda _: KEY) for wire in WIRES}
JUNK = st.sampled_from([None, 0, -1.5, True, "", "x", [], {}, [None], [{}], ["x"], {"x": None}, {"type": 3}])


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items: Any = value.items() if isinstance(value, dict) else ()
    items = enumerate(value) if isinstance(value, list) else items
    return [path, *(place for key, item in items for place in places(item, (*path, key)))]


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(st.data(), st.sampled_from(WIRES), JUNK)
def test_a_body_with_junk_in_any_place(data: st.DataObject, wire: str, junk: Any) -> None:
    body: Any = wire_body(PATHS[wire], FULL, {"model": "m"}, 1)
    place = data.draw(st.sampled_from(places(body)[1:]))
    holder = body = copy.deepcopy(body)
    for step in place[:-1]:
        holder = holder[step]
    holder[place[-1]] = junk
    with contextlib.suppress(MalformedResponseError):
        response = PROVIDERS[wire].read(body)
        assert all(call.id for call in response.message.tool_calls) or wire != "openai_compatible"
