"""A model that follows a script: for tests, and for measuring the time that the engine itself takes.

A script is a function of the request, so a scripted model is deterministic and needs no ledger. The spec's `model` names
a script of the module that `QAGEN_SCRIPTS` names.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from pydantic import ValidationError

from qagen_dagster.errors import ConfigError, MalformedResponseError
from qagen_dagster.models.messages import AssistantMessage, Request, Response, Stop, Usage
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.settings import scripts

Script = Callable[[Request], AssistantMessage]
Count = Callable[[Request, AssistantMessage], Usage]

_CHARACTERS_PER_TOKEN = 4  # about as many as in English text


def _usage(request: Request, message: AssistantMessage) -> Usage:
    return Usage(
        input_tokens=len(request.system) // _CHARACTERS_PER_TOKEN + 1,
        output_tokens=sum(len(str(part)) for part in message.content) // _CHARACTERS_PER_TOKEN,
    )


class ScriptedProvider:
    """Answers with `script`, or with the script named `spec.model`. Raises ConfigError for an unknown name."""

    def __init__(self, spec: ModelSpec, script: Script | None = None, count: Count = _usage) -> None:
        self._spec, self._script, self._count = spec, script or _named(spec.model), count
        self._shown = spec.model  # the name of the model in responses

    @property
    def spec(self) -> ModelSpec:
        return self._spec

    def send(self, request: Request) -> dict[str, Any]:
        message = self._script(request)
        usage = self._count(request, message)
        return {"message": message.model_dump(mode="json"), "usage": usage.model_dump()}

    def read(self, body: dict[str, Any]) -> Response:
        try:
            message = AssistantMessage.model_validate(body["message"])
            usage = Usage.model_validate(body["usage"])
        except (KeyError, ValidationError):
            raise MalformedResponseError(
                "the stored body is not one of a scripted or embedded model"
            ) from None
        stop = Stop.TOOLS if message.tool_calls else Stop.END
        return Response(message=message, stop=stop, usage=usage, model=self._shown)


def _named(name: str) -> Script:
    module = scripts()
    known: Mapping[str, Script] = {} if module is None else import_module(module).SCRIPTS
    if name not in known:
        raise ConfigError(
            f"there is no script {name!r}; choose one of {', '.join(known) or 'none'}", key="model"
        )
    return known[name]
