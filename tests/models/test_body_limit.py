from __future__ import annotations

import gzip
import time
import zlib
from collections.abc import Iterator

import httpx
import pytest

from qagen_dagster.models import retry
from qagen_dagster.models.wires.sdk_client import LimitedTransport


class Played(httpx.BaseTransport):
    """Answers with one body; keeps what it was asked."""

    def __init__(self, body: bytes, encoding: str = "") -> None:
        self.body, self.encoding = body, encoding
        self.asked: list[httpx.Request] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        headers = {"Content-Encoding": self.encoding} if self.encoding else {}
        return httpx.Response(200, headers=headers, stream=_Pieces(self.body))


class _Pieces(httpx.SyncByteStream):
    def __init__(self, body: bytes) -> None:
        self.body = body

    def __iter__(self) -> Iterator[bytes]:
        return (self.body[start : start + 1000] for start in range(0, len(self.body), 1000))


def get(body: bytes, encoding: str = "", limit: int = 10_000) -> bytes:
    played = Played(body, encoding)
    with httpx.Client(transport=LimitedTransport(played, limit)) as client:
        found = client.get("http://server.test/").content
    assert played.asked[0].headers["Accept-Encoding"] == "identity"
    return found


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (b"words", ""),
        (b"words", "identity"),
        (gzip.compress(b"words"), "gzip"),
        (zlib.compress(b"words"), "deflate"),
    ],
    ids=["plain", "identity", "gzip", "deflate"],
)
def test_at_most_one_layer_is_decoded(body: bytes, encoding: str) -> None:
    assert get(body, encoding) == b"words"


@pytest.mark.parametrize(
    ("body", "encoding", "why"),
    [
        (bytes(10_001), "", "more than 10,000 bytes"),
        (gzip.compress(bytes(10_001)), "gzip", "more than 10,000 bytes"),
        (gzip.compress(gzip.compress(b"words")), "gzip, gzip", "not accepted"),
        (b"words", "br", "not accepted"),
        (b"no gzip", "gzip", "cannot be decoded"),
        (gzip.compress(b"words")[:-4], "gzip", "cut off"),
    ],
    ids=["large", "large gzip", "two layers", "unknown", "no gzip", "cut off"],
)
def test_a_body_beyond_the_limit_is_refused(body: bytes, encoding: str, why: str) -> None:
    with pytest.raises(httpx.DecodingError, match=why):
        get(body, encoding)


def test_decoding_ends_with_the_attempt() -> None:
    with retry.call_deadline(-1), retry.attempt_deadline(60):
        time.sleep(0.01)
        with pytest.raises(TimeoutError):
            get(gzip.compress(bytes(9_000)), "gzip")
