"""Fake tools over a text, and the turns of one agent run, for the tests of the embedded model."""

from __future__ import annotations

import re
import string
from dataclasses import dataclass, field
from typing import Any

from qagen_dagster.agents.prompts import load_prompt
from qagen_dagster.models.embedded.conversation import Card, Line
from qagen_dagster.models.embedded.provider import EmbeddedProvider
from qagen_dagster.models.embedded.questions import extract
from qagen_dagster.models.embedded.questions.candidate import read_context
from qagen_dagster.models.messages import (
    Message,
    Request,
    Text,
    ToolMessage,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from qagen_dagster.models.spec import ModelSpec

TERMINALS = {
    "submit_qa",
    "report_exhausted",
    "submit_answers",
    "submit_comparisons",
    "submit_duplicate_verdict",
}


@dataclass
class Paper:
    """A document behind tools that answer as the toolkit does; `listing` is its visual content.

    `title` is a line of its card, `name` its file; without a title the first heading is the title.
    """

    text: str
    listing: str = "No tables, figures or images were found in this document."
    max_lines: int = 400
    title: str = ""
    name: str = "paper.md"
    reads: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    def answer(self, name: str, arguments: dict[str, Any]) -> str:
        lines = self.text.split("\n")
        if name == "list_visual_content":
            return self.listing
        if name == "search":
            pattern = re.compile(re.escape(arguments["pattern"]), re.IGNORECASE)
            hits = [f"{number}| {line}" for number, line in enumerate(lines, 1) if pattern.search(line)]
            return "\n".join([f"{len(hits)} matches", *hits])
        start = arguments["start_line"]
        end = min(arguments.get("end_line") or len(lines), len(lines), start + self.max_lines - 1)
        self.reads.append((start, end))
        rows = [f"{number}| {lines[number - 1]}" for number in range(start, end + 1)]
        return "\n".join(
            [f"lines {start}-{end} of {len(lines)}", "<document_excerpt>", *rows, "</document_excerpt>"]
        )


def run(
    model: str, prompt: str, paper: Paper, *terminals: str, refuse: int = 0, system: str = ""
) -> tuple[str, dict[str, Any]]:
    """Run until a terminal tool is called; the first `refuse` terminal calls get an error."""
    provider = EmbeddedProvider(ModelSpec(provider="embedded", model=model))
    names = ["read_lines", "search", "list_visual_content", "view_page", *terminals]
    tools = tuple(ToolSpec(name=name, description="", parameters={}) for name in names)
    messages: list[Message] = [UserMessage(content=(Text(text=prompt),))]
    for _ in range(30):
        response = provider.read(provider.send(Request(system=system, messages=tuple(messages), tools=tools)))
        messages.append(response.message)
        results: list[ToolResult] = []
        for call in response.message.tool_calls:
            ends = call.name in TERMINALS
            if ends and refuse == 0:
                return call.name, call.arguments
            refuse -= ends
            text = "evidence_not_found: look again" if ends else paper.answer(call.name, call.arguments)
            results.append(
                ToolResult(call_id=call.id, name=call.name, content=(Text(text=text),), is_error=ends)
            )
        messages.append(ToolMessage(results=tuple(results)))
    raise AssertionError("no terminal tool was called in 30 turns")


def generate(
    paper: Paper, *, asked: tuple[str, ...] = (), mode: str = "textual", refuse: int = 0, purpose: str = ""
) -> tuple[str, dict[str, Any]]:
    title = next((f"title: {line[2:]}" for line in paper.text.split("\n") if line.startswith("# ")), "")
    lines = len(paper.text.split("\n"))
    card = f"lines: {lines}\nfile: documents/{paper.name}\n{paper.title or title}"
    prompt = f"Mode: {mode}\n\nDocument\n{card}\n\nAlready accepted questions:\n" + "\n".join(asked)
    values = dict.fromkeys(("corpus_name", "corpus_context", "scenario_name"), "x")
    system = string.Template(load_prompt(f"questions/generator_{mode}").system).substitute(
        values, scenario_description=purpose
    )
    return run("rules", prompt, paper, "submit_qa", "report_exhausted", refuse=refuse, system=system)


def all_questions(paper: Paper, *, mode: str = "textual", limit: int = 60) -> dict[str, dict[str, Any]]:
    """Every question the generator has, by its words, with its submission."""
    found: dict[str, dict[str, Any]] = {}
    while len(found) < limit:
        name, arguments = generate(paper, asked=tuple(found), mode=mode)
        if name == "report_exhausted":
            break
        found[arguments["question"]] = arguments
    return found


def possible_questions(paper: Paper) -> dict[str, dict[str, Any]]:
    """Every question that the rules allow, whatever its score, by its words, with its answer and evidence."""
    lines = [Line(number, text) for number, text in enumerate(paper.text.split("\n"), 1)]
    heading = next((line.text[2:] for line in lines if line.text.startswith("# ")), "")
    title = paper.title.partition("title: ")[2] or heading
    context = read_context(Card(title, f"documents/{paper.name}"), lines)
    return {
        one.question: {
            "question": one.question,
            "answer": one.answer,
            "question_type": one.question_type,
            "evidence": [{"quote": quote.text, "start_line": quote.start_line} for quote in one.quotes],
        }
        for one in extract.interleave(extract.possible(lines, context))
    }
