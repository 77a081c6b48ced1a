"""How long one document takes alone, and what an accepted question costs: calls, and input with and without the provider's cache.

`python -m benchmarks.chain` works one generated document of ten questions through the real asset graph against a model server in a
process of its own: a note of five pages, then a paper of twenty. The server's model is capable: it asks about the next fact that it
sees, and it reads or searches only what it does not see yet. By the content of a question alone, one answer in three has another
wording and one in ten is wrong. The server counts a token per four characters and caches prefixes in blocks of 128 tokens. The time
is the server's, from the first request to the last response. The module runs on older commits too, for comparison.

`--questions` is the number of questions. `--batch` asks for them with the batch strategy: half of them are single facts, the others
comparisons. Each run shows the tokens of each kind of call.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import project
from benchmarks.chain_model import document, draw, play
from qagen_dagster.definitions import open_graph
from qagen_dagster.loop.estimate.amounts import Use, use_of
from qagen_dagster.loop.estimate.combinations import CombinationEstimate, estimate
from qagen_dagster.loop.questions.plan import RunOptions
from qagen_dagster.loop.shared_budget import unique_calls
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.ids import Combination, Mode
from qagen_dagster.records.questions.results import GenerationResult
from tests.support.loopback import LoopbackServer
from tests.support.wire_reader import read
from tests.support.wire_server import Reply, Seen, wire_body

COMBINATION = Combination(corpus="trials", scenario="facts", mode=Mode.TEXTUAL)
CORPUS = """\
name: Field trials
corpus_context: Reports on the field trials of an invented institute.
scenarios:
  facts: {{name: Facts, description: Single facts of the trials., modes: [textual], target_count: {questions}}}
"""
PROFILE = """\
roles:
  generator: {{provider: openai_compatible, model: asker, base_url: "{url}"{more}}}
  validator: {{provider: openai_compatible, model: judge, base_url: "{url}"{more}}}
  deduplicator: {{provider: openai_compatible, model: twin, base_url: "{url}"}}
  judge: {{provider: openai_compatible, model: judge, base_url: "{url}"{more}}}
  answerer: {{provider: openai_compatible, model: asker, base_url: "{url}"{more}}}
"""
BATCH = """\
name: Field trials
corpus_context: Reports on the field trials of an invented institute.
scenarios:
  facts:
    name: Facts
    description: Single facts of the trials, and comparisons of plots.
    modes: [textual]
    strategy: batch
    batch: {{mix: {{factual: {facts}, comparison: {others}}}}}
"""
LATENCIES = {"50 ms": (0.05, 0.05), "0.2-0.8 s": (0.2, 0.8)}  # of a call, drawn by the hash of the request
_CHARACTERS, _BLOCK, _LEAST = (
    4,
    128,
    1_024,
)  # of a token; tokens that are cached at once; of the shortest cached prefix


class Server(LoopbackServer):
    """The model server. It keeps the time and a cache of prefixes by model."""

    request_queue_size = 64

    def __init__(self, fast: float, slow: float) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self._fast, self._slow, self._lock = fast, slow, threading.Lock()
        self._cached: set[str] = set()
        self.first, self.last = 0.0, 0.0
        # of each request, also without the cached ones, by the tool that ends its task
        self.tokens: dict[str, list[tuple[int, int]]] = {}

    def answer(self, seen: Seen) -> dict[str, Any]:
        asked, begun = read(seen), time.monotonic()
        self.first = self.first or begun
        text = json.dumps(seen.body["tools"]) + json.dumps(seen.body["messages"])
        size, step = len(text) // _CHARACTERS, _BLOCK * _CHARACTERS
        ends = range(step, len(text) + 1, step)
        prefixes = [asked.model + hashlib.sha256(text[:end].encode()).hexdigest() for end in ends]
        hits = sum(prefix in self._cached for prefix in prefixes) * _BLOCK
        reply = play(asked)
        share = (draw(text) % 1_000) / 1_000
        time.sleep(self._fast + share * (self._slow - self._fast))
        cached = hits if hits >= _LEAST else 0
        usage = (size, 60, cached, 0)
        with self._lock:
            self._cached |= set(prefixes)
            self.last = time.monotonic()
            self.tokens.setdefault(reply.calls[-1].name, []).append((size, size - cached))
        return wire_body(seen.path, Reply(calls=reply.calls, usage=usage), seen.body, draw(text))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:
        del format, args

    def do_GET(self) -> None:
        assert isinstance(self.server, Server)
        self._send({"span": self.server.last - self.server.first, "tokens": self.server.tokens})

    def do_POST(self) -> None:
        assert isinstance(self.server, Server)
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self._send(self.server.answer(Seen(self.path, {}, body)))

    def _send(self, answer: dict[str, Any]) -> None:
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class Cost(NamedTuple):
    """One document: seconds from the first request to the last response, and its result."""

    span: float
    result: GenerationResult
    tokens: dict[
        str, list[tuple[int, int]]
    ]  # input of each request, also without the cached, by the called tool
    told: CombinationEstimate  # before the work


def measure(pages: int, latency: str, corpus: str, more: str = "") -> Cost:
    """Work a document of so many pages alone. `more`: keys of the profile for generator and validator."""
    command = [sys.executable, "-m", "benchmarks.chain", "--serve", latency]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            root = Path(folder)
            settings = project.make(root, "trials", corpus, {"report.txt": document(pages)}, "remote")
            profile = PROFILE.format(url=f"{url}/v1", more=more)
            (root / "profiles" / "remote.yaml").write_text(profile, encoding="utf-8")
            with open_graph(settings, project.Quiet()) as graph:
                project.check(graph.documents("trials"))
                told = estimate(Workspace(settings), [COMBINATION], RunOptions()).combinations[0]
                project.check(graph.materialize("chain", ("candidate_qa",), COMBINATION.key))
            with urllib.request.urlopen(url) as response:
                seen = json.load(response)
        finally:
            process.kill()
        (file,) = (root / "assets").glob(f"candidates/{COMBINATION.key}/*/*.json")
        return Cost(
            seen["span"], GenerationResult.model_validate_json(file.read_bytes()), seen["tokens"], told
        )


def show(title: str, cost: Cost) -> None:
    """Print one line for the document and one for its calls by role."""
    result, accepted = cost.result, len(cost.result.accepted)
    calls = unique_calls(result.calls)
    total, cached = (sum(getattr(call, name) for call in calls) for name in ("input_tokens", "cached_tokens"))
    unused = sum(getattr(call, "unused", False) for call in calls)
    longest = sum(call.seconds for call in calls)
    print(
        f"{title:<42} {cost.span:6.2f} s alone ({cost.span / longest:.2f} of the calls' time), "
        f"{accepted} accepted of {result.stats.total_attempts}; per accepted question "
        f"{len(calls) / accepted:.1f} calls, input tokens {total / accepted:,.0f}, of them cached {cached / accepted:,.0f}, "
        f"not cached {(total - cached) / accepted:,.0f}"
    )
    roles = Counter(call.role for call in calls)
    print(f"{'':<42} {', '.join(f'{role} {count}' for role, count in roles.items())}, unused {unused}")
    taken = use_of(result.calls)
    for role in cost.told.roles:
        use, expected = taken.get(role.role, Use()), role.input_tokens.expected
        print(
            f"{'':<42} {role.role}: {use.calls:.0f} calls, {use.input_tokens:,.0f} tokens; "
            f"expected {role.calls.expected:.1f} calls, {expected:,.0f} tokens"
        )
    for terminal, sizes in cost.tokens.items():
        total, fresh = map(sum, zip(*sizes, strict=True))
        print(f"{'':<42} {terminal}: {len(sizes)} requests, {total:,} tokens, of them not cached {fresh:,}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, nargs="*", default=[5, 20])
    parser.add_argument("--latency", choices=LATENCIES, nargs="*", default=list(LATENCIES))
    parser.add_argument("--tools-only", action="store_true", help="show nothing of the document unasked")
    parser.add_argument("--questions", type=int, default=10)
    parser.add_argument("--batch", action="store_true", help="use the batch strategy")
    parser.add_argument("--serve", choices=LATENCIES, help="be the model server")
    given = parser.parse_args()
    if given.serve:
        server = Server(*LATENCIES[given.serve])
        print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
        server.serve_forever()
    for pages in given.pages:
        for latency in given.latency:
            more = ", opening_characters: 0" if given.tools_only else ""
            asked = given.questions
            counts = {"questions": asked, "facts": asked // 2, "others": asked - asked // 2}
            corpus = (BATCH if given.batch else CORPUS).format(**counts)
            show(f"{pages} pages, {asked} questions, {latency}", measure(pages, latency, corpus, more))


if __name__ == "__main__":
    main()
