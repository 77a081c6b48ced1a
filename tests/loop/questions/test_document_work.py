from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from qagen_dagster.loop.questions.document_work import DocumentPool
from qagen_dagster.models.messages import AssistantMessage, Request, Response, Stop
from qagen_dagster.models.spec import ModelSpec

SECONDS = 60


class Documents:
    """Documents that end one by one when told to."""

    def __init__(self, count: int) -> None:
        self.begun: list[int] = []
        self._news = threading.Condition()
        self._ends = [threading.Event() for _ in range(count)]

    def tasks(self, *numbers: int) -> list[Callable[[], None]]:
        return [lambda number=number: self._work(number) for number in numbers or range(len(self._ends))]

    def end(self, *numbers: int) -> None:
        for number in numbers:
            self._ends[number].set()

    def wait(self, count: int) -> list[int]:
        """The documents that have begun when `count` of them have, in order."""
        with self._news:
            assert self._news.wait_for(lambda: len(self.begun) >= count, SECONDS)
            return list(self.begun)

    def _work(self, number: int) -> None:
        with self._news:
            self.begun.append(number)
            self._news.notify_all()
        assert self._ends[number].wait(SECONDS)


def test_documents_begin_in_order_and_the_last_ones_together() -> None:
    documents = Documents(16)
    DocumentPool(4).add(documents.tasks())
    assert sorted(documents.wait(5)) == [0, 1, 2, 3, 4]  # one more than calls are allowed
    for number in range(7):
        documents.end(number)
        assert sorted(documents.wait(number + 6)) == list(range(number + 6))
    documents.end(7)  # four were waiting
    assert sorted(documents.wait(16)) == list(range(16))
    documents.end(*range(16))


def test_with_one_call_there_is_one_document_at_a_time() -> None:
    documents = Documents(3)
    pool = DocumentPool(1)
    pool.add(documents.tasks(0, 1))
    pool.add(documents.tasks(2))
    for number in range(3):
        assert documents.wait(number + 1) == list(range(number + 1))
        documents.end(number)


def test_documents_that_are_added_one_by_one_are_limited_too() -> None:
    documents = Documents(9)
    pool = DocumentPool(4)
    for number in range(9):
        pool.add(documents.tasks(number))
    assert sorted(documents.wait(8)) == list(range(8))
    documents.end(5)
    assert sorted(documents.wait(9)) == list(range(9))
    documents.end(*range(9))


def test_a_document_that_fails_makes_room_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    reported = threading.Event()
    monkeypatch.setattr(threading, "excepthook", lambda _: reported.set())
    documents = Documents(1)

    def fail() -> None:
        raise ValueError

    DocumentPool(1).add([fail, *documents.tasks()])
    assert documents.wait(1) == [0]
    documents.end(0)
    assert reported.wait(SECONDS)


class Counted:
    """A model that counts its calls in flight."""

    def __init__(self) -> None:
        self.spec = ModelSpec(provider="scripted", model="counted")
        self.now = self.most = 0
        self._lock = threading.Lock()
        self.together = threading.Barrier(3)

    def respond(self, request: Request) -> Response:
        del request
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)
        self.together.wait(SECONDS)
        with self._lock:
            self.now -= 1
        return Response(message=AssistantMessage(content=()), stop=Stop.END)


def test_calls_in_flight_are_limited_and_the_limit_is_used() -> None:
    pool, model = DocumentPool(3), Counted()
    limited = pool.limited(model)
    assert limited.spec is model.spec
    calls = [
        threading.Thread(target=limited.respond, args=(Request(system="", messages=()),)) for _ in range(9)
    ]
    for call in calls:
        call.start()
    for call in calls:
        call.join(SECONDS)
    assert (model.most, model.now) == (3, 0)
