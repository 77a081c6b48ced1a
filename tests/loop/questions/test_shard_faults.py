"""Documents through `run_shard` over HTTP while the servers fail: none is lost, and each failure has its outcome."""

from __future__ import annotations

import random
import threading
from collections import Counter
from pathlib import Path

import pytest

from qagen_dagster.configuration.profiles import QUESTION_ROLES
from qagen_dagster.loop.parallel import WorkOutcome
from qagen_dagster.loop.questions.plan import CombinationPlan, RunOptions, plan
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.base import Model
from qagen_dagster.models.ledger import STOP_AFTER, Ledger, LedgeredModel
from qagen_dagster.models.providers import build_provider
from qagen_dagster.models.rate_limits import limited
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.questions.results import DocumentEnd, GenerationResult
from qagen_dagster.settings import Settings
from tests.loop.conftest import COMBINATION, put_documents
from tests.support import waterworks
from tests.support.shards import run_shard
from tests.support.wire_reader import read
from tests.support.wire_server import Call, Drop, Fault, Hang, Reply, Seen, Step, WireServer

CORPUS = """\
name: Waterworks
corpus_context: Notes on the stations of an invented waterworks.
scenarios:
  service: {name: Facts, description: Single facts., modes: [textual], target_count: 1, max_consecutive_failures: 2}
"""
ROLE = '  {role}: {{provider: {wire}, model: {role}, base_url: "{url}"{more}}}\n'
WIRES = ("openai", "openai_compatible", "anthropic")
NOTHING = Fault(200, {"id": "x", "output": [], "status": "completed", "choices": [], "content": []}, {})
PAGE = Fault(200, "<html>Sign in</html>", {"content-type": "text/html"})
TOO_LONG = Fault(400, {"error": {"message": "prompt is too long: 210000 tokens > 200000 maximum"}})


NOTHING_SAID = {
    "openai": "the response is complete but has no output",
    "openai_compatible": "the response is malformed at choices: Tuple should have at least 1 item after validation, not 0"
    '; the server sent {"id": "x", "status": "completed"}',
}


def _malformed_on(path: str) -> bool:
    """Whether NOTHING is malformed on the wire of `path`; on the other one it is an empty reply."""
    return not path.endswith("/messages")


class Restless(Workspace):
    """A workspace whose models do not wait between their tries."""

    def model(self, spec: ModelSpec) -> Model:
        provider = limited(build_provider(spec, lambda _: "k"), None, self.settings.state)
        return LedgeredModel(provider, Ledger(self.store.blobs("ledger")), sleep=lambda _: None)


def run(
    root: Path, server: WireServer, wires: tuple[str, ...], stations: list[str], **more: object
) -> tuple[WorkOutcome[str], Restless, CombinationPlan]:
    """Work one document per station, each role on its wire."""
    (root / "corpora" / "probes" / "documents").mkdir(parents=True)
    (root / "corpora" / "probes" / "corpus.yaml").write_text(CORPUS)
    (root / "profiles").mkdir()
    roles = [
        ROLE.format(
            role=role.value,
            wire=wire,
            url=server.url(wire),
            more="".join(f", {key}: {value}" for key, value in more.items()),
        )
        for role, wire in zip(QUESTION_ROLES, wires, strict=True)
    ]
    (root / "profiles" / "mine.yaml").write_text("roles:\n" + "".join(roles))
    settings = Settings(
        corpora=root / "corpora",
        assets=str(root / "assets"),
        profile="mine",
        profiles=root / "profiles",
        state=root / "state",
        document_workers=8,
    )
    space = Restless(settings)
    put_documents(space, {f"{name}.txt": waterworks.notes(name) for name in stations})
    planned = plan(space, COMBINATION, RunOptions())
    return run_shard(space, planned, [entry.id for entry in planned.documents], "run-1"), space, planned


def results(space: Workspace, planned: CombinationPlan) -> dict[str, GenerationResult]:
    found = {
        entry.id: space.store.find(planned.result_key(entry), GenerationResult) for entry in planned.documents
    }
    return {name.removesuffix(".txt"): result for name, result in found.items() if result is not None}


PASSING: dict[str, list[Step]] = {
    "refused": [Fault(429)],
    "asked": [Fault(429, headers={"retry-after": "1"})],
    "burst": [Fault(500), Fault(503), Fault(503), Fault(500)],
    "silent": [Hang(30)],
    "dropped": [Drop(), Drop(partial=True)],
    "page": [PAGE],
    "cut": [Reply(calls=(Call("submit_qa", raw='{"question": "At what press'),))],
    "unknown": [Reply(calls=(Call("open_valve", {}),))],
}
LASTING: dict[str, Step] = {"empty": NOTHING, "overflow": TOO_LONG, "down": Fault(503), "limited": Fault(429)}


class Faulty:
    """Fails for the generator of the stations named after a fault, some of them once and some always."""

    def __init__(self) -> None:
        self.left = {name: list(steps) for name, steps in PASSING.items()}
        self.asked: Counter[str] = Counter()

    def __call__(self, seen: Seen, number: int) -> Step:
        del number
        asked = read(seen)
        names = waterworks.stations(asked, (*PASSING, *LASTING))
        name = names.pop() if len(names) == 1 else ""
        self.asked[name] += 1
        if asked.role == "generator" and name in LASTING:
            return LASTING[name]
        return self.left[name].pop(0) if self.left.get(name) else waterworks.play(asked)


@pytest.mark.parametrize("wire", WIRES)
def test_each_fault_is_survived_or_ends_in_its_outcome(tmp_path: Path, wire: str) -> None:
    script = Faulty()
    with WireServer(script) as server:
        outcome, space, planned = run(
            tmp_path, server, (wire,) * 3, [*PASSING, *LASTING], max_attempts=5, timeout_seconds=3
        )
    malformed = wire != "anthropic"
    nothing = f"malformed: {NOTHING_SAID[wire]}" if malformed else "no_tool_call: empty reply"
    overflow = outcome.failed.pop("overflow.txt")
    assert overflow.startswith(
        f"model_error: context_overflow: {wire}:generator: HTTP 400: prompt is too long: 210000 tokens"
    )
    assert "opening_characters" in overflow
    assert {name: why.split(" (")[0] for name, why in outcome.failed.items()} == {
        "empty.txt": f"model_error: {nothing}",
        "down.txt": f"{wire}:generator: HTTP 503: it broke",
        "limited.txt": f"{wire}:generator: HTTP 429: it broke",
    }
    tried = [why for name, why in outcome.failed.items() if malformed or name != "empty.txt"]
    assert all("gave up after 5 attempts" in why for why in tried)
    assert (script.asked["down"], script.asked["limited"]) == (5, 5)
    assert script.asked["empty"] == (15 if malformed else 12)  # of three runs of the generator
    found = results(space, planned)
    assert set(found) == set(PASSING)
    assert {name: found[name].end for name in PASSING} == dict.fromkeys(PASSING, DocumentEnd.TARGET_REACHED)
    retries = {name: sum(call.retries for call in found[name].calls) for name in PASSING}
    for name, steps in PASSING.items():
        assert retries[name] >= (0 if name in ("cut", "unknown") else len(steps)), name


CLUMSY: tuple[Step, ...] = (
    Reply(text="I would rather talk about pumps."),
    Reply(calls=(Call("submit_qa", raw='{"question": "At what press'),)),
    Reply(calls=(Call("open_valve", {"valve": "intake"}),)),
    Reply(calls=(Call("read_lines", {"start_line": "first"}),)),
    NOTHING,
    PAGE,
)


class Unreliable:
    """Refuses one request in ten, and answers one in ten with something no model should."""

    def __init__(self) -> None:
        self.chance, self.guard = random.Random(11), threading.Lock()
        self.refused = self.unusable = 0

    def __call__(self, seen: Seen, number: int) -> Step:
        del number
        with self.guard:
            drawn, kind = self.chance.random(), self.chance.choice(CLUMSY)
            self.refused += drawn < 0.1
            if drawn < 0.1:
                return Fault(429)
            if drawn < 0.2:
                self.unusable += kind is PAGE or (kind is NOTHING and _malformed_on(seen.path))
                return kind
        return waterworks.play(read(seen))


def test_no_document_of_sixty_is_lost(tmp_path: Path) -> None:
    syllables = ("bar", "cor", "del", "fen", "gal", "hol", "kem", "lin")
    stations = [first + second for first in syllables for second in syllables][:60]
    script = Unreliable()
    with WireServer(script) as server:
        outcome, space, planned = run(tmp_path, server, WIRES, stations, concurrency=6)
    assert outcome.failed == {}
    found = results(space, planned)
    assert set(found) == set(stations)
    for result in found.values():
        assert result.end in (DocumentEnd.TARGET_REACHED, DocumentEnd.CONSECUTIVE_FAILURES)
        assert result.end is DocumentEnd.TARGET_REACHED or len(result.rejected) == 3
        assert all(one.rejection_detail for one in result.rejected)
    assert sum(result.end is DocumentEnd.TARGET_REACHED for result in found.values()) > 45
    ledger = Ledger(space.store.blobs("ledger"))
    paid = [ledger.get(key.rpartition("/")[2]) for key in space.store.list("ledger")]
    tries = [1 + entry.retries for entry in paid if entry is not None]
    assert len(server.requests) == sum(tries)
    assert max(tries) <= 8
    assert sum(tries) - len(tries) == script.refused + script.unusable


def useful(seen: Seen, _number: int) -> Step:
    return waterworks.play(read(seen))


@pytest.mark.parametrize("wire", ["openai", "openai_compatible"])
@pytest.mark.parametrize("role", ["generator", "validator"])
def test_a_server_with_nothing_usable_fails_its_documents_until_it_answers(
    tmp_path: Path, wire: str, role: str
) -> None:
    def nothing(seen: Seen, number: int) -> Step:
        return NOTHING if read(seen).role == role else useful(seen, number)

    stations = ["bar", "cor"]
    with WireServer(nothing) as server:
        outcome, space, planned = run(tmp_path, server, (wire,) * 3, stations, max_attempts=2)
        assert outcome.failed.keys() == {"bar.txt", "cor.txt"}
        assert all(why.startswith("model_error: malformed: ") for why in outcome.failed.values())
        assert results(space, planned) == {}
        ids = [entry.id for entry in planned.documents]
        asked = len(server.requests)
        again = run_shard(space, planned, ids, "run-2")
        assert again.failed.keys() == outcome.failed.keys()
        assert len(server.requests) > asked  # an unusable body is no answer
        server.follow(useful)
        assert sorted(run_shard(space, planned, ids, "run-3").finished) == ids
    ends = {name: result.end for name, result in results(space, planned).items()}
    assert ends == dict.fromkeys(stations, DocumentEnd.TARGET_REACHED)


USELESS: dict[str, tuple[Step, str]] = {
    "unknown": (Reply(calls=(Call("open_valve", {}),)), "unknown tool 'open_valve'"),
    "cut": (Reply(calls=(Call("submit_qa", raw='{"question": "At what press'),)), "submit_qa: the arguments"),
    "empty": (Reply(calls=()), "the reply is empty"),
}


@pytest.mark.parametrize("fault", USELESS)
def test_a_model_whose_every_reply_is_useless_is_stopped(tmp_path: Path, fault: str) -> None:
    step, said = USELESS[fault]
    stations = ["bar", "cor", "del", "fen", "gal", "hol", "kem", "lin"]

    def useless(seen: Seen, number: int) -> Step:
        return step if read(seen).role == "generator" else useful(seen, number)

    with WireServer(useless) as server:
        outcome, space, planned = run(tmp_path, server, ("anthropic",) * 3, stations)
        assert len(outcome.failed) == 8
        assert len(server.requests) <= STOP_AFTER + 8  # those that were in flight
        (why,) = set(outcome.failed.values())
        assert why.startswith(
            f"anthropic:generator: stopped after {STOP_AFTER} useless replies in a row, the last: {said}"
        )
        server.follow(useful)
        ids = [entry.id for entry in planned.documents]
        assert sorted(run_shard(space, planned, ids, "run-2").finished) == ids
    assert {result.end for result in results(space, planned).values()} == {DocumentEnd.TARGET_REACHED}


def test_an_attempt_of_such_a_model_ends_after_five_turns(tmp_path: Path) -> None:
    """The document is not finished with nothing but such attempts: the next run asks the model again."""

    def useless(_seen: Seen, _number: int) -> Step:
        return USELESS["unknown"][0]

    fault = "faulty_calls: 5 turns in a row, the last: unknown tool 'open_valve'"
    with WireServer(useless) as server:
        outcome, space, planned = run(tmp_path, server, ("anthropic",) * 3, ["bar"])
        assert (outcome.failed, len(server.requests)) == ({"bar.txt": f"model_error: {fault}"}, 15)
        assert results(space, planned) == {}
        assert run_shard(space, planned, ["bar.txt"], "run-2").failed == outcome.failed
        assert 15 < len(server.requests) <= 30
        server.follow(useful)
        assert run_shard(space, planned, ["bar.txt"], "run-3").finished == ["bar.txt"]
    (result,) = results(space, planned).values()
    assert result.end is DocumentEnd.TARGET_REACHED
    assert {one.rejection_detail for one in result.rejected} == {fault}
