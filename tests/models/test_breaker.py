from __future__ import annotations

import pytest

from qagen_dagster.errors import PermanentModelError
from qagen_dagster.models.ledger import STOP_AFTER, Ledger, LedgeredModel
from qagen_dagster.models.messages import AssistantMessage, Request, Text, ToolCall
from qagen_dagster.models.wires.scripted import ScriptedProvider
from tests.models.conftest import ask
from tests.models.test_ledger import SPEC
from tests.support.blobs import MemoryBlobs

USELESS = {
    "empty": (),
    "unknown": (ToolCall(id="a", name="open\n_valve"),),
    "unreadable": (ToolCall(id="a", name="read_lines", fault="cut off"), ToolCall(id="b", name="other")),
}
USEFUL = {
    "text": (Text(text="Well."),),
    "call": (ToolCall(id="a", name="read_lines"),),
    "one of two": (ToolCall(id="a", name="open_valve"), ToolCall(id="b", name="read_lines")),
}


class Script:
    def __init__(self) -> None:
        self.says: AssistantMessage = AssistantMessage(content=())
        self.asked = 0

    def __call__(self, request: Request) -> AssistantMessage:
        self.asked += 1
        return self.says


@pytest.mark.parametrize("useless", USELESS)
def test_a_row_of_useless_replies_stops_the_model(useless: str) -> None:
    script, blobs = Script(), MemoryBlobs()
    model = LedgeredModel(ScriptedProvider(SPEC, script), Ledger(blobs))
    script.says = AssistantMessage(content=USELESS[useless])
    for number in range(STOP_AFTER):
        model.respond(ask(str(number)))
    with pytest.raises(
        PermanentModelError, match=rf"^scripted:test: stopped after {STOP_AFTER} useless .*\w.*$"
    ):
        model.respond(ask("one more"))
    assert script.asked == STOP_AFTER
    assert model.respond(ask("0")).replayed
    another = LedgeredModel(ScriptedProvider(SPEC, script), Ledger(blobs))
    for number in range(STOP_AFTER):
        assert another.respond(ask(str(number))).replayed
    assert not another.respond(ask("one more")).replayed  # replays are not counted


@pytest.mark.parametrize("useful", USEFUL)
def test_a_useful_reply_ends_the_row(useful: str) -> None:
    script = Script()
    model = LedgeredModel(ScriptedProvider(SPEC, script), Ledger(MemoryBlobs()))
    for number in range(3 * STOP_AFTER):
        content = USEFUL[useful] if number % STOP_AFTER == STOP_AFTER - 1 else USELESS["unknown"]
        script.says = AssistantMessage(content=content)
        model.respond(ask(str(number)))
    assert script.asked == 3 * STOP_AFTER
