"""The SDK of a provider, wrapped for the wires: a call returns a body, or raises the ModelError for a failure.

This module limits the size of a body, and reads a body into the shape that a wire expects. The errors for statuses and
bodies are in `server_errors.py`, retries are in `models/retry.py`, and the wires interpret bodies.

A compressed body of a few hundred bytes can decode to gigabytes, and several encodings multiply. So clients ask for
bodies without encoding, accept one layer of gzip or deflate at most, and decode it in pieces up to a limit.
"""

import json
import re
import ssl
import sys
import time
import weakref
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, cast
from urllib.parse import urlsplit

import httpx
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from qagen_dagster.errors import (
    ConfigError,
    MalformedResponseError,
    ModelError,
    PermanentModelError,
    TransientModelError,
    UnreachableError,
)
from qagen_dagster.models import retry, structured_output
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.models.wires.server_errors import failure_in, from_error_body, from_status, scrub
from qagen_dagster.settings import is_loopback, network_faults, outside_ascii

_SHORTEST_IN_BODY = 16  # characters; a shorter key stays in bodies, because it may be an ordinary word
_MOST_TOKENS = 100_000_000  # a larger count cannot be right: no model reads or writes more in one call


def json_body(name: str, text: str, secret: str | None = None) -> dict[str, Any]:
    """The body of an answer with status 200, without `secret`. Raises TransientModelError when the body is not a JSON
    object, for example because it is the page of a proxy or was cut off."""
    if secret and len(secret) >= _SHORTEST_IN_BODY:
        text = text.replace(secret, "[key]")
    try:  # a NaN in an unused field is no reason to fail
        body = structured_output.loads(text, nan_is_null=True)
    except ValueError:
        said = f"not JSON: {text[:120]!r}" if text.strip() else "the body is empty"
        raise TransientModelError(scrub(f"{name}: {said}", secret)) from None
    if not isinstance(body, dict):
        raise TransientModelError(scrub(f"{name}: not a JSON object: {text[:120]!r}", secret))
    return cast("dict[str, Any]", body)


class Shape(BaseModel):
    """The part of a body that we read; anything else that the server sends is ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Created(Shape):
    """An object that the server has created."""

    id: str = Field(min_length=1)


S = TypeVar("S", bound=Shape)


def shaped(shape: type[S], body: object) -> S:
    """`body` as `shape`. Raises MalformedResponseError naming the first part that does not fit."""
    try:
        return shape.model_validate(body)
    except ValidationError as error:
        fault = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(str(step) for step in fault["loc"]) or "body"
        raise MalformedResponseError(scrub(f"the response is malformed at {place}: {fault['msg']}")) from None


def count(body: object, *path: str) -> int:
    """The token count at `path` in `body`, or 0 if the count is missing or impossible for one call."""
    value: object = body
    for step in path:
        value = cast("dict[str, Any]", value).get(step) if isinstance(value, dict) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0
    return int(value) if 0 < value < _MOST_TOKENS else 0


def check_url(url: str) -> str:
    """`url`, if a client can use it. Raises ConfigError."""
    try:
        whole = re.match(r"https?://[^\s/]", url) and urlsplit(url).port != 0
    except ValueError:  # half of an IPv6 address, or a port above 65,535
        whole = False
    if not whole:
        raise ConfigError(f"{url!r} is not an http:// or https:// address", key="base_url")
    return url


def check_network(url: str) -> None:
    """Raises ConfigError, which names the variable, if proxies or certificates of the environment cannot be used for `url`."""
    for variable, fault in network_faults(url=url):
        raise ConfigError(fault, key=variable)


_MOST_CONNECTIONS = 1000  # of one client, as in the SDKs
MAX_BYTES = 256_000_000  # the largest response of a model or an embedder, and the largest batch file
_PIECE = 65_536  # decoded bytes between two checks of the clock
_ZLIB_OR_GZIP = zlib.MAX_WBITS | 32


def limit_bodies(client: object, limit: int = MAX_BYTES) -> None:
    """Make an SDK's `client` stop at the deadline of its attempt, and refuse bodies of more than `limit` bytes.

    This uses private attributes: the public option for a transport would ignore the proxies of the environment.
    """
    retry.stop_at_deadline(client)
    http: Any = getattr(client, "_client", None)
    if http is not None:
        http._transport = LimitedTransport(http._transport, limit)
        http._mounts = {key: inner and LimitedTransport(inner, limit) for key, inner in http._mounts.items()}


class LimitedTransport(httpx.BaseTransport):
    """Another transport whose response bodies have at most `limit` bytes after decoding.

    An encoding that is not accepted raises the HTTP library's DecodingError, and so does reading beyond the limit. Reading
    raises TimeoutError when the attempt ends. SDKs may bundle a copy of httpx, so classes come from the response's library.
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
    """The decoded body of a response. Reading it raises beyond the limit and after the deadline."""

    def __init__(self, stream: Any, limit: int, packed: bool, error: type[Exception]) -> None:
        self._stream, self._limit, self._packed, self._error = stream, limit, packed, error

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for piece in self._decoded() if self._packed else self._stream:
            retry.check_deadline()
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
    """A class of streams that the HTTP library of `base` accepts."""
    return type("LimitedStream", (_LimitedStream, base), {})


class Closable(Protocol):
    def close(self) -> None: ...


C = TypeVar("C", bound=Closable)
# For this process, by address: the servers that have answered, and the time of the first failed connection to each other server.
_ANSWERED: set[str] = set()
_FAILED: dict[str, float] = {}


class SdkErrors(NamedTuple):
    """The exception classes of one SDK."""

    status: type[Exception]  # the server answered with an error status
    timeout: type[Exception]  # a subclass of `connection`
    connection: type[Exception]
    every: type[Exception]  # the base class of all of them


class SdkClient(Generic[C]):
    """The SDK's client for one model. Raises ConfigError for an invalid base_url, proxy or file of certificates."""

    def __init__(
        self, spec: ModelSpec, api_key: str | None, make: Callable[..., C], url: str, errors: SdkErrors
    ) -> None:
        self._spec, self._key, self._errors = spec, api_key, errors
        self._address = address = check_url(url if spec.base_url is None else spec.base_url)
        check_network(address)
        self.client = make(
            api_key=api_key or "none",  # the SDK needs a value; servers without keys ignore it
            # The SDK must not take the address from the environment, because it is part of the model's identity.
            base_url=address,
            timeout=spec.timeout_seconds,
            max_retries=0,
            http_client=_http_client(make, address),
        )
        weakref.finalize(self, self.client.close)  # closes the connections with this object, not later
        limit_bodies(self.client)

    @property
    def spec(self) -> ModelSpec:
        return self._spec

    def call(self, send: Callable[[], str], *, absent: Callable[[str], str] | None = None) -> dict[str, Any]:
        """Call `send`, which returns a body, once, and return the body as JSON. Raises ModelError.

        If `absent` is given, HTTP status 404 is no error: `absent` makes the body from the server's text.
        """
        return json_body(self._spec.name, self.call_text(send, absent=absent), self._key)

    def call_text(self, send: Callable[[], str], *, absent: Callable[[str], str] | None = None) -> str:
        """As `call`, but returns the body as text, which may contain the key."""
        failure: ModelError
        name, seconds = self._spec.name, self._spec.timeout_seconds
        try:
            with retry.attempt_deadline(seconds) as seconds:
                text = send()
            _ANSWERED.add(self._address)
            return text
        except self._errors.status as error:
            refusal = cast("Any", error)
            _ANSWERED.add(self._address)
            if absent is not None and refusal.status_code == 404:
                return absent(refusal.response.text)
            body, headers = refusal.body, dict(refusal.response.headers)
            body = body if body is not None else refusal.response.text
            failure = from_status(name, refusal.status_code, body, headers, self._key)
        except (self._errors.connection, TimeoutError) as error:
            failure = self._unanswered(error, seconds)
        except UnicodeEncodeError:  # in a header, because SDKs make some headers from environment variables
            variables = outside_ascii(f"{self._errors.every.__module__.partition('.')[0].upper()}_")
            fault = "a header has characters outside ASCII: correct or unset"
            failure = PermanentModelError(f"{name}: {fault} {' and '.join(variables) or 'it'}")
        except self._errors.every as error:
            failure = PermanentModelError(self.scrub(f"{name}: {error}"))
        raise failure  # outside the handlers: an SDK exception holds headers and must not become its context

    def _unanswered(self, error: Exception, seconds: float) -> TransientModelError:
        """The failure of a call without an answer. The text names the server."""
        cause = error.__cause__
        kind, place = type(cause).__name__, _bare(self._address)
        text = f"{place}: connection failed ({kind})"
        if kind in ("ConnectError", "ConnectTimeout") and "CERTIFICATE_VERIFY_FAILED" in str(cause):
            text = (
                f"{place}: its certificate is not trusted (SSL_CERT_FILE names a file of further authorities)"
            )
        elif kind in ("ConnectError", "ConnectTimeout") and self._address not in _ANSWERED:
            since = _FAILED.setdefault(self._address, time.monotonic())
            return UnreachableError(self.scrub(f"{self._spec.name}: {text}"), since=since)
        elif kind == "DecodingError":  # of the limit for bodies
            text = str(cause)
        elif isinstance(error, (TimeoutError, self._errors.timeout)) or isinstance(cause, TimeoutError):
            text = f"no response within {round(seconds, 1):g} s"  # our deadline, which an SDK may report as its own
        return TransientModelError(self.scrub(f"{self._spec.name}: {text}"))

    def failure(self, error: object) -> ModelError:
        """The error for a body that reports `error` under status 200."""
        return from_error_body(self._spec.name, error, self._key)

    def finished(self, body: dict[str, Any]) -> dict[str, Any]:
        """`body`. Raises ModelError if it reports a failure, see `failure_in`."""
        failure = failure_in(self._spec.name, body, self._key)
        if failure is not None:
            raise failure
        return body

    def checked(self, shape: type[S], body: dict[str, Any]) -> S:
        """As `shaped`, but the error quotes the body, because servers report failures in forms of their own. Also raises
        MalformedResponseError for a stored body of an older version that reports a failure."""
        failure = failure_in(self._spec.name, body, self._key)
        if failure is not None:
            raise MalformedResponseError(str(failure))
        try:
            return shaped(shape, body)
        except MalformedResponseError as error:
            sent = {key: value for key, value in body.items() if value and key != "usage"}
            fault = f"{error}; the server sent {json.dumps(sent, ensure_ascii=False)}"
        raise MalformedResponseError(self.scrub(fault))

    def scrub(self, text: str) -> str:
        """`text` as the function `scrub` returns it, without the key of this client."""
        return scrub(text, self._key)


def _bare(address: str) -> str:
    """An address without the name and the password of a user."""
    return re.sub(r"(?<=//)[^/@]*@", "", address)


def expected(shape: type[S], body: dict[str, Any]) -> S:
    """`body` as `shape`. Raises TransientModelError for another shape, because the server wrote the body, not the model."""
    try:
        return shaped(shape, body)
    except MalformedResponseError as error:
        failure = TransientModelError(str(error))
    raise failure


def result_lines(shape: type[S], name: str, text: str, secret: str | None) -> list[S]:
    """The lines of a file of results. An unreadable line is skipped, so its request has no result. Raises
    TransientModelError if there are lines and all are unreadable, because the file is then the wrong one."""
    found: list[S] = []
    failure: TransientModelError | None = None
    for line in text.split("\n"):  # not splitlines(): JSON may contain other line separators
        if line.strip():
            try:
                found.append(expected(shape, json_body(name, line, secret)))
            except TransientModelError as error:
                failure = error
    if failure is not None and not found:
        raise failure
    return found


def _http_client(make: Callable[..., object], address: str) -> object:
    """The HTTP client that the SDK of `make` makes by default, but with certificates that all clients share.
    For a server on this machine, the client reads no environment variable, and trusts no certificate if the address is without TLS."""
    http_client: Any = sys.modules[make.__module__.partition(".")[0]].DefaultHttpxClient
    library: Any = sys.modules[http_client.__base__.__module__.partition(".")[0]]
    if not is_loopback(address):
        return http_client(verify=_certificates(library))
    trusted = _certificates(library) if address.startswith("https:") else _nothing_trusted()
    limits = library.Limits(max_connections=_MOST_CONNECTIONS)
    transport = library.HTTPTransport(verify=trusted, trust_env=False, limits=limits)
    return http_client(transport=transport, trust_env=False)


@cache
def _nothing_trusted() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@cache
def _certificates(library: Any) -> ssl.SSLContext:
    """The certificates that an HTTP library trusts. Reading them takes 25 ms, and making the rest of a client takes less than 1 ms."""
    return library.create_ssl_context()
