"""A provider's SDK as the wires use it: one call gives the body, or the ModelError that the failure means.

The SDK does not retry: `models/retry.py` decides that. Nothing here knows the meaning of a body.
"""

from __future__ import annotations

import ssl
import sys
import weakref
from collections.abc import Callable
from functools import cache
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, cast

from qagen_dagster.errors import ModelError, PermanentModelError, TransientModelError
from qagen_dagster.models import body_limit, deadline
from qagen_dagster.models.base import ModelSpec
from qagen_dagster.models.wires import faults


class Closable(Protocol):
    def close(self) -> None: ...


C = TypeVar("C", bound=Closable)


class SdkErrors(NamedTuple):
    """The exception classes of one SDK."""

    status: type[Exception]  # the server answered with an error status
    timeout: type[Exception]  # a subclass of `connection`
    connection: type[Exception]
    every: type[Exception]  # the base class of all of them


class SdkClient(Generic[C]):
    """The SDK's client for one model. Raises ConfigError for an invalid base_url."""

    def __init__(
        self, spec: ModelSpec, api_key: str | None, make: Callable[..., C], url: str, errors: SdkErrors
    ) -> None:
        self._spec, self._key, self._errors = spec, api_key, errors
        self.client = make(
            api_key=api_key or "none",  # the SDK needs a value; servers without keys ignore it
            # Never from the environment: the address is part of the identity.
            base_url=faults.check_url(url if spec.base_url is None else spec.base_url),
            timeout=spec.timeout_seconds,
            max_retries=0,
            http_client=_http_client(make),
        )
        weakref.finalize(self, self.client.close)  # closes the connections with this object, not later
        body_limit.bound(self.client)

    @property
    def spec(self) -> ModelSpec:
        return self._spec

    def call(self, send: Callable[[], str]) -> dict[str, Any]:
        """Call `send`, which returns a body, once, and return the body as JSON. Raises ModelError."""
        return faults.json_body(self._spec.name, self.call_text(send), self._key)

    def call_text(self, send: Callable[[], str], *, absent: str | None = None) -> str:
        """As `call`, but return the body as text, which may contain the key; for HTTP status 404, `absent` if given."""
        failure: ModelError
        name, seconds = self._spec.name, self._spec.timeout_seconds
        try:
            with deadline.attempt(seconds) as seconds:
                return send()
        except self._errors.status as error:
            said = cast("Any", error)
            if absent is not None and said.status_code == 404:
                return absent
            body = said.body if said.body is not None else said.response.text
            failure = faults.from_status(name, said.status_code, body, dict(said.response.headers), self._key)
        except (self._errors.timeout, TimeoutError):
            failure = TransientModelError(f"{name}: no response within {round(seconds, 1):g} s")
        except self._errors.connection as error:
            cause = error.__cause__
            text = f"connection failed ({type(cause).__name__})"
            if isinstance(cause, TimeoutError):  # our deadline; an SDK may report it like this
                text = f"no response within {round(seconds, 1):g} s"
            elif type(cause).__name__ == "DecodingError":  # of the limit for bodies
                text = str(cause)
            failure = TransientModelError(self.scrub(f"{name}: {text}"))
        except self._errors.every as error:
            failure = PermanentModelError(self.scrub(f"{name}: {error}"))
        raise failure  # outside the handlers: an SDK exception holds headers and must not become its context

    def failure(self, error: object) -> ModelError:
        """The error for a body that reports `error` under status 200."""
        return faults.from_error_body(self._spec.name, error, self._key)

    def scrub(self, text: str) -> str:
        """As `faults.scrub`, without the key of this client."""
        return faults.scrub(text, self._key)


def _http_client(make: Callable[..., object]) -> object:
    """The HTTP client that the SDK of `make` would make for itself, with certificates that all clients share."""
    http_client: Any = sys.modules[make.__module__.partition(".")[0]].DefaultHttpxClient
    return http_client(verify=_certificates(sys.modules[http_client.__base__.__module__.partition(".")[0]]))


@cache
def _certificates(library: Any) -> ssl.SSLContext:
    """The certificates that an HTTP library trusts. Reading them takes 25 ms, the rest of a client less than one."""
    return library.create_ssl_context()
