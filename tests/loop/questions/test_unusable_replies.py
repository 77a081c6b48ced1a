"""Documents through `run_shard` over HTTP whose model gives no reply of use: they are unfinished, cost little, and are asked again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from qagen_dagster.records.questions.results import DocumentEnd
from tests.loop.questions.test_shard_faults import WIRES, results, run, useful
from tests.support import waterworks
from tests.support.shards import run_shard
from tests.support.wire_reader import read
from tests.support.wire_server import Call, Fault, Reply, Seen, Step, WireServer

SAID: dict[str, Any] = {"error": {"code": 502, "message": "Upstream error from provider"}}
HALF: dict[str, dict[str, Any]] = {
    "openai": {
        "status": "incomplete",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "I"}]}],
    },
    "openai_compatible": {"choices": [{"message": {"role": "assistant", "content": "I will read the"}}]},
    "anthropic": {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "I will"}]},
}


def long_notes(patch: pytest.MonkeyPatch, lines: int) -> None:
    """Let the notes on stations be followed by many lines."""
    plain = waterworks.notes

    def notes(station: str) -> str:
        return plain(station) + "\nIt rained on the works.\n" * lines

    patch.setattr(waterworks, "notes", notes)


def broken(wire: str, how: str) -> dict[str, Any]:
    """Half a reply that says that the server failed."""
    body: dict[str, Any] = json.loads(json.dumps(HALF[wire]))
    place = body["choices"][0] if wire == "openai_compatible" else body
    if how == "error":
        place |= SAID
    elif wire == "openai":
        body["incomplete_details"] = {"reason": "server_error"}
    else:
        place["stop_reason" if wire == "anthropic" else "finish_reason"] = how
    return body


@pytest.mark.parametrize("how", ["error", "abort", "network_error"])
@pytest.mark.parametrize("wire", WIRES)
def test_a_reply_that_the_server_could_not_finish_is_a_failed_request(
    tmp_path: Path, wire: str, how: str
) -> None:
    with WireServer(lambda _seen, _number: Fault(200, broken(wire, how))) as server:
        outcome, space, planned = run(tmp_path, server, (wire,) * 3, ["bar"], max_attempts=3)
        assert "gave up after 3 attempts" in outcome.failed["bar.txt"]
        assert (
            "HTTP 502: Upstream error" if how == "error" else "error" if wire == "openai" else how
        ) in outcome.failed["bar.txt"]
        assert (len(server.requests), results(space, planned)) == (3, {})
        server.follow(useful)
        assert run_shard(space, planned, ["bar.txt"], "run-2").finished == ["bar.txt"]


MISFITS: dict[str, Reply] = {
    "a sentence for an array": waterworks.call(
        "submit_qa", question="At what pressure?", answer="4", evidence="line 5"
    ),
    "nothing": waterworks.call("submit_qa"),
    "another tool's": waterworks.call("read_lines", lines="all"),
    "words": Reply(text="I would rather talk about pumps."),
    "unknown": waterworks.call("open_valve"),
}


@pytest.mark.parametrize(
    ("role", "kind"),
    [("generator", kind) for kind in MISFITS]
    + [("validator", kind) for kind in MISFITS if kind != "a sentence for an array"],  # it has another tool
)
def test_a_document_without_a_reply_of_use_is_unfinished_and_cheap(
    tmp_path: Path, role: str, kind: str
) -> None:
    def useless(seen: Seen, number: int) -> Step:
        return MISFITS[kind] if read(seen).role == role else useful(seen, number)

    with WireServer(useless) as server:
        outcome, space, planned = run(tmp_path, server, ("openai_compatible",) * 3, ["bar"])
        assert outcome.failed["bar.txt"].startswith("model_error: ")
        assert (results(space, planned), len(server.requests) <= 30) == ({}, True)
        for number in range(5):  # more attempts than a document has
            asked = len(server.requests)
            assert run_shard(space, planned, ["bar.txt"], f"again-{number}").failed == outcome.failed
            assert len(server.requests) > asked
        server.follow(useful)
        assert run_shard(space, planned, ["bar.txt"], "well").finished == ["bar.txt"]
    assert results(space, planned)["bar"].end is DocumentEnd.TARGET_REACHED


@pytest.mark.parametrize("stop", ["refusal", "filter"])
def test_a_document_that_the_model_only_refused_is_asked_again(tmp_path: Path, stop: str) -> None:
    def refuse(seen: Seen, number: int) -> Step:
        refused = read(seen).role == "generator"
        return Reply(text="I cannot help with valves.", stop=stop) if refused else useful(seen, number)

    with WireServer(refuse) as server:
        outcome, space, planned = run(tmp_path, server, ("openai_compatible",) * 3, ["bar"])
        assert outcome.finished == []
        assert "I cannot help with valves." in outcome.failed["bar.txt"] or stop == "filter"
        assert len(server.requests) <= 3
        server.follow(useful)
        assert run_shard(space, planned, ["bar.txt"], "again").finished == ["bar.txt"]
    assert results(space, planned)["bar"].end is DocumentEnd.TARGET_REACHED


CUT: dict[str, Reply] = {
    "call": Reply(calls=(Call("submit_qa", raw='{"question": "At what'),), stop="length"),
    "words": Reply(text="At what pressure does the", stop="length"),
    "thought": Reply(thinking="The intake valve opens", stop="length"),
    "nothing": Reply(stop="length"),
}


@pytest.mark.parametrize("role", ["generator", "validator"])
@pytest.mark.parametrize("kind", CUT)
def test_a_model_whose_replies_are_all_cut_off_is_told_once_and_the_line_says_what_to_raise(
    tmp_path: Path, kind: str, role: str
) -> None:
    cut = CUT[kind]
    if role == "validator" and kind == "call":
        cut = Reply(calls=(Call("submit_answers", raw='{"answerable": tr'),), stop="length")

    def long(seen: Seen, number: int) -> Step:
        return cut if read(seen).role == role else useful(seen, number)

    with WireServer(long) as server:
        outcome, space, planned = run(tmp_path, server, ("openai_compatible",) * 3, ["bar"])
        said = f"raise `max_output_tokens` of the {role}, or the limit of its server"
        assert outcome.failed["bar.txt"].startswith("model_error: output_limit: ")
        assert outcome.failed["bar.txt"].endswith(said)
        assert sum(read(seen).role == role for seen in server.requests) == 2
        server.follow(useful)
        assert run_shard(space, planned, ["bar.txt"], "raised").finished == ["bar.txt"]
    assert results(space, planned)["bar"].end is DocumentEnd.TARGET_REACHED


def as_text(seen: Seen, number: int) -> Step:
    """A good reply whose arrays and objects are JSON text."""
    reply = waterworks.play(read(seen))
    return Reply(
        calls=tuple(
            Call(
                one.name,
                {
                    key: json.dumps(value) if isinstance(value, (list, dict)) else value
                    for key, value in (one.arguments or {}).items()
                },
            )
            for one in reply.calls
        )
    )


@pytest.mark.parametrize("wire", WIRES)
def test_arrays_as_json_text_are_read(tmp_path: Path, wire: str) -> None:
    with WireServer(as_text) as server:
        outcome, space, planned = run(tmp_path, server, (wire,) * 3, ["bar"])
    assert outcome.finished == ["bar.txt"]
    assert not results(space, planned)["bar"].rejected


REFUSALS: dict[str, tuple[int, str]] = {
    "unknown words": (400, "This model's maximum prompt length is 900 but the request contains 4000 tokens."),
    "422": (422, "inputs must have less than 900 tokens"),
    "413": (413, "Payload Too Large"),
    "known words": (400, "prompt is too long: 4000 tokens"),
}


@pytest.mark.parametrize("kind", REFUSALS)
@pytest.mark.parametrize("wire", WIRES[1:])
def test_a_long_prompt_that_is_refused_is_answered_with_a_smaller_part(
    tmp_path: Path, wire: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_notes(monkeypatch, 1500)
    status, said = REFUSALS[kind]
    refused: list[int] = []
    limit = 40_000

    def short(seen: Seen, number: int) -> Step:
        if len(read(seen).whole) > limit:
            refused.append(number)
            return Fault(status, {"error": {"message": said}})
        return useful(seen, number)

    with WireServer(short) as server:
        outcome, space, planned = run(tmp_path, server, (wire,) * 3, ["bar"])
        assert (outcome.failed, bool(refused)) == ({}, True)
    assert results(space, planned)["bar"].end is DocumentEnd.TARGET_REACHED


@pytest.mark.parametrize("kind", REFUSALS)
def test_a_document_of_which_no_prompt_was_accepted_is_unfinished(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_notes(monkeypatch, 500)
    status, said = REFUSALS[kind]
    with WireServer(lambda _seen, _number: Fault(status, {"error": {"message": said}})) as server:
        outcome, space, planned = run(tmp_path, server, ("openai_compatible",) * 3, ["bar"])
        told = outcome.failed["bar.txt"]
        assert (said in told, "opening_characters" in told) == (True, True)
        assert (results(space, planned), len(server.requests) <= 10) == ({}, True)
        server.follow(useful)
        assert run_shard(space, planned, ["bar.txt"], "run-2").finished == ["bar.txt"]
