"""Reads JSON that a model wrote, and asks a model for one record.

JSON is read despite code fences, prose around it, trailing commas and lone surrogates. `ask_for` is for roles with a single
turn: one request and, if the reply does not fit, one correction. Wires enforce schemas, and callers interpret the records.
"""

import ast
import copy
import json
import re
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, TypeVar, cast

from pydantic import BaseModel, ValidationError

from qagen_dagster.models.base import Model
from qagen_dagster.models.messages import Message, Request, Response, Stop, Text, UserMessage
from qagen_dagster.records.base import Record


def loads(text: str, *, nan_is_null: bool = False) -> Any:
    """`json.loads` for untrusted text. Control characters inside strings are accepted. NaN and infinities are refused,
    or read as null. Half a surrogate pair, which no UTF-8 file can store, becomes U+FFFD. Raises ValueError, including
    for nesting that is too deep for the parser."""
    try:
        value = json.loads(text, strict=False, parse_constant=(lambda _: None) if nan_is_null else _refuse)
        return _whole(value) if "\\u" in text else value
    except RecursionError:
        raise ValueError("nested too deeply") from None


def read_object(text: str) -> dict[str, Any]:
    """The first JSON object with content in a reply, or {} if only empty objects can be read. There may be text around the object,
    and strings may have single quotes. Raises ValueError with a text for the model if no object can be read."""
    fault, empty = "there is no JSON object in the reply", None
    for piece, closed in _objects(text):
        if not closed:
            fault = "the JSON object is cut off before its last }"
            break
        try:
            value = loads(_without_trailing_commas(piece))
        except ValueError as error:
            fault = f"the JSON object cannot be read: {error}"
            value = _literal(piece)
        if isinstance(value, dict):
            found = cast("dict[str, Any]", value)
            if found:
                return found
            empty = found
    if empty is not None:
        return empty
    raise ValueError(fault)


def read_arguments(raw: object) -> tuple[dict[str, Any], str | None]:
    """Returns (arguments, fault) of a native tool call. `fault` is None if the arguments are readable. Otherwise it is a text for the model
    that states why they are not, and the arguments are the `whole_items` of `raw`.

    `raw` is a JSON string. Some servers send an object instead, or nothing for a tool without arguments.
    """
    if raw is None or raw == "":
        return {}, None
    if isinstance(raw, dict):
        return cast("dict[str, Any]", raw), None
    try:
        value = _decoded(str(raw))
        return (cast("dict[str, Any]", value) if isinstance(value, dict) else read_object(str(value))), None
    except ValueError as error:
        return whole_items(str(raw)), f"the arguments could not be read: {error}"


def whole_items(text: str) -> dict[str, Any]:
    """The first object of a text that is cut off, up to its last complete object in an array; {} if there is none."""
    opened: list[str] = []
    start, end, closing = text.find("{"), 0, ""
    for sign, place in _signs(text, start):
        if sign in "{[":
            opened.append("}" if sign == "{" else "]")
        elif opened and opened.pop() == "}" and opened[-1:] == ["]"]:
            end, closing = place, "".join(reversed(opened))
    try:
        return loads(_without_trailing_commas(text[start:end] + closing)) if end else {}
    except ValueError:
        return {}


M = TypeVar("M", bound=BaseModel)
_ROUNDS = 6  # rounds of repair: for nested values and text that was encoded more than once
_STARTS = 20  # maximum places of a text that are tried as the start of an array or object
_OPENS = re.compile(r"[\[{]")
# A string, even if it is cut off, or a comma before the end of an array or object.
_STRING_OR_COMMA = re.compile(r'("(?:[^"\\]|\\.)*+(?:"|\\?\Z))|,(?=\s*[}\]])', re.DOTALL)
# A string, even if it is cut off, a brace or a bracket.
_STRING_OR_SIGN = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[{}\[\]]', re.DOTALL)
_LISTS = frozenset({"tuple_type", "list_type"})
_OBJECTS = frozenset({"model_type", "model_attributes_type", "dict_type"})


def fitted(kind: type[M], arguments: dict[str, Any], *, ignore_unknown: bool = False) -> M:
    """The arguments of a model as `kind`. Raises ValidationError. Values in another shape are read where that needs no guess: JSON text for
    an array or object, one item for an array of one, and one object with all arguments under a name that is no field. `ignore_unknown`
    drops values whose names are not fields, such as a confidence that nobody asked for."""
    given = arguments
    for _ in range(_ROUNDS):
        try:
            return kind.model_validate(given)
        except ValidationError as error:
            mended = _mended(kind, given, error, ignore_unknown)
            if mended == given:
                raise
            given = mended
    return kind.model_validate(given)


def _mended(
    kind: type[BaseModel], given: dict[str, Any], error: ValidationError, ignore_unknown: bool
) -> dict[str, Any]:
    """`given`, in which values that do not fit are read from their text, as far as possible."""
    if len(given) == 1 and not set(given) & set(kind.model_fields):
        inner = _in_text(next(iter(given.values())))
        fields = cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}
        return fields if set(fields) & set(kind.model_fields) else given
    mended = copy.deepcopy(given)
    for fault in error.errors(include_url=False, include_context=False):
        wrong, path = fault["input"], fault["loc"]
        unknown = ignore_unknown and fault["type"] == "extra_forbidden"
        if not unknown and fault["type"] not in _LISTS | _OBJECTS:
            continue
        value: Any = None if unknown else _in_text(wrong)
        if isinstance(value, dict) and fault["type"] in _LISTS:
            value = cast("list[Any]", [value])
        holder: Any = mended
        try:
            for step in path[:-1]:
                holder = holder[step]
            if unknown:
                del holder[path[-1]]
            else:
                holder[path[-1]] = value
        except (LookupError, TypeError):  # the path names a choice of the schema
            continue
    return mended


def _in_text(value: Any) -> Any:
    """The array, object or null in a text; any other value unchanged."""
    if not isinstance(value, str):
        return value
    found = _decoded(value)
    if isinstance(found, (dict, list)) or found is None:
        return cast("Any", found)
    text = _without_trailing_commas(str(found))
    for opened in list(_OPENS.finditer(text))[:_STARTS]:
        try:
            return _whole(_DECODER.raw_decode(text, opened.start())[0])
        except (ValueError, RecursionError):
            continue
    found = _literal(text)
    return value if found is None else found


def _literal(text: str) -> Any:
    """The array or object in a text with single quotes; None if there is none, or if it has values that JSON does not have."""
    try:
        found = ast.literal_eval(text.strip())
        return loads(json.dumps(found)) if isinstance(found, (dict, list)) else None
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _decoded(text: str) -> Any:
    """The value of a text that was encoded once or several times; the innermost text if it is not JSON. Empty text is null."""
    for _ in range(_ROUNDS):
        try:
            value = loads(text or "null")
        except ValueError:
            return text
        if not isinstance(value, str):
            return value
        text = value
    return text


def _objects(text: str) -> Generator[tuple[str, bool]]:
    """Each outermost `{...}` of the text, and whether its braces are closed. Braces in strings do not count."""
    start = text.find("{")
    while start >= 0:
        depth = 0
        for sign, end in _signs(text, start):
            depth += (sign == "{") - (sign == "}")
            if not depth:
                yield text[start:end], True
                start = text.find("{", end)
                break
        else:
            yield text[start:], False
            return


def _signs(text: str, start: int) -> Generator[tuple[str, int]]:
    """The braces and brackets from `start` on that are not in strings, each with the offset after it."""
    for found in _STRING_OR_SIGN.finditer(text, start):
        if found[0] in "{}[]":
            yield found[0], found.end()


def _without_trailing_commas(text: str) -> str:
    return _STRING_OR_COMMA.sub(r"\1", text)


def _whole(value: Any) -> Any:
    """Replace lone surrogates everywhere. Raises RecursionError for nesting that is almost too deep for the parser."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_whole(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in cast("dict[str, Any]", value).items()}
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(strict=False, parse_constant=_refuse)

R = TypeVar("R", bound=Record)
REPAIR = "Your reply cannot be used: {fault}. Send the whole JSON object again, corrected, and nothing else."


@dataclass(frozen=True)
class Structured(Generic[R]):
    """The value, or `fault`, the reason why there is none. `fault` is empty if there is a value."""

    value: R | None
    fault: str
    responses: tuple[Response, ...]


def ask_for(kind: type[R], model: Model, request: Request) -> Structured[R]:
    """Ask for one record of `kind`. If the reply does not fit, ask once more and name the fault. A refusal is final.
    Servers that enforce the schema are treated in the same way, because a reply may be cut off. Raises ModelError."""
    asked = request.model_copy(update={"tools": (), "output_schema": kind.model_json_schema()})
    first = model.respond(asked)
    value, fault = _read(kind, first)
    if value is not None or first.stop in (Stop.REFUSAL, Stop.FILTER):
        return Structured(value, fault, (first,))
    repair = UserMessage(content=(Text(text=REPAIR.format(fault=fault)),))
    turns: tuple[Message, ...] = (*request.messages, first.message, repair)
    second = model.respond(asked.model_copy(update={"messages": turns}))
    return Structured(*_read(kind, second), (first, second))


def _read(kind: type[R], response: Response) -> tuple[R | None, str]:
    if response.stop in (Stop.REFUSAL, Stop.FILTER):
        return None, f"the model would not answer: {response.message.text[:200] or response.stop.value}"
    try:
        return fitted(kind, read_object(response.message.text)), ""
    except ValidationError as error:
        fault = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, fault["loc"])) or "the object"
        return None, f"{place}: {fault['msg']}"
    except ValueError as error:
        return None, response.message.in_reasoning or str(error)
