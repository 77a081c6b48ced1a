"""A model request as plain values for the embedded models: the prompt's words, the named document, the tool calls and their results."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from qagen_dagster.models.messages import AssistantMessage, Content, Request, Text, UserMessage

_HEADER = re.compile(r"^lines (\d+)-(\d+) of (\d+)", re.MULTILINE)
_ROW = re.compile(r"^[ \t]*(\d+)\|>?[ ]?(.*)$")
_PAGE = re.compile(r"^--- page (\d+) ---$")


@dataclass(frozen=True)
class Line:
    """One line of the document as read_lines shows it; `page` is None without pages."""

    number: int
    text: str
    page: int | None = None


@dataclass(frozen=True)
class Action:
    """A tool call that a mechanism requests."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Exchange:
    """One tool call with its result."""

    name: str
    arguments: dict[str, Any]
    text: str
    is_error: bool = False


@dataclass(frozen=True)
class Conversation:
    """A request, reduced to what rules can use."""

    system: str
    prompt: str  # all user messages
    exchanges: tuple[Exchange, ...]
    tools: frozenset[str]
    sample: int = 0  # distinguishes repeated draws of one request

    def named(self, name: str) -> list[Exchange]:
        """The exchanges of one tool, in order."""
        return [exchange for exchange in self.exchanges if exchange.name == name]


def read_conversation(request: Request) -> Conversation:
    """The conversation of `request`, in which every tool result is paired with its call."""
    calls: dict[str, tuple[str, dict[str, Any]]] = {}
    prompt: list[str] = []
    exchanges: list[Exchange] = []
    for message in request.messages:
        if isinstance(message, UserMessage):
            prompt.append(_words(message.content))
        elif isinstance(message, AssistantMessage):
            calls.update({call.id: (call.name, call.arguments) for call in message.tool_calls})
        else:
            for result in message.results:
                name, arguments = calls.get(result.call_id, (result.name, {}))
                exchanges.append(Exchange(name, arguments, _words(result.content), result.is_error))
    tools = frozenset(tool.name for tool in request.tools)
    return Conversation(request.system, "\n\n".join(prompt), tuple(exchanges), tools, request.sample)


def _words(content: Sequence[Content]) -> str:
    return "\n".join(part.text for part in content if isinstance(part, Text))


def line_total(exchanges: Iterable[Exchange]) -> int | None:
    """The document's number of lines; None if no tool result states it."""
    headers = (_HEADER.search(exchange.text) for exchange in exchanges if not exchange.is_error)
    return next((int(header.group(3)) for header in headers if header), None)


def rows(text: str) -> list[Line]:
    """The numbered rows of a tool result."""
    found: list[Line] = []
    page: int | None = None
    for raw in text.split("\n"):
        if marker := _PAGE.match(raw.strip()):
            page = int(marker.group(1))
        elif row := _ROW.match(raw):
            found.append(Line(int(row.group(1)), row.group(2), page))
    return found


def document_rows(exchanges: Iterable[Exchange]) -> dict[int, Line]:
    """Every line that read_lines or search showed, by number. Empty lines, which read_lines leaves out, are added."""
    known: dict[int, Line] = {}
    for exchange in exchanges:
        if exchange.is_error or exchange.name not in {"read_lines", "search"}:
            continue
        for line in rows(exchange.text):
            if line.number not in known or known[line.number].page is None:
                known[line.number] = line
        if exchange.name == "read_lines" and (header := _HEADER.search(exchange.text)):
            for number in range(int(header.group(1)), int(header.group(2)) + 1):
                above = known.get(number - 1)  # the page continues
                known.setdefault(number, Line(number, "", above.page if above else None))
    return known


def section(prompt: str, label: str) -> str:
    """The text after `label:` on its line and on the following lines, up to the next label."""
    pattern = re.compile(
        rf"^{re.escape(label)}:[ \t]*(.*(?:\n(?![A-Z][A-Za-z ]{{2,40}}:[ \t]*$).*)*)", re.MULTILINE
    )
    found = pattern.search(prompt)
    return found.group(1).strip() if found else ""


_TITLE = re.compile(r"^title:[ \t]*(\S.*)$", re.MULTILINE | re.IGNORECASE)
_FILE = re.compile(r"^file:[ \t]*(\S.*)$", re.MULTILINE)
_SECTION = re.compile(r"^ {2,6}line (\d+): (\S.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Card:
    """The document's description in the prompt; absent parts are empty."""

    title: str = ""
    file: str = ""
    headings: dict[int, str] = field(default_factory=dict[int, str])  # by line


def card(prompt: str) -> Card:
    """The document card of a prompt."""
    title, file = _TITLE.search(prompt), _FILE.search(prompt)
    headings = {int(number): name.strip() for number, name in _SECTION.findall(prompt)}
    return Card(title.group(1).strip() if title else "", file.group(1).strip() if file else "", headings)


_FRAME = re.compile(
    r"(?:According to|In) (?:[^\"]{1,300}?|[^\"]{0,120}(?:\"[^\"]{1,400}\"[^\"]{0,250}?)+?), "
    r"(?=(?:what|which|who|when|where|why|how|by whom|in what (?:year|place)|for how long)\b)"
)


def quoted(title: str) -> str:
    """The title in double quotes. Double quotes inside it become single quotes."""
    return '"' + re.sub(r"[\"“”]", "'", title) + '"'


def split_frame(question: str) -> tuple[str, str]:
    """The phrase at the beginning that names the document (the frame; empty if there is none), and the rest of the question."""
    found = _FRAME.match(question)
    return (question[: found.end()], question[found.end() :]) if found else ("", question)
