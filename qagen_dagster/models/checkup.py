"""Checks that a model or an embedder does what its profile says, with short calls.

A model is asked for each capability that a run needs, and an embedder gets three short texts. This module makes the calls, and reports in
one line what would fail and what to change. The roles of models are in `configuration/profiles.py`, and commands print the findings.
Nothing is stored. A call that fails is not repeated.
"""

import re
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast
from uuid import uuid4

from qagen_dagster import errors
from qagen_dagster.models.base import Provider
from qagen_dagster.models.embedders import Embedder, EmbedderSpec
from qagen_dagster.models.ledger import Ledger
from qagen_dagster.models.messages import (
    Image,
    Message,
    Request,
    Response,
    Stop,
    Text,
    ToolCall,
    ToolChoice,
    ToolMessage,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from qagen_dagster.models.providers import PROVIDERS, build_embedder, build_provider, key_variable
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.models.structured_output import ask_for
from qagen_dagster.models.wires.forcing import refuses_forcing
from qagen_dagster.records.base import Record
from qagen_dagster.settings import proxy_variable
from qagen_dagster.store import Store

T = TypeVar("T")
IN_PROCESS = "runs in this process; it needs no key and no server"
TOKENS = 1024  # maximum of one reply, with room for models that think; a thinking budget is added
SECONDS = 60.0  # maximum of one call
COLOURS = ("yellow", "blue")
_OF_A_RUN = 8_000  # characters of a run's prompts and tools beside the document
_RAIN = "The rain fell on the harbour, and 12 boats stayed in the port.\n"
_SYSTEM = "This is a test of the connection. Do exactly what you are asked, and be brief."
_LOOK = ToolSpec(
    name="look",
    description="Show a picture.",
    parameters={
        "type": "object",
        "properties": {"number": {"type": "integer", "description": "Which picture."}},
        "required": ["number"],
        "additionalProperties": False,
    },
)
_CALL = "Call the tool look with number 7. When you have seen the picture, name its two colours."
_SEE = "Which two colours does this picture have? Answer in two English words."
_STATUS = re.compile(r": HTTP (\d{3})\b")
_ABOUT_KEYS = re.compile(r"api.?key|unauthori[sz]ed|authenticat", re.IGNORECASE)
_NO_PICTURES = "set images: false, or bind a model that sees under `visual`"


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes:
        what: the name of the check.
        good: whether the capability works. None if the check was not made or decided nothing, or if runs work without the capability.
        detail: one line for a person: what was found, and what to change if it does not work.
    """

    what: str
    good: bool | None
    detail: str


class _Choice(Record):
    colour: str
    number: int


def probe(
    spec: ModelSpec,
    secret: Callable[[str], str | None],
    *,
    pictures: bool = False,
    longest: int = 0,
    offline: bool = False,
) -> Iterator[Finding]:
    """Check one model. Stops after a failure that makes the other checks useless.

    Args:
        secret: looks up an environment variable. Its value is never shown.
        pictures: whether the run will show pictures to the model.
        longest: characters of the longest document that the run will show at once; 0 if there is none.
        offline: whether to make only the checks that need no call.
    """
    entry = PROVIDERS.get(spec.provider)
    if entry is not None and entry.local:
        yield _in_process(spec, secret)
        return
    variable = key_variable(spec.provider, spec.api_key_env)
    found, provider = built(lambda: build_provider(short(spec), secret), variable)
    yield found
    if provider is not None and not offline:
        yield from _Probe(spec, provider, variable).findings(pictures, longest)


def _in_process(spec: ModelSpec, secret: Callable[[str], str | None]) -> Finding:
    try:
        build_provider(spec, secret)
    except errors.ConfigError as error:
        return Finding("model", False, error.message)
    return Finding("model", True, IN_PROCESS)


def built(build: Callable[[], T], variable: str | None) -> tuple[Finding, T | None]:
    """Returns (finding, result) of `build`. The finding is about the key or the settings. The result is None if
    `build` raises ConfigError. `variable` names the variable of the key; None if no key is sent."""
    try:
        made = build()
    except errors.ConfigError as error:
        of_key = (error.key or "").endswith("api_key_env")
        return Finding("key" if of_key else "settings", False, error.message), None
    said = "no key is sent" if variable is None else f"{variable} is set"
    return Finding("key", None if variable is None else True, said), made


class _Probe:
    """The checks of one model that need a call."""

    def __init__(self, spec: ModelSpec, provider: Provider, variable: str | None) -> None:
        self.spec, self._provider, self._variable = spec, provider, variable

    def respond(self, request: Request) -> Response:
        return self._provider.read(self._provider.send(request))

    def findings(self, pictures: bool, longest: int) -> Iterator[Finding]:
        server = self._server()
        yield server
        if server.good is not True:
            return
        yield self._structured()
        tools, turn = self._tools()
        yield tools
        if pictures:
            yield self._pictures(turn)
        if self.spec.tool_calling == "native":  # emulated tools cannot be forced
            yield self._forced()
        if longest:
            yield self._long(longest)

    def _long(self, longest: int) -> Finding:
        """Send as much text as the first prompt of a run and, if it is refused, as much as the smaller prompt that a run then sends."""
        what, sizes = "long prompt", (longest + _OF_A_RUN, min(8_000, longest // 4) + _OF_A_RUN)
        refusals: list[str] = []
        for size in sizes:
            text = _RAIN * (size // len(_RAIN))
            try:
                self.respond(_request(f"{text}Reply with the word: ready"))
            except errors.RequestRefusedError as error:
                refusals.append(f"a prompt of about {size:,} characters is refused ({_told(error)})")
                continue
            except errors.ModelError as error:
                return _undecided(what, error)
            said = f"{refusals[0]}: runs show smaller parts" if refusals else f"{size:,} characters are read"
            return Finding(what, None if refusals else True, said)
        advice = "give the server a larger context, or set opening_characters to less"
        return Finding(what, False, f"{refusals[-1]}: {advice}")

    def _server(self) -> Finding:
        """Make the smallest possible call. If it fails, the connection, the key, the model's name or an option is wrong."""
        try:
            self.respond(HELLO)
        except errors.MalformedResponseError as error:
            return Finding("server", False, f"{error}: is base_url the right one for this provider?")
        except errors.ModelError as error:
            return unreachable(self.spec, self._variable, error)
        return Finding("server", True, f"{place_of(self.spec)} answers")

    def _structured(self) -> Finding:
        what, mode = "structured output", self.spec.structured_output
        weaker = {"json_schema": "json_object or none", "json_object": "none"}.get(mode)
        advice = f"set structured_output: {weaker}" if weaker else "bind another model"
        question = _request("Choose any colour and any whole number.")
        answer = _tried(what, lambda: ask_for(_Choice, self, question), f"{mode} is refused", advice)
        if isinstance(answer, Finding):
            return answer
        if answer.value is None and answer.responses[-1].stop is Stop.LENGTH:
            return self._cut_off(what)
        if answer.value is None:
            advice = "bind a model that can write JSON" + (
                f", or set structured_output: {weaker}" if weaker else ""
            )
            return Finding(what, False, f"{mode} gives no usable object ({answer.fault}): {advice}")
        if len(answer.responses) > 1:
            return Finding(what, None, f"{mode} is not enforced: the model needed a second attempt")
        return Finding(what, True, mode)

    def _tools(self) -> tuple[Finding, tuple[Message, ...]]:
        """Returns (finding, conversation). The conversation ends with a correct call; it is empty if no call was correct."""
        what, request = "tools", _request(_CALL, tools=(_LOOK,))
        native = self.spec.tool_calling == "native"
        advice = "set tool_calling: emulated" if native else "bind a model that follows a required format"
        response = _tried(what, lambda: self.respond(request), "tools are refused", advice)
        if isinstance(response, Finding):
            return response, ()
        calls = response.message.tool_calls
        if calls and _as_asked(calls[0]):
            called = Finding(what, True, f"called as asked, {self.spec.tool_calling}")
            return called, (*request.messages, response.message)
        if response.stop is Stop.LENGTH:
            return self._cut_off(what), ()
        if not calls:
            detail = f"tools are not called (the model replied {_quoted(response)}): {advice}"
        else:
            made = calls[0].fault or f"{calls[0].name} {calls[0].arguments}"
            detail = f"tools are not called as asked ({made[:120]}): {advice}"
        return Finding(what, False, detail), ()

    def _forced(self) -> Finding:
        what, request = "forced tool", _request(_CALL, tools=(_LOOK,))
        try:
            response = self.respond(request.model_copy(update={"tool_choice": ToolChoice.REQUIRED}))
        except errors.ModelError as error:
            if refuses_forcing(error):
                detail = f"a forced tool call is refused ({_told(error)}): runs ask without forcing it"
                return Finding(what, None, detail)
            if isinstance(error, errors.TransientModelError):
                return _undecided(what, error)
            return Finding(what, False, f"a forced tool call is refused ({_told(error)})")
        if response.message.tool_calls:
            return Finding(what, True, "called")
        if response.stop is Stop.LENGTH:
            return self._cut_off(what)
        return Finding(what, None, f"not enforced (the model replied {_quoted(response)})")

    def _pictures(self, turn: tuple[Message, ...]) -> Finding:
        """Show a picture in the result of the tool that the model called, because runs show pictures in this way. `turn`
        is the conversation with that call. If it is empty, the picture is shown in a user message."""
        what = "pictures"
        if not self.spec.images:
            return Finding(what, None, "images: false: visual mode is refused")
        request = _request(_SEE, picture=True)
        if turn:
            request = _request("", tools=(_LOOK,), messages=_looked(turn))
        response = _tried(what, lambda: self.respond(request), "pictures are refused", _NO_PICTURES)
        if isinstance(response, Finding):
            return response
        said = response.message.text.casefold()
        if all(colour in said for colour in COLOURS):
            return Finding(what, True, "seen")
        if response.stop is Stop.LENGTH:
            return self._cut_off(what)
        said = f"the model described a yellow and blue one as {_quoted(response)}"
        return Finding(what, False, f"pictures are not seen ({said}): {_NO_PICTURES}")

    def _cut_off(self, what: str) -> Finding:
        tokens = short(self.spec).max_output_tokens
        detail = f"not decided: the reply was cut off after {tokens} tokens; models that think may need more"
        return Finding(what, None, detail)


def _tried(what: str, ask: Callable[[], T], refused: str, advice: str) -> T | Finding:
    """The result of `ask`, or the finding for a ModelError: not decided, or `refused` with `advice`."""
    try:
        return ask()
    except errors.TransientModelError as error:
        return _undecided(what, error)
    except errors.ModelError as error:
        return Finding(what, False, f"{refused} ({_told(error)}): {advice}")


def place_of(spec: ModelSpec) -> str:
    """The name of the server in messages."""
    return spec.base_url or f"the server of {spec.provider}"


def unreachable(spec: ModelSpec, variable: str | None, error: errors.ModelError) -> Finding:
    """The finding for a failure of the first call to a server: its meaning, and what to change."""
    text, found = _told(error), _STATUS.search(str(error))
    status = int(found[1]) if found else 0
    if status in (401, 403) or (status == 400 and _ABOUT_KEYS.search(text)):
        advice = f"correct {variable}" if variable else "set api_key_env to the variable of its key"
        return Finding("key", False, f"the server refuses the key ({text}): {advice}")
    if isinstance(error, errors.RateLimitedError):
        return Finding("server", None, f"not decided: the server is busy ({text}): try again later")
    if status == 404:
        advice = f"is {spec.model!r} the server's name of the model? If it is, correct base_url"
    elif status == 0 and isinstance(error, errors.TransientModelError):
        proxy = proxy_variable(spec.base_url or "https://")
        advice = "start the server, or correct base_url" + (f" or {proxy}, its proxy" if proxy else "")
    elif isinstance(error, errors.TransientModelError):
        advice = "the server has an internal error: see its log"
    else:
        advice = (
            "correct temperature, options or model" if status else "correct the environment or the settings"
        )
    place = "" if text.startswith("http") else f"{place_of(spec)}: "
    return Finding("server", False, f"{place}{text}: {advice}")


def short(spec: ModelSpec) -> ModelSpec:
    """`spec` with a maximum of `TOKENS` for a reply and of `SECONDS` for a call. If the options have a budget of tokens for thinking, it is
    added to the maximum of the reply. If they have `max_completion_tokens`, this becomes the same maximum."""
    thinking = cast("dict[str, Any]", spec.options.get("thinking") or {})
    budget = int(thinking.get("budget_tokens") or 0)
    tokens = min(spec.max_output_tokens, TOKENS + budget)
    options = {
        name: tokens if name == "max_completion_tokens" else value for name, value in spec.options.items()
    }
    seconds = min(spec.timeout_seconds, SECONDS)
    return spec.model_copy(
        update={"max_output_tokens": tokens, "timeout_seconds": seconds, "options": options}
    )


def _request(
    text: str, *, tools: tuple[ToolSpec, ...] = (), messages: tuple[Message, ...] = (), picture: bool = False
) -> Request:
    shown = (Image(media_type="image/png", data=_png()),) if picture else ()
    return Request(
        system=_SYSTEM,
        messages=messages or (UserMessage(content=(Text(text=text), *shown)),),
        tools=tools,
        tool_choice=ToolChoice.NONE if messages else ToolChoice.AUTO,
    )


HELLO = _request("Reply with the word: ready")


def _looked(turn: tuple[Message, ...]) -> tuple[Message, ...]:
    """The conversation, continued with the picture as the result of each call of its last turn."""
    calls = (
        [part for part in turn[-1].content if isinstance(part, ToolCall)]
        if turn[-1].role == "assistant"
        else []
    )
    shown = (Text(text=_SEE), Image(media_type="image/png", data=_png()))
    results = tuple(ToolResult(call_id=call.id, name=call.name, content=shown) for call in calls)
    return (*turn, ToolMessage(results=results))


def _png(side: int = 64) -> bytes:
    """A PNG of `side` x `side` pixels, with a yellow upper half and a blue lower half."""
    rows = [b"\0" + bytes(colour) * side for colour in ((255, 255, 0), (0, 0, 255)) for _ in range(side // 2)]
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(b"".join(rows))), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def _as_asked(call: ToolCall) -> bool:
    return call.name == _LOOK.name and call.fault is None and str(call.arguments.get("number")) == "7"


def _told(error: errors.ModelError) -> str:
    """The first 200 characters of the server's message, without the model's name. Commands show the name beside it."""
    return str(error).partition(": ")[2][:200] or str(error)


def _quoted(response: Response) -> str:
    return repr(" ".join(response.message.text.split())[:60]) if response.message.text.strip() else "nothing"


def _undecided(what: str, error: errors.ModelError) -> Finding:
    return Finding(what, None, f"not decided ({_told(error)}): try again later")


_ALIKE = ("The ferry leaves at nine in the morning.", "At 9 a.m. the boat departs.")
_OTHER = "Photosynthesis turns light into sugar."


def probe_embedder(
    spec: EmbedderSpec, secret: Callable[[str], str | None], state: Path, *, offline: bool = False
) -> Iterator[Finding]:
    """Check one embedder. `secret` looks up an environment variable; processes share limits in the folder `state`."""
    if spec.local:
        yield Finding("embedder", True, IN_PROCESS)
        return
    variable = key_variable(spec.provider, spec.api_key_env)
    seconds = min(spec.timeout_seconds, SECONDS)
    short = spec.model_copy(
        update={"timeout_seconds": seconds, "deadline_seconds": seconds, "max_attempts": 1, "batch_size": 8}
    )
    ledger = Ledger(Store(f"memory://probe-{uuid4().hex}").blobs("ledger"))  # nothing is kept
    found, embedder = built(lambda: build_embedder(short, ledger, secret, state), variable)
    yield found
    if embedder is not None and not offline:
        yield _asked(short, variable, embedder)


def _asked(spec: EmbedderSpec, variable: str | None, embedder: Embedder) -> Finding:
    server = ModelSpec(provider=spec.provider, model=spec.model, base_url=spec.base_url)
    try:
        vectors = embedder.passages([*_ALIKE, _OTHER])
    except errors.MalformedResponseError as error:
        return Finding("vectors", False, f"{error}: is {spec.model!r} an embedding model?")
    except errors.ModelError as error:
        return unreachable(server, variable, error)
    size = int(vectors.shape[1])
    if spec.dimensions not in (None, size):
        detail = f"{size} dimensions instead of the requested {spec.dimensions}: remove `dimensions`"
        return Finding("vectors", False, detail)
    near, far = float(vectors[0] @ vectors[1]), float(vectors[0] @ vectors[2])
    if near <= far:
        found = f"texts with the same meaning are no closer ({near:.2f}) than others ({far:.2f})"
        detail = f"{found}: is {spec.model!r} an embedding model?"
        return Finding("vectors", None, detail)
    return Finding("vectors", True, f"{size} dimensions, from {place_of(server)}")
