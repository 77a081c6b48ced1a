from __future__ import annotations

import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

from qagen_dagster.models.ledger import Ledger
from qagen_dagster.store import Store
from qagen_dagster.store_lock import lease

KEY, SHORT = "locks/ledger/abc", 0.3


class Bucket:
    """Objects as a server keeps them: each operation is one step."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self._step = threading.Lock()

    def create(self, key: str, data: bytes) -> bool:
        with self._step:
            return self.objects.setdefault(key, data) is data

    def get(self, key: str) -> bytes | None:
        return self.objects.get(key)

    def write_bytes(self, key: str, data: bytes) -> None:
        with self._step:
            self.objects[key] = data

    def remove(self, key: str) -> None:
        with self._step:
            self.objects.pop(key, None)


class Together:
    """Counts who holds a lock at the same time."""

    def __init__(self) -> None:
        self.now = self.most = self.turns = 0

    def hold(self, bucket: Bucket, seconds: float = 0.02) -> None:
        with lease(bucket, KEY, SHORT):
            self.now += 1
            self.most, self.turns = max(self.most, self.now), self.turns + 1
            time.sleep(seconds)
            self.now -= 1


def test_holders_take_turns_and_leave_nothing() -> None:
    bucket, together = Bucket(), Together()
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda _: together.hold(bucket), range(12)))
    assert (together.most, together.turns, bucket.objects) == (1, 12, {})


def test_a_holder_that_works_longer_than_the_limit_keeps_its_lock() -> None:
    bucket, together = Bucket(), Together()
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: together.hold(bucket, 3 * SHORT), range(2)))
    assert (together.most, together.turns, bucket.objects) == (1, 2, {})


def test_of_those_who_wait_for_a_dead_holder_one_at_a_time_follows_it() -> None:
    bucket, together = Bucket(), Together()
    bucket.objects = {KEY: b"dead 7"}
    began = time.monotonic()
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda _: together.hold(bucket), range(6)))
    assert time.monotonic() - began >= SHORT
    assert (together.most, together.turns, bucket.objects) == (1, 6, {})


def test_the_one_that_follows_a_dead_holder_may_die_too() -> None:
    bucket, together = Bucket(), Together()
    bucket.objects = {KEY: b"dead", f"{KEY}-dead": b"next 3"}
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda _: together.hold(bucket), range(3)))
    assert (together.most, together.turns) == (1, 3)
    assert list(bucket.objects) == [f"{KEY}-dead"]  # nobody waits for it any more


def test_a_store_elsewhere_makes_an_object_once() -> None:
    store = Store(f"memory://{uuid.uuid4().hex}")
    assert store.create("a/b", b"first")
    assert not store.create("a/b", b"second")
    assert store.get("a/b") == b"first"


def test_ledgers_of_two_machines_lock_a_request_in_their_store() -> None:
    store = Store(f"memory://{uuid.uuid4().hex}")
    first, second = Ledger(store.blobs("ledger")), Ledger(store.blobs("ledger"))
    order: list[str] = []

    def wait() -> None:
        with second.only_one("abc"):
            order.append("second")

    with ThreadPoolExecutor(1) as pool:
        with first.only_one("abc"):
            assert store.list("locks") == ["locks/ledger/abc"]
            waiting = pool.submit(wait)
            time.sleep(0.1)
            order.append("first")
        waiting.result()
    assert order == ["first", "second"]
    assert store.list("locks") == []
