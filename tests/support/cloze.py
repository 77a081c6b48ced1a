"""The script "cloze" of scripted models: plays every role, which it recognises by the final tool that it is offered.

The generator replaces the longest word of a line that it has read or is shown by a gap; the validator finds the line
again. The questions are poor: they serve to exercise the engine, and nothing else. The profile `dry_run` binds it.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from pathlib import Path
from typing import Any

from qagen_dagster.models.messages import (
    AssistantMessage,
    Content,
    Message,
    Request,
    Text,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from tests.support.models import task

PROFILE = Path(__file__).with_name("dry_run.yaml")
_GAP = "____"
_LEAD = "Which word fills the gap in this line of the document: "
_MIN_WORDS = 8
_MAX_CHARACTERS = 1000  # of a line that is asked about: longer lines may be shown cut off
_FAR = 1_000_000  # an end line beyond any document, for tools that require one
_NUMBERED = re.compile(r"^ *(\d+)\| ?(.*)$", re.MULTILINE)
_WANTED = re.compile(r"^- (\w+): (\d{1,4})$", re.MULTILINE)
_ASKED = re.compile(r"^(\d{1,3})\. (?:\[\w+\] )?(Which word fills .*)$", re.MULTILINE)
_PAIR = re.compile(r"^Pair (\d+)$", re.MULTILINE)
_WORD = re.compile(r"\w+")
_CRITERIA = ("supported", "matches", "premise_holds", "unambiguous", "self_contained", "relevant")


def cloze(request: Request) -> AssistantMessage:
    """Take the next step of the role that the offered tools belong to."""
    offered = {spec.name: spec for spec in request.tools}
    for name in (task(request), *offered) if offered else ():
        if name in _PARTS:
            return _PARTS[name](request, offered)
        if name in _ALWAYS:
            return _call(request, name, _ALWAYS[name])
    return AssistantMessage(content=(Text(text="The script has no part in this conversation."),))


def _generate(request: Request, offered: dict[str, ToolSpec]) -> AssistantMessage:
    if "visuals" in offered["submit_qa"].parameters.get("required", ()):
        return _call(
            request, "report_exhausted", {"reason": "The script asks about lines, not about pictures."}
        )
    lines, more = _lines_read(request)
    said = "\n".join(_said(request.messages))
    for number, line in sorted(lines.items()):
        word = _blank(line)
        if word is None:
            continue
        question = f'{_LEAD}"{line.replace(word, _GAP)}"?'
        if question not in said:
            evidence = [{"quote": line, "start_line": number}]
            return _call(
                request,
                "submit_qa",
                {"question": question, "answer": word, "evidence": evidence, "question_type": "cloze"},
            )
    if more and "read_lines" in offered:
        return _read_on(request, offered, lines)
    if "report_exhausted" in offered:
        return _call(request, "report_exhausted", {"reason": "Every line with enough words has been asked."})
    return AssistantMessage(content=(Text(text="No line is left."),))


def _answer(request: Request, offered: dict[str, ToolSpec]) -> AssistantMessage:
    lines, more = _lines_read(request)
    said = "\n".join(_said(request.messages))
    if _ASKED.search(said):
        words = {f'{_LEAD}"{line.replace(word, _GAP)}"?': (line, word) for line, word in _lines_shown(said)}
        found = [(int(number), *words[one]) for number, one in _ASKED.findall(said) if one in words]
        answers = [
            {
                "number": n,
                "answerable": True,
                "unambiguous": True,
                "answer": word,
                "evidence": [{"quote": line}],
            }
            for n, line, word in found
        ]
        return _call(request, "submit_answers", {"answers": answers})
    for number, line in sorted(lines.items()):
        word = _blank(line)
        if word is not None and f'{_LEAD}"{line.replace(word, _GAP)}"?' in said:
            evidence = [{"quote": line, "start_line": number}]
            return _call(
                request,
                "submit_answers",
                {"answerable": True, "unambiguous": True, "answer": word, "evidence": evidence},
            )
    if more and "read_lines" in offered:
        return _read_on(request, offered, lines)
    return _call(
        request,
        "submit_answers",
        {"answerable": False, "answer": "", "unambiguous": True, "note": "No such line."},
    )


def _compare(request: Request, _: dict[str, ToolSpec]) -> AssistantMessage:
    verdict = {**dict.fromkeys(_CRITERIA, True), "explanation": "Both name the same word."}
    numbers = map(int, _PAIR.findall("\n".join(_said(request.messages))))
    pairs = [{"number": number, **verdict} for number in numbers]
    return _call(request, "submit_comparisons", {"comparisons": pairs} if pairs else verdict)


def _ask_many(request: Request, _: dict[str, ToolSpec]) -> AssistantMessage:
    """As many questions of each type as the prompt asks for, each about one line, in order."""
    said = "\n".join(_said(request.messages))
    asked = (f'{_LEAD}"{line.replace(word, _GAP)}"?' for line, word in _lines_shown(said))
    fresh = (question for question in dict.fromkeys(asked) if question not in said)
    wanted = [kind for kind, count in _WANTED.findall(said) for _ in range(int(count))]
    questions = [{"question": one, "question_type": kind} for one, kind in zip(fresh, wanted, strict=False)]
    left = dict.fromkeys(wanted[len(questions) :])
    reason = "Every line with enough words has been asked."
    gone = [{"question_type": kind, "reason": reason} for kind in left]
    return _call(request, "submit_questions", {"questions": questions, "not_possible": gone})


def _answer_several(request: Request, _: dict[str, ToolSpec]) -> AssistantMessage:
    """The line of each question. It is a sentence, so there is something to grade."""
    said = "\n".join(_said(request.messages))
    lines = {f'{_LEAD}"{line.replace(word, _GAP)}"?': line for line, word in _lines_shown(said)}
    answers = [
        {"number": int(number), "answer": line, "evidence": [{"quote": line}]}
        for number, question in _ASKED.findall(said)
        if (line := lines.get(question))
    ]
    alone = (line for question, line in lines.items() if question in said)
    if not _ASKED.search(said):
        line = next(alone, None)
        quotes = [] if line is None else [{"quote": line}]
        answers = [
            {"number": 1, "answer": line or "Insufficient information in the document.", "evidence": quotes}
        ]
    return _call(request, "submit_grounded_answers", {"answers": answers})


def _answer_excerpt(request: Request, _: dict[str, ToolSpec]) -> AssistantMessage:
    """The word that fills the gap of the question."""
    said = "\n".join(_said(request.messages))
    words = (word for line, word in _lines_shown(said) if f'{_LEAD}"{line.replace(word, _GAP)}"?' in said)
    word = next(words, None)
    told = {"answer": word or "No line shown fits.", "answerable": word is not None, "confidence": 0.9}
    return _call(request, "submit_document_answer", told)


def _lines_shown(said: str) -> Generator[tuple[str, str]]:
    """The lines of a document in the prompt, each with the word to replace by a gap."""
    for _, text in _NUMBERED.findall(said):
        line = text.strip()
        word = _blank(line)
        if word is not None:
            yield line, word


def _blank(line: str) -> str | None:
    """The longest word that occurs once in the line, or None if the line is too short or too long."""
    words = _WORD.findall(line) if len(line) <= _MAX_CHARACTERS else []
    alone = [word for word in words if len(word) > 3 and line.count(word) == 1]
    return max(alone, key=len) if len(words) >= _MIN_WORDS and alone else None


def _lines_read(request: Request) -> tuple[dict[int, str], bool]:
    """The lines that read_lines has shown so far, and whether there may be more."""
    lines: dict[int, str] = {}
    more = True
    for message in request.messages:
        for result in message.results if isinstance(message, ToolMessage) else ():
            if result.name == "read_lines":
                shown = {int(n): text.strip() for n, text in _NUMBERED.findall(_text(result.content))}
                more = bool(shown.keys() - lines.keys()) and not result.is_error
                lines.update(shown)
    return lines, more


def _read_on(request: Request, offered: dict[str, ToolSpec], lines: dict[int, str]) -> AssistantMessage:
    schema = offered["read_lines"].parameters
    required: list[str] = schema.get("required", [])
    arguments: dict[str, Any] = {name: _FAR for name in required if "end" in name}
    arguments |= {name: max(lines, default=0) + 1 for name in schema.get("properties", {}) if "start" in name}
    return _call(request, "read_lines", arguments)


def _said(messages: tuple[Message, ...]) -> Generator[str]:
    """All text except the document: what users wrote and which questions were submitted."""
    for message in messages:
        if isinstance(message, UserMessage):
            yield _text(message.content)
        elif isinstance(message, AssistantMessage):
            yield from (str(call.arguments.get("question", "")) for call in message.tool_calls)


def _text(content: tuple[Content, ...]) -> str:
    return "\n".join(part.text for part in content if isinstance(part, Text))


def _call(request: Request, name: str, arguments: dict[str, Any]) -> AssistantMessage:
    number = 1 + sum(len(m.tool_calls) for m in request.messages if isinstance(m, AssistantMessage))
    return AssistantMessage(content=(ToolCall(id=f"call_{number}", name=name, arguments=arguments),))


_PARTS = {
    "submit_qa": _generate,
    "submit_answers": _answer,
    "submit_comparisons": _compare,
    "submit_questions": _ask_many,
    "submit_grounded_answers": _answer_several,
    "submit_document_answer": _answer_excerpt,
}
_ALWAYS: dict[str, dict[str, Any]] = {  # the same arguments for every request
    "submit_rewrite": {"question": ""},
    "submit_duplicate_verdict": {"verdict": "unique"},
    "submit_verdict": {"verdict": "SUPPORTED", "confidence": 0.9, "reason": "The line says so."},
    "submit_closed_book_answer": {"answer": "unknown"},
    "submit_mark": {"right": False, "explanation": "The script marks nothing right."},
}


# One script under three names, because a validator and its generator must have different names.
SCRIPTS = {"cloze": cloze, "cloze-check": cloze, "cloze-compare": cloze}
