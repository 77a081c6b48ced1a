"""Servers that fail in every way, on each of the three wires, under a whole run.

Every station of the waterworks has a fault of its own, in one of the three roles. First each fault passes after one
request: the run must end as if nothing had happened. Then each fault lasts: the run must fail, and name the document
and the fault. Then the server is well: the same command must end with all questions. No reply is paid for twice, and the
API key, which the faulty bodies repeat, is in no output and in no stored file.
"""

from __future__ import annotations

import gzip
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.attack.memory import peak_mb
from benchmarks.attack.table import Row
from qagen_dagster.records.ids import digest
from tests.support import waterworks
from tests.support.project import Ended, Project, ended
from tests.support.wire_reader import read
from tests.support.wire_server import Call, Drop, Fault, Hang, Reply, Seen, Step, Trickle, WireServer

WIRES = ("openai", "openai_compatible", "anthropic")
ROLES = ("generator", "validator", "comparer")
KEY = "sk-attack-0123456789abcdef"
COMBINATION = "water/facts/textual"
RUN = ("run", "--json", "--profile", "remote")
TIMEOUT = 8  # seconds; a busy machine must answer a good request in this time
MEMORY_MB = 1_500  # three bodies of at most 256 MB at once, beside the process itself
HUGE = 300_000_000
HTML = {"content-type": "text/html"}
ROLE = (
    '  {role}: {{provider: {wire}, model: {model}, base_url: "{url}", api_key_env: ATTACK_KEY, '
    "max_attempts: 2, timeout_seconds: {timeout}, deadline_seconds: 60}}\n"
)
MODELS = {"generator": "asker", "validator": "judge", "deduplicator": "twin"}


def _packed(data: bytes, encoding: str) -> Fault:
    return Fault(200, data, {"content-encoding": encoding})


def _bomb() -> Fault:
    return _packed(gzip.compress(bytes(HUGE), 1), "gzip")


@dataclass(frozen=True)
class _Attack:
    """A fault, and the words of its outcome."""

    step: Callable[[], Step]
    outcome: str
    passes: bool = True  # after a retry; a lasting failure is not tried again
    role: str = ""  # that meets it; empty: any


def _of(step: Step, outcome: str, *, passes: bool = True, role: str = "") -> _Attack:
    return _Attack(lambda: step, outcome, passes, role)


UNUSABLE = "malformed"
FAULTS: dict[str, _Attack] = {
    "200 without choices": _of(Fault(200, {"choices": [], "output": [], "content": None, "note": KEY}), UNUSABLE),
    "200 of wrong types": _of(Fault(200, {"choices": "none", "output": {"a": 1}, "content": [3], "usage": []}), UNUSABLE),
    "200 of another server": _of(Fault(200, {"status": "signed out", "login": f"/login?key={KEY}"}), UNUSABLE),
    "200 that reports a failure": _of(
        Fault(200, {"type": "error", "status": "failed", "error": {"type": "overloaded_error", "code": "server_error", "message": f"busy {KEY}"}}),
        "reports a failure",
    ),
    "200 with half a reply and an error": _of(
        Fault(200, {"choices": [{"finish_reason": "error", "error": {"code": 502, "message": f"upstream {KEY}"}, "message": {"content": "I will"}}], "output": [], "status": "incomplete", "incomplete_details": {"reason": "server_error"}, "content": [], "stop_reason": "error"}),
        "error",
    ),
    "200 with HTML": _of(Fault(200, f"<html>Sign in {KEY}</html>", HTML), "not JSON"),
    "200 with half of the JSON": _of(Fault(200, '{"id": "x", "choices": [{"mess'), "not JSON"),
    "200 with a list": _of(Fault(200, "[]"), "not a JSON object"),
    "200 with deep JSON": _of(Fault(200, '{"choices": ' + "[" * 200_000), "not JSON"),
    "200 without a body": _of(Fault(200, ""), "the body is empty"),
    "302 to a page of JSON": _of(Fault(302, "", {"location": "/signed-out"}), UNUSABLE),
    "307 in a circle": _of(Fault(307, "", {"location": "?again"}), "TooManyRedirects"),
    "429 with Retry-After": _of(Fault(429, headers={"retry-after": "1"}), "HTTP 429"),
    "429 with Retry-After: soon": _of(Fault(429, headers={"retry-after": "soon"}), "HTTP 429"),
    "500": _of(Fault(500), "HTTP 500"),
    "502 with HTML": _of(Fault(502, f"<html>Bad gateway {KEY}</html>", HTML), "HTTP 502"),
    "503 without a body": _of(Fault(503, ""), "HTTP 503"),
    "529": _of(Fault(529), "HTTP 529"),
    "401 that repeats the key": _of(Fault(401, {"error": {"message": f"Incorrect key {KEY}"}}), "HTTP 401", passes=False),
    "400": _of(Fault(400, f"bad header: Authorization: Bearer {KEY}"), "HTTP 400", passes=False),
    "reset": _of(Drop(), "connection"),
    "reset in the body": _of(Drop(partial=True), "connection"),
    "silence": _of(Hang(60), "no response within"),
    "slow drip": _of(Trickle(), "no response within"),
    "slow drip of the head": _of(Trickle(head=True), "no response within"),
    "a header of 200 kB": _of(Fault(200, {}, {"x-note": "x" * 200_000}), "connection"),
    "gzip bomb": _Attack(_bomb, "more than 256,000,000 bytes"),
    "gzip three times": _of(_packed(b"\x1f\x8b", "gzip, gzip, gzip"), "not accepted"),
    "gzip that is none": _of(_packed(b"no gzip", "gzip"), "cannot be decoded"),
    "a body of 300 MB": _Attack(lambda: Fault(200, b" " * HUGE), "more than 256,000,000 bytes"),
    "413": _of(Fault(413, {"error": {"message": f"larger than this host takes {KEY}"}}), "context_overflow", passes=False, role="generator"),
    "200 that only talks": _of(Reply(text="I will read the"), "no_tool_call", role="generator"),
    "200 that calls a tool of another server": _of(Reply(calls=(Call("open_valve", {"to": 1}),)), "faulty_calls", role="generator"),
}  # fmt: skip
_QUESTION, _STATION = re.compile(".+"), re.compile(r"\w+ station")
SHORT = ("200 without choices", "200 with HTML", "401 that repeats the key", "503 without a body", "reset in the body", "gzip three times")  # fmt: skip


@dataclass
class _Moody:
    """Answers by rule, but for the faults of stations: the first request of a role, all of them, or none."""

    faults: Mapping[str, tuple[str, Step]]  # station: the role that meets it, the fault
    often: float = 1  # how often each fault is met
    met: Counter[str] = field(default_factory=Counter[str])
    paid: Counter[str] = field(default_factory=Counter[str])  # good replies, by request
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, seen: Seen, number: int) -> Step:
        if waterworks.is_probe(seen):
            return waterworks.answer(seen, number)
        asked = read(seen)
        (station,) = waterworks.stations(asked, self.faults)
        role, fault = self.faults[station]
        with self.lock:
            if asked.role == role and self.met[station] < self.often:
                self.met[station] += 1
                return fault
            self.paid[digest(seen.path, asked.whole)] += 1
        return waterworks.play(asked)

    @property
    def paid_twice(self) -> int:
        return sum(count > 1 for count in self.paid.values())


def faults(folder: Path, short: bool) -> Iterator[Row]:
    """Each fault once, each fault for ever, and none, on every wire."""
    attacks = {name: FAULTS[name] for name in (SHORT if short else FAULTS)}
    stations = {name: f"st{number:02d}" for number, name in enumerate(attacks)}
    told: dict[str, dict[str, str]] = {name: {} for name in attacks}
    for wire in WIRES[2:] if short else WIRES:
        steps = {
            stations[name]: (attack.role or ROLES[number % 3], attack.step())
            for number, (name, attack) in enumerate(attacks.items())
        }
        passing = {stations[name] for name, attack in attacks.items() if attack.passes}
        moody = _Moody(steps)
        with WireServer(moody) as server:
            project = _project(folder / wire, wire, server, list(stations.values()))
            yield _once_each(project, wire, moody, passing)
            moody.often, project = float("inf"), project.another(2)
            failed, peak = _measured(project)
            for name in attacks:
                told[name][wire] = _line(failed, stations[name])
            yield Row(f"{wire}: memory", f"at most {MEMORY_MB} MB", f"{peak} MB", peak <= MEMORY_MB)
            moody.often = 0
            yield _ended(f"{wire}: the server is well again", project, moody, _run(project), _STATION)
            yield _no_key(project, wire, failed)
    for name, attack in attacks.items():
        lines = [line for line in told[name].values() if attack.outcome not in line]
        shown = lines or list(told[name].values())
        yield Row(name, f"failed, naming {attack.outcome!r}", shown[0], not lines)


def _project(folder: Path, wire: str, server: WireServer, stations: list[str]) -> Project:
    project = Project.make(folder)
    project.corpus(
        "water", waterworks.corpus(1), {f"{name}.txt": waterworks.notes(name) for name in stations}
    )
    roles = [
        ROLE.format(role=role, wire=wire, model=model, url=server.url(wire), timeout=TIMEOUT)
        for role, model in MODELS.items()
    ]
    project.profile("remote", "roles:\n" + "".join(roles))
    return project


def _once_each(project: Project, wire: str, moody: _Moody, passing: set[str]) -> Row:
    """Faults that do not pass are left out."""
    moody.met.update(dict.fromkeys(moody.faults.keys() - passing, 1))
    row = _ended(f"{wire}: {len(passing)} faults once each", project, moody, _run(project))
    unmet = moody.faults.keys() - moody.met.keys()
    moody.paid.clear()
    return row if not unmet else Row(row.attack, "every fault is met", f"unmet: {sorted(unmet)}", False)


def _ended(
    attack: str, project: Project, moody: _Moody, found: Ended, part: re.Pattern[str] = _QUESTION
) -> Row:
    """After lasting faults in the other roles, some documents ask about another valve."""
    questions = project.published(COMBINATION)["questions"] if found.code == 0 else []
    wanted = [
        f"At what pressure does the intake valve of the {station} station open?"
        for station in sorted(moody.faults)
    ]
    same = [part.findall(one["question"]) for one in questions] == [part.findall(one) for one in wanted]
    return Row(
        attack,
        f"exit code 0, {len(wanted)} questions, nothing paid twice",
        f"exit code {found.code}, {len(questions)} questions, {moody.paid_twice} replies paid twice"
        + "".join(f"; {line}" for line in found.errors[:3] if found.code),
        found.code == 0 and same and not moody.paid_twice,
    )


def _no_key(project: Project, wire: str, failed: Ended) -> Row:
    places = [
        path.relative_to(project.root).as_posix()
        for path in sorted(project.root.rglob("*"))
        if path.is_file() and KEY.encode() in path.read_bytes()
    ]
    places += ["output"] if KEY in failed.out + failed.err else []
    return Row(
        f"{wire}: the key, repeated by faults",
        "it is nowhere",
        f"it is in {places}" if places else "it is nowhere",
        not places,
    )


def _line(failed: Ended, station: str) -> str:
    """What the failed run says about a document, without its name."""
    found = [line for line in failed.errors if f"{station}.txt" in line]
    return found[0].partition(".txt: ")[2][:150] if found and failed.code == 1 else "not named"


def _run(project: Project) -> Ended:
    return ended(project.start(*RUN, ATTACK_KEY=KEY))


def _measured(project: Project) -> tuple[Ended, int]:
    """A run, and its peak of memory in MB."""
    process = project.start(*RUN, ATTACK_KEY=KEY)
    most = 0
    while process.poll() is None:
        most = max(most, peak_mb(process.pid))
        time.sleep(0.05)
    return ended(process), most
