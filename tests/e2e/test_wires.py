"""The three roles over HTTP on the three wires, textual and visual, with turns no model should make.

Each role speaks another wire, then they change places, so that pictures have been shown on every wire. Runs go through the graph.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pymupdf
import pytest

from qagen_dagster.records.questions.results import DocumentEnd, GenerationResult, RejectionReason
from tests.support import waterworks
from tests.support.graph import DAGSTER_WARNINGS, DOCUMENTS, QUESTIONS, GraphRun
from tests.support.project import Project
from tests.support.wire_reader import Asked, read
from tests.support.wire_server import Call, Fault, Reply, Seen, Step, WireServer

pytestmark = list(DAGSTER_WARNINGS)
WIRES = {"openai": "responses", "anthropic": "messages", "openai_compatible": "completions"}
PLACES = {"responses": "tool result", "messages": "tool result", "completions": "user"}
ROTATIONS = [tuple(islice(cycle(WIRES), start, start + 3)) for start in range(2)]
TEXTUAL, VISUAL = "water/facts/textual", "water/facts/visual"
ROLE = '  {role}: {{opening_characters: 0, provider: {provider}, model: {model}, base_url: "{url}", api_key_env: WATERWORKS_KEY, max_attempts: 2}}\n'
KEY = "sk-waterworks-0123456789"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("WATERWORKS_KEY", KEY)
    project = Project.make(tmp_path / "project")
    project.corpus(
        "water",
        waterworks.corpus(2, "textual, visual"),
        {
            "ridge.txt": waterworks.notes("ridge", alike=True),
            "mill.pdf": waterworks.sheet("mill", alike=True),
        },
    )
    return project


@pytest.mark.parametrize("providers", [ROTATIONS[0], pytest.param(ROTATIONS[1], marks=pytest.mark.long)])
def test_the_roles_speak_different_wires(project: Project, providers: tuple[str, str, str]) -> None:
    with WireServer(waterworks.answer) as server, _graph(project, server, providers) as graph:
        for key in (TEXTUAL, VISUAL):
            assert graph.materialize(key, *QUESTIONS).success
        asked = [read(seen) for seen in server.requests]
        keys = {
            seen.headers.get("x-api-key") or seen.headers["authorization"].removeprefix("Bearer ")
            for seen in server.requests
        }
    generator, validator, deduplicator = (WIRES[provider] for provider in providers)
    spoken = {(one.role, one.model, one.wire) for one in asked}
    assert spoken == {
        ("generator", "asker", generator),
        ("validator", "judge", validator),
        ("comparer", "judge", validator),
        ("deduplicator", "twin", deduplicator),
    }
    assert keys == {KEY}
    assert [(q["question"], q["answer"]) for q in project.published(VISUAL)["questions"]] == _expected("mill")
    textual = project.published(TEXTUAL)["questions"]
    assert [(q["question"], q["answer"]) for q in textual] == _expected("mill") + _expected("ridge")
    _pictures_are_crops_where_the_wire_takes_them(asked)
    assert KEY.encode() not in b"".join(data for data, _ in project.stored().values())


def _expected(station: str) -> list[tuple[str, str]]:
    return [
        (
            f"At what pressure does the {valve} valve of the {station} station open?",
            f"{waterworks.pressure(station, valve, alike=True)} bar",
        )
        for valve in waterworks.VALVES[:2]
    ]


def _pictures_are_crops_where_the_wire_takes_them(asked: list[Asked]) -> None:
    shown = [(one, picture) for one in asked for picture in one.pictures]
    assert Counter(one.role for one, _ in shown) == {"generator": 2, "validator": 2}
    for one, picture in shown:
        assert picture.place == PLACES[one.wire]
        image: Any = pymupdf.Pixmap(picture.data)
        assert image.width > 300
        assert image.width * image.height <= 1_150_000
        assert picture.media_type in ("image/png", "image/jpeg")


STUMBLES: dict[str, tuple[Step, str]] = {
    "text": (Reply(text="I would rather talk about pumps."), "your reply called no tool"),
    "unknown": (
        Reply(calls=(Call("open_valve", {"valve": "intake"}),)),
        "This task has no tool 'open_valve'",
    ),
    "broken": (
        Reply(calls=(Call("submit_qa", raw='{"question": "At what press'),)),
        "The arguments of submit_qa could not be read",
    ),
    "wrong": (Reply(calls=(Call("submit_qa", {"question": 7, "answer": "x"}),)), "submit_qa was not run"),
    "long": (Reply(text="At what", stop="length"), "cut off by its length limit"),
    "beyond": (Reply(calls=(Call("read_lines", {"start_line": 900}),)), "There is no line 900"),
    "busy": (Fault(503), ""),
}
ENDS: dict[str, tuple[str, dict[RejectionReason, str]]] = {
    **{name: ("target_reached", {}) for name in STUMBLES},
    "vague": ("target_reached", {}),
    "drained": ("exhausted_reported", {}),
}
UNFINISHED = ("mute", "stern", "silent", "empty", "judged")
NOTHING: dict[str, dict[str, Any]] = {
    "responses": {
        "id": "r",
        "object": "response",
        "status": "completed",
        "output": [{"type": "reasoning", "summary": []}],
    },
    "completions": {"id": "c", "object": "chat.completion", "choices": [{"message": {"role": "assistant"}}]},
    "messages": {"id": "m", "type": "message", "role": "assistant", "content": [], "stop_reason": "end_turn"},
}
REFUSAL = Reply(text="I cannot help with valves.", stop="refusal")
CLUMSY = """\
name: Waterworks
corpus_context: Notes on the stations of an invented waterworks.
scenarios:
  facts: {name: Facts, description: Single facts., target_count: 2, max_consecutive_failures: 1, modes: [textual]}
"""


class Clumsy:
    """Plays well but for one station each: some stumble once and are told, some never get up."""

    def __init__(self) -> None:
        self.stumbled: set[str] = set()
        self.told: dict[str, str] = {}  # station: what the request after its stumble said

    def __call__(self, seen: Seen, number: int) -> Step:
        del number
        asked = read(seen)
        names = waterworks.stations(asked, (*ENDS, *UNFINISHED))
        name = names.pop() if len(names) == 1 else ""
        if name in STUMBLES and asked.role == "generator":
            if name not in self.stumbled:
                self.stumbled.add(name)
                return STUMBLES[name][0]
            self.told.setdefault(name, "\n".join((*asked.results, asked.later)))
        return _fallen(name, asked) or waterworks.play(asked)


def _fallen(name: str, asked: Asked) -> Step | None:
    """What stations answer that never get up, each in the role it fails in."""
    replies: dict[tuple[str, str], Step] = {
        ("mute", "generator"): Reply(text="I would rather talk about pumps."),
        ("stern", "generator"): REFUSAL,
        ("silent", "generator"): Reply(text="", stop="filter"),
        ("empty", "generator"): Fault(200, NOTHING[asked.wire]),
        ("judged", "validator"): REFUSAL,
        ("vague", "deduplicator"): Reply(text="They are somewhat alike."),
        ("drained", "generator"): waterworks.call("report_exhausted", reason="Nothing but pumps."),
    }
    return replies.get((name, asked.role))


def test_turns_no_model_should_make_end_in_named_outcomes(project: Project) -> None:
    """One run, in which the wires share the roles. `tests/models/wires` has each turn on each wire."""
    project.corpus("valves", CLUMSY, {f"{name}.txt": waterworks.notes(name, alike=True) for name in ENDS})
    script = Clumsy()
    with WireServer(script) as server, _graph(project, server, tuple(WIRES), "valves") as graph:
        run = graph.materialize("valves/facts/textual", *QUESTIONS)
        assert run.success
    results = {result.document_id.removesuffix(".txt"): result for result in _results(project)}
    assert {name: result.end.value for name, result in results.items()} == {
        name: end for name, (end, _) in ENDS.items()
    }
    for name, (_, rejected) in ENDS.items():
        result = results[name]
        assert {one.rejection_reason for one in result.rejected} == set(rejected), name
        assert len(result.accepted) == (2 if result.end is DocumentEnd.TARGET_REACHED else 0), name
        for one in result.rejected:
            assert rejected[one.rejection_reason] in one.rejection_detail, name
    assert {name: expected in script.told[name] for name, (_, expected) in STUMBLES.items()} == dict.fromkeys(
        STUMBLES, True
    )
    assert sum(call.retries for call in results["busy"].calls) == 1
    kept = {
        question["source_document"] for question in project.published("valves/facts/textual")["questions"]
    }
    assert kept == {f"documents/{name}.txt" for name, (end, _) in ENDS.items() if end == "target_reached"}


def test_documents_without_a_reply_of_use_are_asked_again(project: Project) -> None:
    documents = {f"{name}.txt": waterworks.notes(name, alike=True) for name in UNFINISHED}
    project.corpus("valves", CLUMSY, documents)
    with WireServer(Clumsy()) as server, _graph(project, server, tuple(WIRES), "valves") as graph:
        assert not graph.materialize("valves/facts/textual", *QUESTIONS).success
        assert _results(project) == []
        server.follow(lambda seen, _number: waterworks.play(read(seen)))
        assert graph.materialize("valves/facts/textual", *QUESTIONS).success
    assert [result.end for result in _results(project)] == [DocumentEnd.TARGET_REACHED] * len(UNFINISHED)


def _results(project: Project) -> list[GenerationResult]:
    files = project.assets.glob("candidates/valves/facts/textual/*/*.json")
    return [GenerationResult.model_validate_json(file.read_bytes()) for file in files]


@contextmanager
def _graph(
    project: Project, server: WireServer, providers: tuple[str, ...], corpus: str = "water"
) -> Generator[GraphRun]:
    """The graph over a profile with these providers, the documents parsed."""
    named = zip(
        ("generator", "validator", "deduplicator"), ("asker", "judge", "twin"), providers, strict=True
    )
    roles = [
        ROLE.format(role=role, model=model, provider=provider, url=server.url(provider))
        for role, model, provider in named
    ]
    project.profile("wires", "roles:\n" + "".join(roles))
    with GraphRun(project, profile="wires") as graph:
        assert graph.materialize(corpus, *DOCUMENTS).success
        yield graph
