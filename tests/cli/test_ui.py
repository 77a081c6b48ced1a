from __future__ import annotations

import socket

from tests.cli.conftest import Command


def test_a_busy_port_is_one_line(qagen: Command) -> None:
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        ended = qagen("ui", "--port", str(port))
    assert ended.code == 2
    assert ended.errors == [
        f"qagen: error: port {port} cannot be used (Address already in use): choose another with --port"
    ]
