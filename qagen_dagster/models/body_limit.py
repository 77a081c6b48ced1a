"""How large a response body may become, whatever its server declares or compresses.

A compressed body of a few hundred bytes can decode to gigabytes, and several encodings multiply. So clients ask for
bodies without encoding, accept one layer of gzip or deflate at most, and decode it in pieces up to a limit.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator
from functools import cache
from typing import Any

import httpx

from qagen_dagster.models import deadline

MAX_BYTES = 256_000_000  # of a model's response, an embedding response or a batch file
_PIECE = 65_536  # decoded bytes between two looks at the clock
_ZLIB_OR_GZIP = zlib.MAX_WBITS | 32


def bound(client: object, limit: int = MAX_BYTES) -> None:
    """Make an SDK's `client` keep to the deadline of its attempt and to `limit` bytes of a body.

    The SDKs have no public place for this that keeps the proxies of the environment.
    """
    deadline.bound(client)
    http: Any = getattr(client, "_client", None)
    if http is not None:
        http._transport = LimitedTransport(http._transport, limit)
        http._mounts = {key: one and LimitedTransport(one, limit) for key, one in http._mounts.items()}


class LimitedTransport(httpx.BaseTransport):
    """Another transport whose response bodies stay below `limit` bytes after decoding.

    Reading a body raises the HTTP library's DecodingError beyond the limit and for encodings that are not accepted, and
    TimeoutError when the attempt ends. The SDKs bring HTTP libraries of their own with the classes of httpx, so every
    class is taken from the library of the response.
    """

    def __init__(self, inner: Any, limit: int) -> None:
        self._inner, self._limit = inner, limit

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.headers["Accept-Encoding"] = "identity"
        response = self._inner.handle_request(request)
        library: Any = sys.modules[type(response).__module__.partition(".")[0]]
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            response.close()
            raise library.DecodingError(f"the body is encoded as {encoding[:60]!r}, which is not accepted")
        packed = encoding not in ("", "identity")
        for name in ("content-encoding", *(("content-length",) if packed else ())):
            response.headers.pop(name, None)
        kind = _stream_of(library.SyncByteStream)
        response.stream = kind(response.stream, self._limit, packed, library.DecodingError)
        return response

    def close(self) -> None:
        self._inner.close()


class _LimitedStream:
    """A body as its client reads it: decoded, and within the limit and the deadline."""

    def __init__(self, stream: Any, limit: int, packed: bool, error: type[Exception]) -> None:
        self._stream, self._limit, self._packed, self._error = stream, limit, packed, error

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for piece in self._decoded() if self._packed else self._stream:
            deadline.check()
            size += len(piece)
            if size > self._limit:
                raise self._error(f"the body has more than {self._limit:,} bytes")
            yield piece

    def close(self) -> None:
        self._stream.close()

    def _decoded(self) -> Iterator[bytes]:
        decoder = zlib.decompressobj(_ZLIB_OR_GZIP)
        try:
            for data in self._stream:
                while data and not decoder.eof:
                    yield decoder.decompress(data, _PIECE)
                    data = decoder.unconsumed_tail
        except zlib.error as error:
            raise self._error(f"the body cannot be decoded: {error}") from None
        if not decoder.eof:
            raise self._error("the encoded body is cut off")


@cache
def _stream_of(base: type) -> type[_LimitedStream]:
    """The stream as a class of the HTTP library that reads it."""
    return type("LimitedStream", (_LimitedStream, base), {})
