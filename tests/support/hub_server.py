"""A dataset repository of the Hugging Face Hub on loopback, as far as `huggingface_hub` needs it for a commit."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.support.loopback import LoopbackServer


class HubServer:
    """`files` is the content of the repository. `commits` has the paths that each commit changed."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.commits: list[list[str]] = []
        self.private: bool | None = None
        self._http = LoopbackServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": self}))
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> HubServer:
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def answer(self, path: str, body: bytes) -> dict[str, Any]:
        name = path.rpartition("/api/")[2]
        if name == "repos/create":
            self.private = json.loads(body)["visibility"] == "private"
            return {"url": f"{self.url}/datasets/ida/water"}
        if name == "validate-yaml":
            assert json.loads(body)["content"].startswith("---\n")
            return {"warnings": []}
        if "/preupload/" in name:
            paths = [one["path"] for one in json.loads(body)["files"]]
            return {"files": [self._known(one) for one in paths]}
        if "/commit/" in name:
            lines = [json.loads(line) for line in body.splitlines()]
            changed = {one["value"]["path"]: one["value"]["content"] for one in lines if one["key"] == "file"}
            self.files |= {key: base64.b64decode(value) for key, value in changed.items()}
            self.commits.append(sorted(changed))
            return {
                "commitUrl": f"{self.url}/datasets/ida/water/commit/{self._head}",
                "commitOid": self._head,
            }
        return {"id": "ida/water", "sha": self._head}

    @property
    def _head(self) -> str:
        return f"{len(self.commits):040x}"

    def _known(self, path: str) -> dict[str, Any]:
        data = self.files.get(path)
        oid = None if data is None else hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
        return {"path": path, "uploadMode": "regular", "shouldIgnore": False, "oid": oid}


class _Handler(BaseHTTPRequestHandler):
    hub: HubServer

    def _reply(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        data = json.dumps(self.hub.answer(self.path.partition("?")[0], body)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = _reply

    def log_message(self, format: str, *args: object) -> None:
        pass
