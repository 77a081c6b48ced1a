"""A tool is a typed function; its signature and docstring are its schema.

The docstring of a tool is written for the models that read it.
"""

import inspect
import re
import typing
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError, create_model

from qagen_dagster.errors import ToolError
from qagen_dagster.models.messages import Content, Text, ToolSpec
from qagen_dagster.models.structured_output import fitted

ToolReturn = str | tuple[Content, ...]
NOT_RUN = "{name} was not run: "
_NOT_ACCEPTED = "{name} was not accepted: "
_OF_FORM = re.compile(r"missing|_type$|_parsing$|_forbidden$|from_float$|none_required|union_tag")
_INTERFACES: dict[CodeType, tuple[ToolSpec, type[BaseModel]]] = {}


@dataclass(frozen=True)
class Tool:
    """A tool bound to the data that it reads: the schema that the model sees, and the function `run`, which takes validated keyword
    arguments and returns text, or text and pictures. `run` raises ToolError with text that the model can act on. Any other exception is a
    programming error and propagates."""

    spec: ToolSpec
    arguments: type[BaseModel]
    run: Callable[..., ToolReturn]

    def call(self, arguments: dict[str, Any]) -> tuple[Content, ...]:
        """Validate `arguments` and run the tool. Raises ToolError if the arguments do not fit or the tool fails."""
        try:
            valid = fitted(self.arguments, self._without_nulls(arguments))
        except ValidationError as error:
            raise ToolError(explain(error, self.spec.name)) from None
        result = self.run(**{name: getattr(valid, name) for name in type(valid).model_fields})
        return (Text(text=result),) if isinstance(result, str) else result

    def _without_nulls(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Drop nulls of parameters that have a default, because models write null for an argument that they leave out."""
        fields = self.arguments.model_fields
        return {
            name: value
            for name, value in arguments.items()
            if value is not None or name not in fields or fields[name].is_required()
        }


def tool(function: FunctionType) -> Tool:
    """Make a tool from a function with annotated parameters (with Field descriptions) and a docstring. The
    interface is derived once per function in the source, for any number of documents."""
    code = function.__code__
    spec, arguments = _INTERFACES.get(code) or _INTERFACES.setdefault(code, _interface(function))
    return Tool(spec, arguments, function)


def _interface(function: FunctionType) -> tuple[ToolSpec, type[BaseModel]]:
    hints = typing.get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        fields[name] = (hints[name], default)
    arguments = create_model(
        f"{function.__name__}_arguments", __config__=ConfigDict(extra="forbid"), **fields
    )
    description = inspect.cleandoc(function.__doc__ or "")
    spec = ToolSpec(name=function.__name__, description=description, parameters=schema_of(arguments))
    return spec, arguments


def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of `model` without titles and references. It is smaller than the schema with these, and every wire accepts it."""
    schema = model.model_json_schema()
    definitions = schema.pop("$defs", {})
    return cast("dict[str, Any]", _inline(schema, definitions, is_schema=True))


def _inline(node: JsonValue, definitions: dict[str, JsonValue], *, is_schema: bool) -> JsonValue:
    """Resolve `$ref`s and drop `title`s; a property with the name "title" is kept."""
    if isinstance(node, list):
        return [_inline(item, definitions, is_schema=is_schema) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        target = cast("dict[str, JsonValue]", definitions[str(node["$ref"]).rsplit("/", 1)[1]])
        return _inline(
            {**target, **{k: v for k, v in node.items() if k != "$ref"}}, definitions, is_schema=True
        )
    kept = {
        key: value
        for key, value in node.items()
        if not (is_schema and key == "title" and isinstance(value, str))
    }
    return {key: _inline(value, definitions, is_schema=key != "properties") for key, value in kept.items()}


def explain(error: ValidationError, name: str) -> str:
    """A line that tells the model which arguments do not fit. The line distinguishes arguments of a wrong form
    from arguments of the right form whose values are not allowed; see `is_misfit`. An empty value counts as one that is missing."""
    found = error.errors()
    faults = "; ".join(
        f"{'.'.join(str(part) for part in fault['loc']) or 'arguments'}: {fault['msg']}"
        for fault in found[:5]
    )
    misfit = any(_OF_FORM.search(one["type"]) or one["input"] in ("", [], (), {}) for one in found)
    beginning = NOT_RUN if misfit else _NOT_ACCEPTED
    return f"{beginning.format(name=name)}{faults}. Correct the arguments and call it again."


def is_misfit(text: str, name: str) -> bool:
    """Whether `text` is what `explain` returned for arguments that do not have the form of the tool."""
    return text.startswith(NOT_RUN.format(name=name))
