"""Opens a port of this machine that no other machine can reach."""

from __future__ import annotations

import socket

from qagen_dagster.errors import ConfigError

HOST = "127.0.0.1"


def listen(port: int) -> socket.socket:
    """A socket bound to the port. Raises ConfigError when the port is in use."""
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((HOST, port))
    except OSError as error:
        bound.close()
        raise ConfigError(
            f"port {port} cannot be used ({error.strerror}): choose another with --port"
        ) from None
    return bound
