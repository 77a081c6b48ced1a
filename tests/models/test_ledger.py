"""The ledger, also in use by several processes at once, some of which are killed."""

from __future__ import annotations

import base64
import errno
import fcntl
import gc
import json
import os
import resource
import subprocess
import sys
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from qagen_dagster.errors import MalformedResponseError, PermanentModelError, StoreError
from qagen_dagster.models.ledger import (
    STOP_AFTER,
    Blobs,
    Breaker,
    Ledger,
    LedgeredModel,
    LocalModel,
    fault_of,
    request_key,
    unseal,
)
from qagen_dagster.models.messages import (
    AssistantMessage,
    AssistantPart,
    Image,
    Request,
    Response,
    Stop,
    Text,
    Thinking,
    ToolCall,
    UserMessage,
)
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.models.wires.scripted import ScriptedProvider
from qagen_dagster.settings import PROJECT_ROOT
from qagen_dagster.store import Store
from tests.models.conftest import PICTURE, ModelMaker, ask, long_conversation
from tests.support.blobs import MemoryBlobs
from tests.support.forked import ForkedChild
from tests.support.machines import bucket_root, bucket_roots
from tests.support.models import answer
from tests.support.wire_server import Reply, WireServer

SPEC = ModelSpec(provider="scripted", model="test")


class Counting:
    """A script that counts what is paid."""

    def __init__(self, gate: threading.Event | None = None) -> None:
        self.paid = 0
        self._gate = gate
        self._lock = threading.Lock()

    def __call__(self, request: Request) -> AssistantMessage:
        with self._lock:
            self.paid += 1
        if self._gate is not None:
            self._gate.wait(5)
        return AssistantMessage(content=(Text(text=f"answer {self.paid}"),))


def make(script: Counting, blobs: Blobs, **spec: Any) -> LedgeredModel:
    return LedgeredModel(ScriptedProvider(SPEC.model_copy(update=spec), script), Ledger(blobs))


def test_a_rerun_pays_nothing_and_reads_the_same(make_model: ModelMaker) -> None:
    with WireServer([Reply(text="first"), Reply(text="second")]) as server:
        paid = make_model(server).respond(ask())
        again = make_model(server).respond(ask())
    assert len(server.requests) == 1
    assert (paid.replayed, again.replayed) == (False, True)
    assert again.model_copy(update={"replayed": False}) == paid
    assert paid.seconds > 0


def test_the_body_is_stored_as_the_server_sent_it_before_it_is_read(blobs: MemoryBlobs) -> None:
    class Unreadable(ScriptedProvider):
        def read(self, body: dict[str, Any]) -> Response:
            stored = [json.loads(json.loads(data)["entry"]) for data in blobs.data.values()]
            assert [entry["body"] for entry in stored] == [body]
            raise MalformedResponseError("no")

    once = SPEC.model_copy(update={"max_attempts": 1})
    model = LedgeredModel(Unreadable(once, Counting()), Ledger(blobs))
    with pytest.raises(MalformedResponseError):
        model.respond(ask())
    (data,) = blobs.data.values()
    assert json.loads(json.loads(data)["entry"]).keys() == {
        "key", "model", "body", "created", "seconds", "retries", "batch",
    }  # fmt: skip


def test_another_sample_is_another_draw(blobs: MemoryBlobs) -> None:
    script = Counting()
    model = make(script, blobs)
    texts = [model.respond(ask(sample=sample)).message.text for sample in (0, 1, 0)]
    assert texts == ["answer 1", "answer 2", "answer 1"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: data.replace(b"answer 1", b"answer 7"),
        lambda data: data[:-1] + b"\xff",
        lambda data: b"null",
        lambda data: b"[" * 100_000,
        lambda data: b'{"sha256": "", "entry": 3}',
    ],
)
def test_a_damaged_entry_is_paid_again_and_never_served(blobs: MemoryBlobs, damage: Any) -> None:
    script = Counting()
    model = make(script, blobs)
    key = model.respond(ask()).request_key
    blobs.data[key] = damage(blobs.data[key])
    again = model.respond(ask())
    assert (again.message.text, again.replayed, script.paid) == ("answer 2", False, 2)
    assert model.respond(ask()).replayed


def test_a_deep_entry_leaves_room_for_finalizers(blobs: MemoryBlobs) -> None:
    """The garbage collector may run finalizers at any allocation. They fail when the parser has used up the stack."""
    ran: list[str] = []

    def dive(frames: int) -> int:
        return frames and dive(frames - 1)

    def finalize(phase: str, _info: dict[str, int]) -> None:
        try:
            dive(100)
            ran.append(phase)
        except RecursionError:
            ran.append("no room")

    key = make(Counting(), blobs).respond(ask()).request_key
    blobs.data[key] = b"[" * 100_000
    before = gc.get_threshold()
    gc.callbacks.append(finalize)
    gc.set_threshold(20)
    try:
        assert Ledger(blobs).get(key) is None
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(finalize)
    assert "no room" not in ran


def test_an_entry_under_another_key_is_not_served(blobs: MemoryBlobs) -> None:
    script = Counting()
    model = make(script, blobs)
    first = model.respond(ask()).request_key
    other = request_key(SPEC, ask("Other."))
    blobs.data[other] = blobs.data[first]
    assert model.respond(ask("Other.")).message.text == "answer 2"


def test_threads_that_ask_the_same_pay_once(blobs: MemoryBlobs) -> None:
    gate = threading.Event()
    script = Counting(gate)
    model = make(script, blobs)
    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(model.respond, ask()) for _ in range(8)]
        gate.set()
        responses = [future.result() for future in futures]
    assert script.paid == 1
    assert sorted(response.replayed for response in responses) == [False] + [True] * 7
    assert {response.message.text for response in responses} == {"answer 1"}


def test_different_requests_do_not_wait_for_each_other(blobs: MemoryBlobs) -> None:
    both = threading.Barrier(2)

    def meet(request: Request) -> AssistantMessage:
        both.wait(5)
        return AssistantMessage(content=(Text(text="met"),))

    model = LedgeredModel(ScriptedProvider(SPEC, meet), Ledger(blobs))
    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(model.respond, ask(text)) for text in ("a", "b")]
        assert [future.result().message.text for future in futures] == ["met", "met"]


def test_a_failed_call_leaves_the_key_free(blobs: MemoryBlobs) -> None:
    answers = iter([PermanentModelError("no"), None])

    def script(request: Request) -> AssistantMessage:
        error = next(answers)
        if error:
            raise error
        return AssistantMessage(content=(Text(text="yes"),))

    model = LedgeredModel(ScriptedProvider(SPEC, script), Ledger(blobs))
    with pytest.raises(PermanentModelError):
        model.respond(ask())
    assert model.respond(ask()).message.text == "yes"


def test_the_key_follows_what_can_change_a_response() -> None:
    image = Image(media_type="image/png", data=b"1")
    base = ask(messages=(UserMessage(content=(image,)),))
    other_image = ask(messages=(UserMessage(content=(image.model_copy(update={"data": b"2"}),)),))
    other_title = ask(messages=(UserMessage(content=(image.model_copy(update={"title": "x"}),)),))
    keys = {
        request_key(spec, request)
        for spec, request in [
            (SPEC, base),
            (SPEC, other_image),
            (SPEC, other_title),  # the model is told it
            (SPEC, base.model_copy(update={"sample": 1})),
            (SPEC, base.model_copy(update={"system": "x"})),
            (SPEC.model_copy(update={"temperature": 0.1}), base),
            (SPEC.model_copy(update={"model": "n"}), base),
        ]
    }
    assert len(keys) == 7
    same = SPEC.model_copy(update={"max_attempts": 9, "usd_per_million_input": 3.0, "api_key_env": "K"})
    assert request_key(same, base) == request_key(SPEC, base)


def test_what_a_model_calls_a_picture_is_none() -> None:
    call = ToolCall(id="a", name="draw", arguments={"type": "image", "data": "no base64", "media_type": 1})
    assert len(request_key(SPEC, ask(messages=(AssistantMessage(content=(call,)),)))) == 64


def test_an_entry_holds_the_response_and_nothing_of_the_request(
    make_model: ModelMaker, blobs: MemoryBlobs
) -> None:
    request = long_conversation()
    with WireServer([Reply(text="seen")]) as server:
        make_model(server).respond(request)
    (data,) = blobs.data.values()
    for said in (PICTURE, base64.b64encode(PICTURE), b"You read documents", b"Begin.", b"read_lines"):
        assert said not in data
    assert b"seen" in data


@pytest.fixture(params=["folder", "memory", *bucket_roots()])
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "bucket":
        return Store(f"{bucket_root()}/{uuid.uuid4().hex}/assets")
    return Store(tmp_path if request.param == "folder" else f"memory://{uuid.uuid4().hex}/assets")


def test_threads_on_any_root_pay_each_request_once(stored: Store) -> None:
    script = Counting()
    model = make(script, stored.blobs("ledger"))
    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(lambda number: model.respond(ask(str(number % 20))).message.text, range(160)))
    assert script.paid == len(set(texts)) == 20
    assert texts[:20] * 8 == texts
    assert len(stored.list("ledger")) == 20
    assert stored.list("locks") == []


def test_damage_on_any_root_is_paid_again(stored: Store) -> None:
    script = Counting()
    model = make(script, stored.blobs("ledger"))
    key = model.respond(ask()).request_key
    (path,) = stored.list("ledger")
    whole = stored.read_bytes(path)
    for length in range(0, len(whole), 40):
        stored.write_bytes(path, whole[:length])
        assert Ledger(stored.blobs("ledger")).get(key) is None
    assert model.respond(ask()).message.text == "answer 2"
    assert model.respond(ask()).replayed


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda text: text[:-3], "half written or damaged"),
        (lambda text: text.replace("answer", "Answer"), "its checksum does not match"),
    ],
)
def test_what_is_wrong_with_an_entry_is_said(blobs: MemoryBlobs, damage: Any, told: str) -> None:
    key = make(Counting(), blobs).respond(ask()).request_key
    assert unseal(blobs.data[key], key).key == key
    with pytest.raises(ValueError, match=told):
        unseal(damage(blobs.data[key].decode()).encode(), key)
    with pytest.raises(ValueError, match=f"of another request, {key}"):
        unseal(blobs.data[key], "0" * 64)


def test_a_leftover_of_a_killed_writer_is_not_seen(tmp_path: Path) -> None:
    blobs = Store(tmp_path).blobs("ledger")
    model = make(Counting(), blobs)
    key = model.respond(ask()).request_key
    folder = tmp_path / "ledger" / key[:2]
    (folder / f".{key}.1.2.3.tmp").write_bytes(b"half")
    assert list(blobs.keys()) == [key]
    assert blobs.strays() == []
    assert model.respond(ask()).replayed


def _without_locks(monkeypatch: pytest.MonkeyPatch, why: int) -> None:
    def none(file: int, how: int) -> None:
        raise OSError(why, os.strerror(why))

    monkeypatch.setattr(fcntl, "flock", none)


def test_where_no_lock_can_be_had_the_call_is_made_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs = Store(tmp_path).blobs("ledger")
    _without_locks(monkeypatch, errno.ENOLCK)
    assert make(Counting(), blobs).respond(ask()).message.text == "answer 1"
    assert make(Counting(), blobs).respond(ask()).replayed


def test_on_a_read_only_file_system_nothing_is_paid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = Counting()
    _without_locks(monkeypatch, errno.EROFS)
    with pytest.raises(OSError, match="Read-only"):
        make(script, Store(tmp_path).blobs("ledger")).respond(ask())
    assert script.paid == 0


def test_on_a_full_disk_nothing_is_paid(tmp_path: Path) -> None:
    """A limit on the size of files stands in for the full disk."""
    script = Counting()
    model = make(script, Store(tmp_path).blobs("ledger"))
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, usual[1]))
    try:
        with pytest.raises(StoreError, match=r"locks/ledger/\S+ cannot be written: No space left"):
            model.respond(ask())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert script.paid == 0
    assert model.respond(ask()).message.text == "answer 1"


def test_a_local_model_stores_nothing() -> None:
    script = Counting()
    model = LocalModel(ScriptedProvider(SPEC, script))
    first, second = model.respond(ask()), model.respond(ask())
    assert (script.paid, first.replayed, second.replayed) == (2, False, False)
    assert first.request_key == request_key(SPEC, ask())


def test_who_waits_is_served_although_a_forked_child_keeps_the_lock_file_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = ForkedChild(monkeypatch)

    def answer(request: Request) -> AssistantMessage:
        child.wait_until_asked(2)
        return AssistantMessage(content=(Text(text="paid once"),))

    blobs = Store(tmp_path).blobs("ledger")
    with ThreadPoolExecutor(2) as pool:
        both = [
            pool.submit(LedgeredModel(ScriptedProvider(SPEC, answer), Ledger(blobs)).respond, ask())
            for _ in range(2)
        ]
        try:
            found = [one.result(20) for one in both]
        finally:
            child.end()
    assert sorted(one.replayed for one in found) == [False, True]


def use(folder: Path, task: str, *words: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.ledger_processes", task, str(folder), *words],
        cwd=PROJECT_ROOT,
        stdout=subprocess.PIPE,
        timeout=120,
        check=True,
    )
    return json.loads(done.stdout)


def test_what_writers_finished_before_half_of_them_were_killed_is_readable(tmp_path: Path) -> None:
    counts = use(tmp_path, "write", "--processes", "8", "--writes", "150")
    assert counts["killed"] == 4
    assert counts["finished_by_survivors"] == 4 * 150
    assert counts["readable"] == counts["finished"] >= 4 * 150
    assert counts["corrupt"] == 0


def test_processes_that_ask_the_same_pay_once(tmp_path: Path) -> None:
    assert use(tmp_path, "ask", "--processes", "4") == {"paid": 1, "answered": 4, "answers": 1, "locks": 0}


def test_a_process_that_dies_while_it_pays_frees_the_request_for_one_other(tmp_path: Path) -> None:
    counts = use(tmp_path, "ask", "--processes", "4", "--kill")
    assert counts == {"paid": 2, "answered": 3, "answers": 1, "locks": 0}


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


@pytest.mark.parametrize("said", [(), USELESS["unreadable"][:1], (Thinking(text="Let me see"),)])
def test_a_row_of_replies_that_are_cut_off_stops_the_model_and_says_what_to_raise(
    said: tuple[AssistantPart, ...],
) -> None:
    breaker = Breaker()
    for number in range(STOP_AFTER):
        breaker.count(fault_of(ask(str(number)), answer(AssistantMessage(content=said), Stop.LENGTH)))
    with pytest.raises(PermanentModelError, match=r"cut off at 3 output tokens: raise `max_output_tokens`"):
        breaker.check("test")


@pytest.mark.parametrize("useful", USEFUL)
def test_a_useful_reply_ends_the_row(useful: str) -> None:
    script = Script()
    model = LedgeredModel(ScriptedProvider(SPEC, script), Ledger(MemoryBlobs()))
    for number in range(3 * STOP_AFTER):
        content = USEFUL[useful] if number % STOP_AFTER == STOP_AFTER - 1 else USELESS["unknown"]
        script.says = AssistantMessage(content=content)
        model.respond(ask(str(number)))
    assert script.asked == 3 * STOP_AFTER
