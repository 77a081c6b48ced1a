"""A batch server on loopback: OpenAI's files and batches, Anthropic's message batches, and both direct endpoints.

    with BatchServer(answer) as server:
        ... base_url=server.url("openai") ...
        server.batches  # of each batch the requests, by key

`answer` gives for the body of a request its `Reply`, a `Fault` for one that errs, or None for one that is
never worked on. Results come in another order than requests.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.support.loopback import LoopbackServer
from tests.support.wire_server import Fault, Reply, wire_body

Answer = Callable[[dict[str, Any]], Reply | Fault | None]
NOT_FOUND = Fault(404, {"type": "error", "error": {"type": "not_found_error", "message": "no such thing"}})


@dataclass
class Batch:
    id: str
    requests: dict[str, dict[str, Any]]  # bodies by key
    tag: str | None
    created: float = field(default_factory=time.time)
    polls: int = 0


class BatchServer:
    """Serves in threads. Settings may be changed while it runs."""

    def __init__(self, answer: Answer, *, polls: int = 2) -> None:
        self.answer, self.in_batch = answer, answer  # directly, and in a batch
        self.polls = polls  # a batch has ended with its `polls`th look
        self.ends_as = "completed"  # OpenAI's word for it
        self.errors: list[dict[str, str]] = []  # of an OpenAI batch as a whole
        self.room: int | None = None  # requests of an OpenAI batch; one with more is not worked on
        self.uploads = 0
        self.submit_faults: list[Fault | None] = []  # one per try; None: taken, then 503
        self.poll_faults: list[Fault] = []
        self.results_faults: list[Fault] = []
        self.jobs: dict[str, Batch] = {}
        self.files: dict[str, str] = {}
        self.direct: list[dict[str, Any]] = []
        self.polled = threading.Event()
        self.lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"server_": self})
        self._http = LoopbackServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self) -> BatchServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def url(self, provider: str) -> str:
        root = f"http://127.0.0.1:{self._http.server_address[1]}"
        return root if provider == "anthropic" else f"{root}/v1"

    @property
    def batches(self) -> list[dict[str, dict[str, Any]]]:
        return [job.requests for job in self.jobs.values()]

    def take(self, requests: dict[str, dict[str, Any]], tag: str | None) -> Batch:
        job = Batch(f"batch_{len(self.jobs) + 1}", requests, tag)
        self.jobs[job.id] = job
        return job

    def respond(self, method: str, path: str, body: Any) -> str | dict[str, Any] | Fault:
        with self.lock:
            if path.endswith(("/responses", "/messages")):
                self.direct.append(body)
                found = self.answer(body) or Fault(500)
                return found if isinstance(found, Fault) else wire_body(path, found, body, len(self.direct))
            if path == "/v1/files":
                self.uploads += 1
                self.files[f"file_{len(self.files) + 1}"] = body
                return {"id": f"file_{len(self.files)}", "object": "file"}
            form = _Anthropic(self) if path.startswith("/v1/messages/batches") else _OpenAI(self)
            if method == "POST":
                return self._submit(form, body)
            name, _, rest = path.removeprefix(form.root).strip("/").partition("/")
            if not name:
                return {"data": [form.shown(job) for job in reversed(self.jobs.values())], "has_more": False}
            return form.results(name) if rest else self._poll(form, name)

    def _submit(self, form: _OpenAI | _Anthropic, body: Any) -> dict[str, Any] | Fault:
        fault = self.submit_faults.pop(0) if self.submit_faults else Fault(200)
        if fault is not None and fault.status != 200:
            return fault
        job = form.taken(body)
        return form.shown(job) if fault is not None else Fault(503)

    def _poll(self, form: _OpenAI | _Anthropic, name: str) -> dict[str, Any] | Fault:
        if self.poll_faults:
            return self.poll_faults.pop(0)
        job = self.jobs.get(name)
        if job is None:
            return NOT_FOUND
        job.polls += 1
        self.polled.set()
        return form.shown(job)

    def outcomes(self, job: Batch) -> list[tuple[str, dict[str, Any], Reply | Fault | None]]:
        """Last first."""
        return [(key, body, self.in_batch(body)) for key, body in reversed(job.requests.items())]


class _OpenAI:
    root = "/v1/batches"

    def __init__(self, server: BatchServer) -> None:
        self._server = server

    def taken(self, body: Any) -> Batch:
        assert body["completion_window"] == "24h"
        assert body["endpoint"] == "/v1/responses"
        given = [json.loads(line) for line in self._server.files[body["input_file_id"]].splitlines()]
        assert all(one["method"] == "POST" and one["url"] == "/v1/responses" for one in given)
        requests = {one["custom_id"]: one["body"] for one in given}
        assert len(requests) == len(given)
        return self._server.take(requests, body["metadata"]["tag"])

    def shown(self, job: Batch) -> dict[str, Any]:
        ended, ends_as, errors = job.polls >= self._server.polls, self._server.ends_as, self._server.errors
        if self._server.room is not None and len(job.requests) > self._server.room:
            full = {"code": "token_limit_exceeded", "message": "Enqueued token limit reached for m-1."}
            ends_as, errors = "failed", [full]
        shown: dict[str, Any] = {
            "id": job.id,
            "object": "batch",
            "created_at": int(job.created),
            "metadata": {"tag": job.tag},
            "status": ends_as if ended else "in_progress",
            "errors": {"data": errors} if ended and errors else None,
        }
        if ended and ends_as != "failed":
            shown |= {"output_file_id": f"out_{job.id}", "error_file_id": f"err_{job.id}"}
        return shown

    def results(self, name: str) -> str | Fault:
        raise AssertionError("OpenAI's results are files")

    def file(self, name: str) -> str | Fault:
        server = self._server
        if server.results_faults:
            return server.results_faults.pop(0)
        kind, _, job_id = name.partition("_")
        if job_id not in server.jobs:
            return NOT_FOUND
        lines = [self._line(*outcome) for outcome in server.outcomes(server.jobs[job_id])]
        wanted = [
            line
            for line in lines
            if (line["error"] or line["response"]["status_code"] != 200) == (kind == "err")
        ]
        return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in wanted)

    @staticmethod
    def _line(key: str, body: dict[str, Any], outcome: Reply | Fault | None) -> dict[str, Any]:
        line: dict[str, Any] = {"id": "r", "custom_id": key, "response": None, "error": None}
        if outcome is None:
            return line | {
                "error": {"code": "batch_expired", "message": "This request could not be executed"}
            }
        if isinstance(outcome, Fault):
            return line | {
                "response": {"status_code": outcome.status, "request_id": "q", "body": outcome.body}
            }
        answered = wire_body("/responses", outcome, body, int(key[:6], 16))
        return line | {"response": {"status_code": 200, "request_id": "q", "body": answered}}


class _Anthropic:
    root = "/v1/messages/batches"

    def __init__(self, server: BatchServer) -> None:
        self._server = server

    def taken(self, body: Any) -> Batch:
        requests = {one["custom_id"]: one["params"] for one in body["requests"]}
        assert len(requests) == len(body["requests"])
        assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", key) for key in requests)
        return self._server.take(requests, None)

    def shown(self, job: Batch) -> dict[str, Any]:
        ended = job.polls >= self._server.polls
        return {
            "id": job.id,
            "type": "message_batch",
            "created_at": datetime.fromtimestamp(job.created, UTC).isoformat(),
            "processing_status": "ended" if ended else "in_progress",
            "request_counts": {"succeeded" if ended else "processing": len(job.requests)},
            "results_url": "http://127.0.0.1:1/nobody/listens" if ended else None,
        }

    def results(self, name: str) -> str | Fault:
        server = self._server
        if server.results_faults:
            return server.results_faults.pop(0)
        if name not in server.jobs:
            return NOT_FOUND
        lines = [
            {"custom_id": key, "result": self._result(key, body, outcome)}
            for key, body, outcome in server.outcomes(server.jobs[name])
        ]
        return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)

    @staticmethod
    def _result(key: str, body: dict[str, Any], outcome: Reply | Fault | None) -> dict[str, Any]:
        if outcome is None:
            return {"type": "expired"}
        if isinstance(outcome, Fault):
            kind = "invalid_request_error" if outcome.status == 400 else "api_error"
            said = outcome.body["error"]["message"] if isinstance(outcome.body, dict) else ""
            error = {"type": kind, "message": said or f"HTTP {outcome.status}"}
            return {"type": "errored", "error": {"type": "error", "error": error}}
        return {"type": "succeeded", "message": wire_body("/messages", outcome, body, int(key[:6], 16))}


class _Handler(BaseHTTPRequestHandler):
    # HTTP/1.0, as it stands: a connection per request, so that none is left open.
    server_: BatchServer

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers["content-length"]))
        path = self.path.split("?")[0]
        self._answer(
            self.server_.respond("POST", path, _file(data) if path == "/v1/files" else json.loads(data))
        )

    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        file = re.fullmatch(r"/v1/files/(\w+)/content", path)
        if file:
            with self.server_.lock:
                self._answer(_OpenAI(self.server_).file(file[1]))
        else:
            self._answer(self.server_.respond("GET", path, None))

    def _answer(self, answer: str | dict[str, Any] | Fault) -> None:
        body = answer.body if isinstance(answer, Fault) else answer
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(answer.status if isinstance(answer, Fault) else 200)
        kind = "application/octet-stream" if isinstance(answer, str) else "application/json"
        self.send_header("content-type", kind)
        for name, value in answer.headers.items() if isinstance(answer, Fault) else ():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _file(form: bytes) -> str:
    """The file in a multipart form."""
    assert b'name="purpose"\r\n\r\nbatch\r\n' in form
    boundary = form[: form.index(b"\r\n")]
    part = next(part for part in form.split(boundary) if b'name="file"' in part)
    return part.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n").decode()
