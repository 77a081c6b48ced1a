"""A scripted model server on loopback: Responses, Chat Completions and Messages, with faults.

    with WireServer([Reply(text="hello"), Fault(status=503), Hang()]) as server:
        ... base_url=server.url("openai") ...
        server.requests[0].body

Steps are taken one per request, in order; after the last one the server repeats `then`, if it is
given, else answers 500 "script ended". `Reply`s are put into the form of the wire that asks.
"""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.support.loopback import LoopbackServer


@dataclass(frozen=True)
class Call:
    """A tool call in a reply; `raw` replaces the arguments by any text, for broken ones."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    raw: str | None = None
    id: str | None = None


@dataclass(frozen=True)
class Reply:
    text: str = ""
    calls: tuple[Call, ...] = ()
    thinking: str = ""
    stop: str | None = None  # neutral: "length" | "refusal" | "filter"
    usage: tuple[int, int, int, int] = (100, 20, 40, 5)  # input with cached, output, cached, reasoning
    delay: float = 0.0
    written: int = 0  # of the input, to the cache


@dataclass(frozen=True)
class Fault:
    """An HTTP answer as it is: any status, body and headers."""

    status: int = 500
    body: str | bytes | dict[str, Any] = field(default_factory=lambda: {"error": {"message": "it broke"}})
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Drop:
    """Close the connection without an answer, or after promising more bytes than are sent."""

    partial: bool = False


@dataclass(frozen=True)
class Hang:
    """Say nothing for `seconds` (or until the server stops), then close."""

    seconds: float = 30.0


@dataclass(frozen=True)
class Trickle:
    """Send a byte every `pause` seconds and never come to an end; `head`: not even of the head."""

    head: bool = False
    pause: float = 0.02


@dataclass(frozen=True)
class Seen:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


Step = Reply | Fault | Drop | Hang | Trickle
Script = Callable[[Seen, int], Step]


class WireServer:
    """Serves in threads; `requests` holds what came in, in order of arrival."""

    def __init__(
        self, steps: Iterable[Step] | Script = (), then: Step | None = None, *, port: int = 0
    ) -> None:
        self._steps = steps if callable(steps) else list(steps)
        self._then = then
        self._lock = threading.Lock()
        self.stopped = threading.Event()
        self.requests: list[Seen] = []
        handler = type("Handler", (_Handler,), {"wire": self})
        self._http = LoopbackServer(("127.0.0.1", port), handler)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self) -> WireServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def follow(self, steps: Script) -> None:
        """Answer by `steps` from now on."""
        self._steps = steps

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    def url(self, provider: str) -> str:
        """The base_url for a provider name: the Anthropic SDK adds `/v1` itself."""
        root = f"http://127.0.0.1:{self.port}"
        return root if provider == "anthropic" else f"{root}/v1"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [seen.body for seen in self.requests]

    def next_step(self, seen: Seen) -> tuple[Step, int]:
        with self._lock:
            self.requests.append(seen)
            number = len(self.requests)
            if callable(self._steps):
                return self._steps(seen, number), number
            ended = self._then or Fault(500, {"error": {"message": "script ended"}})
            return (self._steps[number - 1] if number <= len(self._steps) else ended), number


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are two writes: the second would wait 40 ms for the first
    wire: WireServer

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        length = int(self.headers["content-length"])
        received = self.rfile.read(length)
        if len(received) < length:  # the client was killed while it sent
            self.close_connection = True
            return
        body = json.loads(received)
        headers = {name.lower(): value for name, value in self.headers.items()}
        path = self.path.split("?")[0]
        step, number = self.wire.next_step(Seen(path, headers, body))
        if isinstance(step, Hang):
            self.wire.stopped.wait(step.seconds)
            self.close_connection = True
        elif isinstance(step, Drop):
            self._drop(step)
        elif isinstance(step, Trickle):
            self._trickle(step)
        elif isinstance(step, Fault):
            self._answer(step.status, _bytes(step.body), step.headers)
        else:
            time.sleep(step.delay)
            self._answer(200, _bytes(wire_body(path, step, body, number)), {})

    def do_GET(self) -> None:
        """Where a redirect may lead."""
        self._answer(200, _bytes({"status": "signed out"}), {})

    def _answer(self, status: int, data: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        with contextlib.suppress(OSError):  # the client has hung up
            self.end_headers()
            self.wfile.write(data)

    def _trickle(self, step: Trickle) -> None:
        self.close_connection = True
        head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n"
        self.wfile.write(head + (b"x-slow: " if step.head else b'\r\n{"note": "'))
        with contextlib.suppress(OSError):  # the client has hung up
            while not self.wire.stopped.wait(step.pause):
                self.wfile.write(b".")

    def _drop(self, step: Drop) -> None:
        if step.partial:
            self.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n")
            self.wfile.write(b'content-length: 1000\r\n\r\n{"choices": [')
        else:  # a reset, not an orderly end
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True


def _bytes(body: str | bytes | dict[str, Any]) -> bytes:
    text = json.dumps(body) if isinstance(body, dict) else body
    return text if isinstance(text, bytes) else text.encode()


def wire_body(path: str, reply: Reply, request: dict[str, Any], number: int) -> dict[str, Any]:
    """`reply` in the form of the wire that `path` belongs to."""
    form = _messages if path.endswith("/messages") else _responses if path.endswith("/responses") else _chat
    return {"model": request.get("model"), **form(reply, number)}


def _id(call: Call, number: int, index: int) -> str:
    return call.id or f"call_{number}_{index}"


def _arguments(call: Call) -> str:
    return json.dumps(call.arguments) if call.raw is None else call.raw


def _chat(reply: Reply, number: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.thinking:
        message["reasoning_content"] = reply.thinking
    if reply.stop == "refusal":
        message |= {"content": None, "refusal": reply.text}
    if reply.calls:
        message["tool_calls"] = [
            {
                "id": _id(call, number, index),
                "type": "function",
                "function": {"name": call.name, "arguments": _arguments(call)},
            }
            for index, call in enumerate(reply.calls)
        ]
    finish = {"length": "length", "filter": "content_filter"}.get(reply.stop or "")
    total_in, total_out, cached, reasoning = reply.usage
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1,
        "choices": [
            {
                "index": 0,
                "message": message,
                "finish_reason": finish or ("tool_calls" if reply.calls else "stop"),
            }
        ],
        "usage": {
            "prompt_tokens": total_in,
            "completion_tokens": total_out,
            "total_tokens": total_in + total_out,
            "prompt_tokens_details": {"cached_tokens": cached, "cache_write_tokens": reply.written},
            "completion_tokens_details": {"reasoning_tokens": reasoning},
        },
    }


def _responses(reply: Reply, number: int) -> dict[str, Any]:
    output: list[dict[str, Any]] = []
    if reply.thinking:
        output.append(
            {
                "type": "reasoning",
                "id": f"rs_{number}",
                "summary": [{"type": "summary_text", "text": reply.thinking}],
                "encrypted_content": f"sealed-{number}",
                "status": None,
            }
        )
    if reply.text:
        kind = "refusal" if reply.stop == "refusal" else "output_text"
        piece = {"type": kind, "refusal" if kind == "refusal" else "text": reply.text}
        output.append({"type": "message", "id": f"m_{number}", "role": "assistant", "content": [piece]})
    output += [
        {
            "type": "function_call",
            "id": f"fc_{number}_{index}",
            "call_id": _id(call, number, index),
            "name": call.name,
            "arguments": _arguments(call),
            "status": "completed",
        }
        for index, call in enumerate(reply.calls)
    ]
    reason = {"length": "max_output_tokens", "filter": "content_filter"}.get(reply.stop or "")
    total_in, total_out, cached, reasoning = reply.usage
    return {
        "id": f"resp_{number}",
        "object": "response",
        "status": "incomplete" if reason else "completed",
        "incomplete_details": {"reason": reason} if reason else None,
        "error": None,
        "output": output,
        "usage": {
            "input_tokens": total_in,
            "output_tokens": total_out,
            "total_tokens": total_in + total_out,
            "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": reply.written},
            "output_tokens_details": {"reasoning_tokens": reasoning},
        },
    }


def _messages(reply: Reply, number: int) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    if reply.thinking:
        content.append({"type": "thinking", "thinking": reply.thinking, "signature": f"sig-{number}"})
    if reply.text:
        content.append({"type": "text", "text": reply.text})
    content += [
        {
            "type": "tool_use",
            "id": _id(call, number, index),
            "name": call.name,
            "input": call.arguments if call.raw is None else call.raw,
        }
        for index, call in enumerate(reply.calls)
    ]
    stop = {"length": "max_tokens", "refusal": "refusal", "filter": "refusal"}.get(reply.stop or "")
    total_in, total_out, cached, reasoning = reply.usage
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "content": content,
        "stop_reason": stop or ("tool_use" if reply.calls else "end_turn"),
        "stop_sequence": None,
        "usage": {
            "input_tokens": total_in - cached - reply.written,
            "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": reply.written,
            "output_tokens": total_out,
            "output_tokens_details": {"thinking_tokens": reasoning},
        },
    }
