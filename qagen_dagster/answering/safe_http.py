"""Safe HTTP requests: the address of every URL and redirect is checked, and size and total time are limited. The limits of a corpus are
its `FulltextOptions` (`records/corpus_options.py`). Callers check the type of the content.

A document can name any URL. Without the check, a document could make this machine send requests into its own network. Only public
addresses by http or https are allowed, and configured private addresses.
"""

import re
import socket
import ssl
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from types import SimpleNamespace
from urllib.parse import quote

import httpx

from qagen_dagster.models import retry
from qagen_dagster.models.wires import sdk_client

Address = IPv4Address | IPv6Address
Lookup = Callable[[str, int], Sequence[str]]

_PORTS = {"http": 80, "https": 443}
_LONGEST_URL = 4_000
_UNPRINTABLE = re.compile(r"[\x00-\x20\x7f\\]")
_NUMBER = re.compile(r"(?:0[xX][0-9a-fA-F]*|[0-9]+)")
# Special services of a network (Python counts some as public), relays to 6to4, and a cloud's wire server, whose address looks public.
_NEVER_V4 = tuple(map(IPv4Network, ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32")))
_UNICAST_V6 = IPv6Network("2000::/3")  # other IPv6 is local, reserved, multicast, mapped or translated
_TUNNELS_V6 = tuple(map(IPv6Network, ("2001::/32", "2002::/16", "3fff::/20")))  # Teredo, 6to4, examples
_ISATAP = (0x00005EFE, 0x02005EFE)  # interface identifiers that hide an IPv4 address
MAX_REDIRECTS = 8
MAX_PAGE_BYTES = 2_000_000  # maximum for a landing page or a JSON reply
_PIECE = 65_536
_HEADERS = {"User-Agent": "qagen (full text for question answering)"}
_MOVED = (301, 302, 303, 307, 308)
_WALLS = (401, 402, 403, 407, 451)


class RefusedAddressError(Exception):
    """A URL is not allowed. The message states the reason."""


@dataclass(frozen=True)
class Target:
    """An allowed URL, and the checked address to connect to."""

    url: httpx.URL
    address: str


def _system_lookup(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return [str(entry[4][0]) for entry in found]


@dataclass(frozen=True)
class AddressPolicy:
    """Checks URLs.

    Args:
        allow_private: `host:port` pairs that may have loopback or private addresses.
        lookup: returns the addresses of a host name; the default is the system's resolver.
    """

    allow_private: frozenset[str] = frozenset()
    lookup: Lookup = _system_lookup

    def target(self, url: str | httpx.URL) -> Target:
        """The URL with an address that was checked. Raises RefusedAddressError. Every address of the host must
        be allowed, not only the one that is used."""
        checked = read_url(url)
        port = checked.port or _PORTS[checked.scheme]
        named = f"{checked.host}:{port}".lower() in self.allow_private
        addresses = self._addresses(checked.host, port)
        for address in addresses:
            why = why_refused(address, private=named)
            if why:
                raise RefusedAddressError(f"{checked.host} is {address}, {why}")
        return Target(checked, str(addresses[0]))

    def _addresses(self, host: str, port: int) -> list[Address]:
        try:
            return [ip_address(host)]
        except ValueError:
            pass
        try:
            found = [ip_address(one) for one in self.lookup(host, port)]
        except (OSError, UnicodeError, ValueError):
            found = []
        if not found:
            raise RefusedAddressError(f"{host} has no address")
        return found


def read_url(url: str | httpx.URL) -> httpx.URL:
    """The parsed URL. Raises RefusedAddressError if it is not a plain http(s) address."""
    text = str(url)
    if len(text) > _LONGEST_URL or _UNPRINTABLE.search(text):
        raise RefusedAddressError("the URL is too long or holds blanks, backslashes or control characters")
    try:
        parsed = httpx.URL(text)
        host = parsed.host
    except (httpx.InvalidURL, UnicodeError, ValueError):
        raise RefusedAddressError("the URL cannot be read") from None
    if parsed.scheme not in _PORTS:
        raise RefusedAddressError(f"{parsed.scheme or 'no scheme'} is neither http nor https")
    if parsed.userinfo:
        raise RefusedAddressError("the URL carries a user name")
    if not host or "%" in host or host.strip(".") != host.rstrip("."):
        raise RefusedAddressError("the URL names no host")
    if parsed.port is not None and not 1 <= parsed.port <= 65_535:
        raise RefusedAddressError(f"there is no port {parsed.port}")
    _check_spelling(parsed.raw_host.decode("ascii", "replace"))
    return parsed


def _check_spelling(host: str) -> None:
    """Refuse a numeric host in any form other than the usual one: octal, hexadecimal, short or long."""
    if ":" in host or not _NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2]):
        return
    try:
        usual = str(IPv4Address(host)) == host
    except ValueError:
        usual = False
    if not usual:
        raise RefusedAddressError(f"{host} is an address in an unusual form")


def why_refused(address: Address, *, private: bool = False) -> str | None:
    """The reason why an address is not allowed; None if it is allowed. `private` allows loopback and private addresses, but not
    the addresses (most are link-local) at which cloud providers serve secrets."""
    if private and (address.is_loopback or _is_home(address)):
        return None
    if isinstance(address, IPv6Address):
        return _why_refused_v6(address)
    if address.is_multicast or not address.is_global or address.is_reserved:
        return "which is not public"
    return "which is not public" if any(address in net for net in _NEVER_V4) else None


def _is_home(address: Address) -> bool:
    nets = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")
    if isinstance(address, IPv4Address):
        return any(address in IPv4Network(net) for net in nets)
    return address in IPv6Network("fc00::/7") and address != IPv6Address("fd00:ec2::254")


def _why_refused_v6(address: IPv6Address) -> str | None:
    if address not in _UNICAST_V6 or not address.is_global or address.scope_id:
        return "which is not public"
    if any(address in net for net in _TUNNELS_V6):
        return "which leads into a tunnel"
    if (int(address) >> 32) & 0xFFFFFFFF in _ISATAP:
        return "which leads into a tunnel"
    return None


class Fault(StrEnum):
    """The reason why a request gave no page."""

    REFUSED = "refused"  # the address is not allowed
    NOT_FOUND = "not_found"
    LOGIN = "login"  # access is denied, or the page is a login page
    WRONG_TYPE = "wrong_type"  # the content has another type than requested
    TOO_LARGE = "too_large"
    TIMEOUT = "timeout"
    FAILED = "failed"  # no connection, a broken response or a server error
    UNREADABLE = "unreadable"  # the PDF does not open or has no text


class FetchError(Exception):
    """A request gave no page. The message states the reason in one line."""

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
        seconds: time limit of one `get` with all its redirects; all requests together have four times as long.
        max_bytes: size limit of a PDF.
        proxy_url: URL template of an institution's proxy, with `{url}`; None: no proxy.
    """

    def __init__(
        self, policy: AddressPolicy, *, seconds: float, max_bytes: int, proxy_url: str | None = None
    ) -> None:
        self._policy, self._seconds, self._max_bytes, self._proxy = policy, seconds, max_bytes, proxy_url
        self._ends = time.monotonic() + 4 * seconds
        # No connection is reused, because it may have been opened for another host name with the same address.
        transport = _CheckedTransport(policy)
        self._client = httpx.Client(
            transport=transport, trust_env=False, follow_redirects=False, headers=_HEADERS
        )
        # `_read` reaches its limit first, since it knows the kind of request; the client's own limit is slightly higher.
        most = max(max_bytes, MAX_PAGE_BYTES) + 4 * _PIECE
        sdk_client.limit_bodies(SimpleNamespace(_client=self._client), most)

    def close(self) -> None:
        self._client.close()

    def get(self, url: str, *, pdf: bool = False) -> Page:
        """The page at `url`. With `pdf`, its size limit is `max_bytes`, else MAX_PAGE_BYTES. Raises FetchError."""
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
        """The URL to request: the proxy's URL for `url`, or `url` itself if there is no proxy or it is already on the proxy."""
        if self._proxy is None:
            return url
        own = httpx.URL(self._proxy.replace("{url}", "")).netloc
        return url if httpx.URL(url).netloc == own else self._proxy.replace("{url}", quote(url, safe=""))

    def _follow(self, url: str, limit: int, seconds: float) -> Page:
        for _ in range(MAX_REDIRECTS + 1):
            target = self._policy.target(url)  # check first: the client supports only http and https
            with self._client.stream("GET", target.url, timeout=seconds) as response:
                where = response.headers.get("location")
                if response.status_code not in _MOVED or not where:
                    return _read(response, limit)
                url = str(response.url.join(where))
        raise FetchError(Fault.FAILED, f"more than {MAX_REDIRECTS} redirects")


def _read(response: httpx.Response, limit: int) -> Page:
    status = response.status_code
    if status in (404, 410):
        raise FetchError(Fault.NOT_FOUND, f"status {status}")
    if status in _WALLS:
        raise FetchError(Fault.LOGIN, f"status {status}")
    if status >= 300 or status == 204:
        raise FetchError(Fault.FAILED, f"status {status}")
    stated = response.headers.get("content-length", "")
    if stated.isdecimal() and int(stated[:20]) > limit:
        raise FetchError(Fault.TOO_LARGE, f"{int(stated[:20]):,} bytes; the limit is {limit:,}")
    body = bytearray()
    for piece in response.iter_bytes(_PIECE):
        body += piece
        if len(body) > limit:
            raise FetchError(Fault.TOO_LARGE, f"more than {limit:,} bytes")
    media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return Page(str(response.url), media_type, bytes(body))


@cache
def _certificates() -> ssl.SSLContext:
    """What clients trust. Reading it takes 25 ms, more than the rest of a client."""
    return httpx.create_ssl_context(trust_env=False)


class _CheckedTransport(httpx.HTTPTransport):
    """Connects to the checked address, even if the host name now resolves to another address."""

    def __init__(self, policy: AddressPolicy) -> None:
        super().__init__(
            verify=_certificates(),
            trust_env=False,
            limits=httpx.Limits(max_keepalive_connections=0),
            retries=0,
        )
        self._policy = policy

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        target = self._policy.target(request.url)
        request.extensions = {**request.extensions, "sni_hostname": target.url.host}
        request.url = request.url.copy_with(host=target.address)  # the Host header keeps the name
        try:
            return super().handle_request(request)
        finally:
            request.url = target.url
