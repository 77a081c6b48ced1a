"""A model that follows a script: for tests, dry runs, and measuring the time that the engine itself takes.

A script is a function of the request, so a scripted model is deterministic and needs no ledger.
The spec's `model` chooses a named script.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from qagen_dagster.errors import ConfigError, MalformedResponseError
from qagen_dagster.models.base import ModelSpec
from qagen_dagster.models.messages import AssistantMessage, Request, Response, Stop, Usage
from qagen_dagster.models.wires.cloze import cloze

Script = Callable[[Request], AssistantMessage]

# One script under three names, because a validator and its generator must have different names.
SCRIPTS: dict[str, Script] = {"cloze": cloze, "cloze-check": cloze, "cloze-compare": cloze}

_CHARACTERS_PER_TOKEN = 4


class ScriptedProvider:
    """Answers with `script`, or with the built-in script named `spec.model`.

    Raises ConfigError for an unknown name.
    """

    def __init__(self, spec: ModelSpec, script: Script | None = None) -> None:
        if script is None and spec.model not in SCRIPTS:
            raise ConfigError(
                f"there is no script {spec.model!r}; choose one of {', '.join(SCRIPTS)}", key="model"
            )
        self._spec, self._script = spec, script or SCRIPTS[spec.model]

    @property
    def spec(self) -> ModelSpec:
        return self._spec

    def send(self, request: Request) -> dict[str, Any]:
        message = self._script(request)
        usage = Usage(
            input_tokens=len(request.system) // _CHARACTERS_PER_TOKEN + 1,
            output_tokens=sum(len(str(part)) for part in message.content) // _CHARACTERS_PER_TOKEN,
        )
        return {"message": message.model_dump(mode="json"), "usage": usage.model_dump()}

    def read(self, body: dict[str, Any]) -> Response:
        try:
            message = AssistantMessage.model_validate(body["message"])
            usage = Usage.model_validate(body["usage"])
        except (KeyError, ValidationError):
            raise MalformedResponseError("the stored body is not one of a scripted model") from None
        stop = Stop.TOOLS if message.tool_calls else Stop.END
        return Response(message=message, stop=stop, usage=usage, model=self._spec.model)
