"""The HTTP server of tests on loopback: one thread per request, and silent when a client hangs up."""

from __future__ import annotations

import sys
from http.server import ThreadingHTTPServer
from typing import Any


class LoopbackServer(ThreadingHTTPServer):
    """Prints no traceback for a connection that the client has closed.

    To print one, Python parses source lines. Python 3.11 keeps the depth of its syntax trees per process, not per
    thread: when the main thread parses at that moment, which pytest does to show a failed test, it ends with
    "SystemError: AST constructor recursion depth mismatch".
    """

    daemon_threads = True
    request_queue_size = 128  # connections that wait for this process; with 5, a busy machine refuses some

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)
