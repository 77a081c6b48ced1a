"""Makes safe HTTP requests: the address of every redirect is checked, and size, type and total time are limited."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from types import SimpleNamespace
from urllib.parse import quote

import httpx

from qagen_dagster.answering.fulltext.addresses import AddressPolicy, RefusedAddressError
from qagen_dagster.models import retry
from qagen_dagster.models.wires import sdk_client

MAX_REDIRECTS = 8
MAX_PAGE_BYTES = 2_000_000  # in a landing page or a JSON reply
_PIECE = 65_536
_HEADERS = {"User-Agent": "qagen (full text for question answering)"}
_MOVED = (301, 302, 303, 307, 308)
_WALLS = (401, 402, 403, 407, 451)
_ANY_TYPE = ("", "application/octet-stream", "binary/octet-stream", "application/download")


class Fault(StrEnum):
    """Why a request gave nothing."""

    REFUSED = "refused"  # the address is not allowed
    NOT_FOUND = "not_found"
    LOGIN = "login"  # access is denied, or the page is a login page
    WRONG_TYPE = "wrong_type"  # the content has another type than requested
    TOO_LARGE = "too_large"
    TIMEOUT = "timeout"
    FAILED = "failed"  # no connection, a broken response or a server error
    UNREADABLE = "unreadable"  # the PDF does not open or has no text


class FetchError(Exception):
    """A request gave nothing; the message says why, in one line."""

    def __init__(self, fault: Fault, detail: str) -> None:
        self.fault, self.detail = fault, detail
        super().__init__(f"{fault.value}: {detail}")


@dataclass(frozen=True)
class Page:
    """A response. `url` is its address after redirects."""

    url: str
    media_type: str
    body: bytes = field(repr=False)

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")

    @property
    def is_pdf(self) -> bool:
        return b"%PDF-" in self.body[:1024]


class Web:
    """An HTTP client for one document; close it after use.

    Args:
        policy: decides which addresses are allowed.
        seconds: time limit of one `get` with all its redirects.
        max_bytes: size limit of a PDF.
        proxy_url: URL template of an institution's proxy, with `{url}`; None: no proxy.
    """

    def __init__(
        self, policy: AddressPolicy, *, seconds: float, max_bytes: int, proxy_url: str | None = None
    ) -> None:
        self._policy, self._seconds, self._max_bytes, self._proxy = policy, seconds, max_bytes, proxy_url
        self._ends = time.monotonic() + 4 * seconds
        # No connection is reused: one to the same address may have been opened for another host name.
        transport = _CheckedTransport(policy)
        self._client = httpx.Client(
            transport=transport, trust_env=False, follow_redirects=False, headers=_HEADERS
        )
        # `_read` counts first, since it knows what was asked for; the client's own limit is a little higher.
        most = max(max_bytes, MAX_PAGE_BYTES) + 4 * _PIECE
        sdk_client.limit_bodies(SimpleNamespace(_client=self._client), most)

    def close(self) -> None:
        self._client.close()

    def get(self, url: str, *, pdf: bool = False) -> Page:
        """The page at `url`, or the PDF. Raises FetchError."""
        seconds = min(self._seconds, self._ends - time.monotonic())
        if seconds <= 0:
            raise FetchError(Fault.TIMEOUT, "no time is left for this document")
        try:
            with retry.attempt_deadline(seconds):
                return self._follow(self._way_to(url), self._max_bytes if pdf else MAX_PAGE_BYTES, seconds)
        except RefusedAddressError as error:
            raise FetchError(Fault.REFUSED, str(error)) from None
        except (TimeoutError, httpx.TimeoutException):
            raise FetchError(Fault.TIMEOUT, f"not done within {seconds:.1f} seconds") from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.CookieConflict, OSError) as error:
            detail = " ".join(str(error).split())[:200]
            raise FetchError(Fault.FAILED, detail or type(error).__name__) from None

    def _way_to(self, url: str) -> str:
        """The URL to request: through the proxy, unless it is on the proxy already."""
        if self._proxy is None:
            return url
        own = httpx.URL(self._proxy.replace("{url}", "")).netloc
        return url if httpx.URL(url).netloc == own else self._proxy.replace("{url}", quote(url, safe=""))

    def _follow(self, url: str, limit: int, seconds: float) -> Page:
        for _ in range(MAX_REDIRECTS + 1):
            with self._asked(url, seconds) as response:
                where = response.headers.get("location")
                if response.status_code not in _MOVED or not where:
                    return _read(response, limit)
                url = str(response.url.join(where))
        raise FetchError(Fault.FAILED, f"more than {MAX_REDIRECTS} redirects")

    @contextmanager
    def _asked(self, url: str, seconds: float) -> Generator[httpx.Response]:
        target = self._policy.target(url)  # check first: the client supports only http and https
        with self._client.stream("GET", target.url, timeout=seconds) as response:
            yield response


def _read(response: httpx.Response, limit: int) -> Page:
    status = response.status_code
    if status in (404, 410):
        raise FetchError(Fault.NOT_FOUND, f"status {status}")
    if status in _WALLS:
        raise FetchError(Fault.LOGIN, f"status {status}")
    if status >= 300 or status == 204:
        raise FetchError(Fault.FAILED, f"status {status}")
    said = response.headers.get("content-length", "")
    if said.isdecimal() and int(said[:20]) > limit:
        raise FetchError(Fault.TOO_LARGE, f"{int(said[:20]):,} bytes; the limit is {limit:,}")
    body = bytearray()
    for piece in response.iter_bytes(_PIECE):
        body += piece
        if len(body) > limit:
            raise FetchError(Fault.TOO_LARGE, f"more than {limit:,} bytes")
    media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return Page(str(response.url), media_type, bytes(body))


class _CheckedTransport(httpx.HTTPTransport):
    """Connects to the checked address, even if the host name resolves to another one by now."""

    def __init__(self, policy: AddressPolicy) -> None:
        super().__init__(trust_env=False, limits=httpx.Limits(max_keepalive_connections=0), retries=0)
        self._policy = policy

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        target = self._policy.target(request.url)
        request.extensions = {**request.extensions, "sni_hostname": target.url.host}
        request.url = request.url.copy_with(host=target.address)  # the Host header keeps the name
        try:
            return super().handle_request(request)
        finally:
            request.url = target.url
