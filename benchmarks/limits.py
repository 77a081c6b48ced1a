"""How much of a rate limit is used: requests answered against those that the limit allows, over a local HTTP server.

`python -m benchmarks.limits [--seconds 20]` asks with the real clients from many threads, and from four processes that share
one state, under a limit of 1,200 requests a minute. The server answers after 200 ms and refuses what is beyond
its own limit, or one in ten at random.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import NamedTuple

from qagen_dagster.errors import ModelError
from qagen_dagster.models.ledger import Ledger, LedgeredModel
from qagen_dagster.models.messages import Request, Text, UserMessage
from qagen_dagster.models.providers import build_provider
from qagen_dagster.models.rate_limits import limited
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.store import Store

LIMIT = 1_200  # requests a minute
BODY = {
    "id": "1",
    "object": "chat.completion",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 400, "completion_tokens": 100},
}
Refuses = Callable[[], bool]


class Count(NamedTuple):
    """What a server saw in `seconds`."""

    answered: int
    refused: int
    malformed: int
    seconds: float


class Bucket:
    """A token bucket as servers have it: a minute's worth in all, filled evenly, a second's worth at once."""

    def __init__(self, per_minute: float) -> None:
        self._rate, self._guard = per_minute / 60.0, threading.Lock()
        self._level, self._seen = self._rate, time.monotonic()

    def __call__(self) -> bool:
        """Whether a request is refused."""
        with self._guard:
            now = time.monotonic()
            self._level = min(self._rate, self._level + (now - self._seen) * self._rate)
            self._seen = now
            if self._level < 1.0:
                return True
            self._level -= 1.0
            return False


class Server(ThreadingHTTPServer):
    """Answers Chat Completions; `refuses` decides on 429, `malformed` of the others are no JSON."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, refuses: Refuses, malformed: float) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self._refuses, self._malformed, self._chance = refuses, malformed, random.Random(1)
        self._guard = threading.Lock()
        self.seen: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def decide(self) -> str:
        """What becomes of the next request."""
        kind = "refused" if self._refuses() else "answered"
        with self._guard:
            if kind == "answered" and self._chance.random() < self._malformed:
                kind = "malformed"
            self.seen.append(kind)
        return kind

    def take(self, seconds: float) -> Count:
        """What was seen since the last look."""
        with self._guard:
            seen, self.seen = self.seen, []
        return Count(seen.count("answered"), seen.count("refused"), seen.count("malformed"), seconds)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        del format, args

    def do_POST(self) -> None:
        assert isinstance(self.server, Server)
        self.rfile.read(int(self.headers["content-length"]))
        kind = self.server.decide()
        if kind != "refused":
            time.sleep(0.2)
        data = b"<html>" if kind == "malformed" else json.dumps(BODY).encode()
        self.send_response(429 if kind == "refused" else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def ask(spec: ModelSpec, state: Path, seconds: float, threads: int, who: int) -> None:
    """Ask one question after another from each of `threads` until `seconds` have passed."""
    provider = limited(build_provider(spec, lambda _: None), None, state)
    model = LedgeredModel(provider, Ledger(Store(str(state / "assets")).blobs("ledger")))

    model.respond(_question(f"{who}"))  # loads what is loaded late
    ends = time.monotonic() + seconds

    def work(thread: int) -> None:
        for number in count():
            if time.monotonic() > ends:
                return
            try:
                model.respond(_question(f"{who}/{thread}/{number}"))
            except ModelError as error:
                print(f"  lost: {error}")

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))


def _question(text: str) -> Request:
    return Request(system="Say ok.", messages=(UserMessage(content=(Text(text=text),)),))


def measure(
    seconds: float, refuses: Refuses, *, malformed: float = 0.0, processes: int = 1, **limits: float
) -> Count:
    """Requests of a while; the first seconds are left out, in which clients are loaded and buckets full."""
    server = Server(refuses, malformed)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    values = {"provider": "openai_compatible", "model": "m", "base_url": server.url, **limits}
    spec = ModelSpec.model_validate(values)
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        workers = [
            spawn.Process(target=ask, args=(spec, Path(folder), seconds + 6, 32 // processes, who))
            for who in range(processes)
        ]
        for worker in workers:
            worker.start()
        while not server.seen:
            time.sleep(0.1)
        time.sleep(5)
        server.take(0)
        time.sleep(seconds)
        counted = server.take(seconds)
        for worker in workers:
            worker.join()
    server.shutdown()
    server.server_close()
    return counted


def cases(seconds: float) -> Iterator[tuple[str, float, Count]]:
    """Name, requests a minute that the server allows, and what it saw."""
    chance = random.Random(2)
    generous = Bucket(100 * LIMIT)
    yield "one process", LIMIT, measure(seconds, Bucket(LIMIT), requests_per_minute=LIMIT)
    yield "four processes", LIMIT, measure(seconds, Bucket(LIMIT), processes=4, requests_per_minute=LIMIT)
    tokens = 500 * LIMIT
    yield "500 tokens a request", LIMIT, measure(seconds, generous, tokens_per_minute=tokens)
    yield (
        "10 % refused, 10 % malformed at random",
        LIMIT,
        measure(seconds, lambda: chance.random() < 0.1, malformed=0.1, requests_per_minute=LIMIT),
    )
    yield "the server allows half", LIMIT / 2, measure(seconds, Bucket(LIMIT / 2), requests_per_minute=LIMIT)
    yield "four places, no rate", 4 * 60 / 0.2, measure(seconds, generous, processes=4, concurrency=4)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0)
    seconds: float = parser.parse_args().seconds
    for name, allowed, seen in cases(seconds):
        of_limit = 60.0 / seen.seconds / allowed
        served = (seen.answered + seen.malformed) * of_limit
        print(
            f"{name:<40} {served:5.2f} of the limit served, {seen.answered * of_limit:5.2f} usable; "
            f"{seen.refused} refused, {seen.malformed} malformed of {sum(seen[:3])}"
        )


if __name__ == "__main__":
    main()
