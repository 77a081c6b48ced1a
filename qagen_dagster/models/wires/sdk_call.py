"""One call through a provider's SDK: its text, or the ModelError that the failure amounts to.

The SDKs name their exceptions alike; which classes those are, each client says (`openai_client.py`, `anthropic_client.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, cast

from qagen_dagster.errors import ModelError, PermanentModelError, TransientModelError
from qagen_dagster.models import deadline
from qagen_dagster.models.base import ModelSpec
from qagen_dagster.models.wires import faults


class SdkErrors(NamedTuple):
    """The exceptions of one SDK."""

    status: type[Exception]  # the server answered, but not with success
    timeout: type[Exception]  # a kind of `connection`
    connection: type[Exception]
    every: type[Exception]  # the base of all of them


def text_of(spec: ModelSpec, send: Callable[[], str], api_key: str | None, errors: SdkErrors) -> str:
    """Send once, as one attempt of `spec`, and return the body; it may hold the key. Raises ModelError."""
    failure: ModelError
    seconds = spec.timeout_seconds
    try:
        with deadline.attempt(seconds) as seconds:
            return send()
    except errors.status as error:
        said = cast("Any", error)
        body = said.body if said.body is not None else said.response.text
        failure = faults.from_status(spec.name, said.status_code, body, dict(said.response.headers), api_key)
    except (errors.timeout, TimeoutError):
        failure = TransientModelError(f"{spec.name}: no response within {round(seconds, 1):g} s")
    except errors.connection as error:
        cause = error.__cause__
        late = isinstance(
            cause, TimeoutError
        )  # our deadline, which an SDK may take for a fault of the connection
        said = (
            f"no response within {round(seconds, 1):g} s"
            if late
            else f"connection failed ({type(cause).__name__})"
        )
        failure = TransientModelError(f"{spec.name}: {said}")
    except errors.every as error:
        failure = PermanentModelError(faults.scrub(f"{spec.name}: {error}", api_key))
    raise failure  # outside the handlers, so that no SDK exception, with its headers, hangs on it
