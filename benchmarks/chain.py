"""How long one document takes alone, and what an accepted question costs: calls, and input with and without the provider's cache.

`python -m benchmarks.chain` works one generated document of ten questions through the real asset graph against a model server in a
process of its own: a note of five pages, then a paper of twenty. The server's model is capable: it asks about the next fact that it
sees, and it reads or searches only what it does not see yet. By the content of a question alone, one answer in three has another
wording and one in ten is wrong. The server counts a token per four characters and caches prefixes in blocks of 128 tokens. The time
is the server's, from the first request to the last response. The module runs on older commits too, for comparison.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
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
from qagen_dagster.definitions import open_graph
from qagen_dagster.loop.calls import unique_calls
from qagen_dagster.records.ids import Combination, Mode
from qagen_dagster.records.questions.results import GenerationResult
from tests.support.loopback import LoopbackServer
from tests.support.wire_reader import Asked, read
from tests.support.wire_server import Call, Reply, Seen, wire_body

COMBINATION = Combination(corpus="trials", scenario="facts", mode=Mode.TEXTUAL)
QUESTIONS = 10
CORPUS = f"""\
name: Field trials
corpus_context: Reports on the field trials of an invented institute.
scenarios:
  facts: {{name: Facts, description: Single facts of the trials., modes: [textual], target_count: {QUESTIONS}}}
"""
PROFILE = """\
roles:
  generator: {{provider: openai_compatible, model: asker, base_url: "{url}"{more}}}
  validator: {{provider: openai_compatible, model: judge, base_url: "{url}"{more}}}
  deduplicator: {{provider: openai_compatible, model: twin, base_url: "{url}"}}
"""
PAGE = 3_700  # characters of a page of a paper
LATENCIES = {"50 ms": (0.05, 0.05), "0.2-0.8 s": (0.2, 0.8)}  # of a call, drawn by the hash of the request
_CHARACTERS, _BLOCK, _LEAST = (
    4,
    128,
    1_024,
)  # of a token; tokens that are cached at once; of the shortest cached prefix
_PLOTS = (
    "Varna", "Oslo", "Turin", "Cadiz", "Bergen", "Lviv", "Porto", "Malmo", "Ghent", "Split", "Basel", "Derry", "Kiel", "Lucca",
    "Narva", "Odense", "Parma", "Riga", "Sligo", "Trier", "Umea", "Vaduz", "Worms", "Ypres", "Zadar", "Arles", "Brest", "Como",
)  # fmt: skip
_CROPS = ("barley", "lentil", "mustard", "clover", "rye", "flax")
_FACT = re.compile(r"(\d+)\| (The mean yield of the (\w+) plot under (\w+) was (\d+) kg\.)")
_ASKED = re.compile(r"What was the mean yield of the (\w+) plot under (\w+)\?")
_WHOLE = re.compile(r"lines 1-(\d+) of \1\b")
_JUDGED = ("non_trivial", "self_contained", "relevant")
_UNUSED = re.compile(r"no question was asked about: (\d+)")


def document(pages: int) -> str:
    """A report of so many pages: facts in their order, each in front of sentences without any."""
    lines, size, number = ["Report on the field trials", ""], 0, 0
    while size < pages * PAGE:
        plot, crop = _PLOTS[number % len(_PLOTS)], _CROPS[number // len(_PLOTS) % len(_CROPS)]
        amount = 100 + _draw(f"{plot} {crop}") % 800
        section = [f"The mean yield of the {plot} plot under {crop} was {amount} kg.", ""]
        for sentence in range(8):
            words = [_WORDS[_draw(f"{number} {sentence} {word}") % len(_WORDS)] for word in range(20)]
            section.append(f"The {' '.join(words)}.")
        lines += [*section, ""]
        size += sum(len(line) + 1 for line in section)
        number += 1
    return "\n".join(lines) + "\n"


_WORDS = [
    "soil",
    "rain",
    "frost",
    "seed",
    "field",
    "autumn",
    "furrow",
    "ditch",
    "gate",
    "wagon",
    "barn",
    "ledger",
    "keeper",
    "season",
    "harvest",
    "labour",
    "drain",
    "hedge",
    "meadow",
    "stubble",
    "plough",
    "hand",
    "wall",
    "stone",
    "road",
    "bank",
    "river",
    "valley",
    "slope",
    "weather",
    "wind",
    "cloud",
    "morning",
    "evening",
    "winter",
    "summer",
]


def _draw(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def play(asked: Asked) -> Reply:
    """What the capable model replies."""
    if asked.role == "comparer":
        (plot, crop), *_ = _ASKED.findall(asked.user)
        checks = dict.fromkeys((*_JUDGED, "supported", "premise_holds", "unambiguous"), True)
        right = not _is_wrong(plot, crop)
        return _call("submit_comparison", matches=right, explanation="I compared the amounts.", **checks)
    if asked.role == "deduplicator":
        return _call("submit_duplicate_verdict", verdict="unique", explanation="Another plot.")
    return _ask(asked) if asked.role == "generator" else _answer(asked)


def _ask(asked: Asked) -> Reply:
    taken = set(_ASKED.findall(asked.user))
    for line, quote, plot, crop, amount in _FACT.findall("\n".join((asked.user, *asked.results))):
        if (plot, crop) not in taken:
            return _call(
                "submit_qa",
                question=f"What was the mean yield of the {plot} plot under {crop}?",
                answer=f"{amount} kg",
                evidence=[{"quote": quote, "start_line": int(line)}],
                question_type="numeric",
            )
    if asked.results or _WHOLE.search(asked.user):
        return _call("report_exhausted", reason="Every fact has been asked about.")
    return _call("read_lines", start_line=int((_UNUSED.findall(asked.user) or ["1"])[0]))


def _answer(asked: Asked) -> Reply:
    plot, crop = _ASKED.findall(asked.user)[-1]
    seen = _FACT.findall("\n".join((asked.user, *asked.results)))
    found = next((fact for fact in seen if fact[2:4] == (plot, crop)), None)
    if found is None and not asked.results and not _WHOLE.search(asked.user):
        return Reply(calls=(Call("search", {"pattern": plot}), Call("search", {"pattern": f"under {crop}"})))
    if found is None:
        return _call("submit_answer", answerable=False, unambiguous=True, answer="", note="Not there.")
    line, quote, _, _, amount = found
    answer = f"{int(amount) + 1} kg" if _is_wrong(plot, crop) else f"{amount} kg"
    if _draw(f"worded {plot} {crop}") % 3 == 0:
        answer = f"on average it yielded {answer}"
    return _call(
        "submit_answer",
        answerable=True,
        unambiguous=True,
        answer=answer,
        evidence=[{"quote": quote, "start_line": int(line)}],
        **(dict.fromkeys(_JUDGED, True) if '"relevant"' in asked.whole else {}),
    )


def _is_wrong(plot: str, crop: str) -> bool:
    return _draw(f"wrong {plot} {crop}") % 10 == 0


def _call(name: str, **arguments: object) -> Reply:
    return Reply(calls=(Call(name, arguments),))


class Server(LoopbackServer):
    """The model server. It keeps the time and a cache of prefixes by model."""

    request_queue_size = 64

    def __init__(self, fast: float, slow: float) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self._fast, self._slow, self._lock = fast, slow, threading.Lock()
        self._cached: set[str] = set()
        self.first, self.last = 0.0, 0.0

    def answer(self, seen: Seen) -> dict[str, Any]:
        asked, begun = read(seen), time.monotonic()
        self.first = self.first or begun
        text = json.dumps(seen.body["tools"]) + json.dumps(seen.body["messages"])
        size, step = len(text) // _CHARACTERS, _BLOCK * _CHARACTERS
        ends = range(step, len(text) + 1, step)
        prefixes = [asked.model + hashlib.sha256(text[:end].encode()).hexdigest() for end in ends]
        hits = sum(prefix in self._cached for prefix in prefixes) * _BLOCK
        reply = play(asked)
        share = (_draw(text) % 1_000) / 1_000
        time.sleep(self._fast + share * (self._slow - self._fast))
        usage = (size, 60, hits if hits >= _LEAST else 0, 0)
        with self._lock:
            self._cached |= set(prefixes)
            self.last = time.monotonic()
        return wire_body(seen.path, Reply(calls=reply.calls, usage=usage), seen.body, _draw(text))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:
        del format, args

    def do_GET(self) -> None:
        assert isinstance(self.server, Server)
        self._send({"span": self.server.last - self.server.first})

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


def measure(pages: int, latency: str, more: str = "") -> Cost:
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
            settings = project.make(root, "trials", CORPUS, {"report.txt": document(pages)}, "remote")
            profile = PROFILE.format(url=f"{url}/v1", more=more)
            (root / "profiles" / "remote.yaml").write_text(profile, encoding="utf-8")
            with open_graph(settings, project.Quiet()) as graph:
                project.check(graph.documents("trials"))
                project.check(graph.materialize("chain", ("candidate_qa",), COMBINATION.key))
            with urllib.request.urlopen(url) as response:
                span = json.load(response)["span"]
        finally:
            process.kill()
        (file,) = (root / "assets").glob(f"candidates/{COMBINATION.key}/*/*.json")
        return Cost(span, GenerationResult.model_validate_json(file.read_bytes()))


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


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, nargs="*", default=[5, 20])
    parser.add_argument("--latency", choices=LATENCIES, nargs="*", default=list(LATENCIES))
    parser.add_argument("--tools-only", action="store_true", help="show nothing of the document unasked")
    parser.add_argument("--serve", choices=LATENCIES, help="be the model server")
    given = parser.parse_args()
    if given.serve:
        server = Server(*LATENCIES[given.serve])
        print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
        server.serve_forever()
    for pages in given.pages:
        for latency in given.latency:
            more = ", opening_characters: 0" if given.tools_only else ""
            show(f"{pages} pages, {QUESTIONS} questions, {latency}", measure(pages, latency, more))


if __name__ == "__main__":
    main()
