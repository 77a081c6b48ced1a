"""Models that read: they ask for the weights that a document states, and look them up in the text as it is now."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from qagen_dagster.loop.questions.document_work import QAModels
from qagen_dagster.models.messages import AssistantMessage, Request
from qagen_dagster.records.ids import digest
from tests.support.models import CRITERIA, FakeModel, Turn, call, told
from tests.support.play import Play

PARTS = ("anchor", "boiler", "compass", "davit", "engine", "funnel")
FILLER = (
    "The station keeps a log of wind, rain and tide that is read out every morning to whoever is on watch and then put away "
    "until the evening watch has come in from the pier and has hung up its coats beside the stove to dry for the night ahead."
)
_FACT = re.compile(r"(\d+)\| (The (\w+) of station (\w+) weighs (\d+) kg\.)")
_ASKED = re.compile(r"How heavy is the (\w+) of station (\w+)\?")


def fact(part: str, letter: str, weight: int) -> str:
    return f"The {part} of station {letter} weighs {weight} kg."


def station(letter: str, weights: dict[str, int] | None = None) -> str:
    """A document: one fact per paragraph, each far from the others."""
    weights = weights or {part: 10 * number for number, part in enumerate(PARTS, 1)}
    facts = (f"{fact(part, letter, weight)}\n\n{FILLER}\n\n{FILLER}" for part, weight in weights.items())
    return f"Station {letter}\n\n{FILLER}\n\n" + "\n\n".join(facts)


class Reader(Play):
    """Asks for the first weight that was not asked for; the answerer takes the last one that the text states."""

    def __init__(
        self, paid: dict[str, Turn] | None = None, before: Callable[[str, Request], None] | None = None
    ) -> None:
        super().__init__([], before or (lambda _role, _request: None), paid)
        self.requests: list[tuple[str, Request]] = []
        self.models = QAModels(
            generator=self._reading("generator", self._ask),
            validator=self._reading("validator", self._answer),
            deduplicator=self.models.deduplicator,
            encode=_apart,
        )

    def calls(self) -> Counter[tuple[str, str]]:
        """The number of paid calls by role and station."""
        return Counter((role, _station(request)) for role, request in self.requests)

    def _reading(self, role: str, play: Callable[[Request], AssistantMessage]) -> FakeModel:
        def respond(request: Request) -> AssistantMessage:
            self.requests.append((role, request))
            compares = "submit_comparisons" in {tool.name for tool in request.tools}
            return play(request) if compares or _FACT.search(told(request)) else call("read_lines")

        return self._model(role, respond)

    def _ask(self, request: Request) -> AssistantMessage:
        asked = {part for part, _ in _ASKED.findall(told(request))}
        for line, quote, part, letter, weight in _FACT.findall(told(request)):
            if part not in asked:
                return call(
                    "submit_qa",
                    question=f"How heavy is the {part} of station {letter}?",
                    answer=f"{weight} kg",
                    evidence=[{"quote": quote, "start_line": int(line)}],
                )
        return call("report_exhausted", reason="Every weight was asked for.")

    def _answer(self, request: Request) -> AssistantMessage:
        wanted = _ASKED.findall(told(request))[-1]
        if "submit_comparisons" in {tool.name for tool in request.tools}:
            checks = dict.fromkeys(CRITERIA, True)
            return call(
                "submit_comparisons", **checks | {"matches": False}, explanation="The weights differ."
            )
        found = [one for one in _FACT.findall(told(request)) if (one[2], one[3]) == wanted]
        return call(
            "submit_answers",
            answerable=bool(found),
            answer=f"{found[-1][4]} kg" if found else "",
            evidence=[{"quote": one[1]} for one in found[-1:]],
            **dict.fromkeys(("unambiguous", "self_contained", "relevant"), True),
        )


def _station(request: Request) -> str:
    """The letter of the document, which its first line has; "" while it has not been read."""
    found = re.search(r"file: (\w+)", told(request))
    return found.group(1) if found else ""


def _apart(questions: Sequence[str]) -> NDArray[np.float32]:
    """Only equal words are near."""
    places = [int(digest(question)[:6], 16) % 4093 for question in questions]
    return np.eye(4093, dtype=np.float32)[places]
