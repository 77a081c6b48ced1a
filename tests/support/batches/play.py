"""Models that play the batch strategy on one document: what becomes of a question stands in the question.

Every reply is a function of the request alone, so a piece goes on the same after an interruption.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any

from qagen_dagster.loop.questions.document_work import QAModels
from qagen_dagster.models.messages import AssistantMessage, Request
from tests.support.documents import MANUAL
from tests.support.models import CRITERIA, GUESS, FakeModel, Turn, call, cut, say, task, told

LINES = MANUAL.split("\n")
FALSE = "Forty keepers of the lighthouse sold their boats to merchants from Peru."
_ASKED = re.compile(r"Which words hold (\w+) (\d+)\?")
_BLIND = re.compile(r"^(\d+)\. Which words hold (\w+) (\d+)\?", re.MULTILINE)
_PAIR = re.compile(r"^Pair (\d+)$.*?Which words hold (\w+) \d+\?", re.MULTILINE | re.DOTALL)
_SEVERAL = re.compile(r"^(\d+)\. \[\w+\] Which words hold (\w+) (\d+)\?", re.MULTILINE)


class Fate(StrEnum):
    """What becomes of a question."""

    GOOD = "good"
    LATE = "late"  # its first answer is false, the second is good
    FALSE = "false"  # every answer is false
    UNPROVEN = "unproven"  # no quote is in the document
    HONEST = "honest"  # the document does not answer it
    UNHEARD = "unheard"  # the validator does not answer it among others
    OVERLOOKED = "overlooked"  # the validator does not compare its answers among others
    SILENT = "silent"  # the answerer calls no tool
    WRONG = "wrong"  # the validator has another answer
    NOWHERE = "nowhere"  # the validator has none
    MENDED = "mended"  # the validator refuses its first answer, and not the second
    KNOWN = "known"  # the validator gives the answer without the document
    LOOKUP = "lookup"  # the validator finds that it is not of its type


Round = Sequence[tuple[str, Fate]]  # question type and fate


def question(fate: Fate, number: int) -> str:
    return f"Which words hold {fate} {number}?"


class BatchPlay:
    """The models of one piece: what each round of questions brings. `before(role, request)` may raise."""

    def __init__(
        self,
        rounds: Sequence[Round],
        before: Callable[[str, Request], None] = lambda _role, _request: None,
        *,
        impossible: Sequence[tuple[str, str]] = (),
        rewrites: Callable[[str], str] = lambda _question: "",
        first: int | None = None,
        server: bool = False,
        characters: int = 1_000_000,
    ) -> None:
        """`first` numbers the questions of every round from it on, so that rounds repeat each other.

        `server`: the validator is a model on a server, which is shown the document. `characters`: where a reply is cut off.
        """
        self._rounds, self._before = rounds, before
        self._characters = characters
        self._impossible, self._rewrites, self._first = impossible, rewrites, first
        validator = "openai" if server else "scripted"
        self.log: list[tuple[str, str]] = []
        self.models = QAModels(
            generator=self._model("generator", self._generate),
            validator=self._model("validator", self._validate, validator),
            deduplicator=self._model(
                "deduplicator", lambda _: call("submit_duplicate_verdict", verdict="unique")
            ),
            answerer=self._model("answerer", self._answer),
        )

    def asked(self, role: str) -> int:
        """How many calls a role had."""
        return sum(one == role for one, _ in self.log)

    def _model(self, role: str, play: Callable[[Request], Turn], provider: str = "scripted") -> FakeModel:
        def respond(request: Request) -> Turn:
            self._before(role, request)
            self.log.append((role, request.canonical()))
            return cut(play(request), self._characters)

        return FakeModel(respond, role, provider, plays_closed_book=True)

    def _generate(self, request: Request) -> AssistantMessage:
        if task(request) == "submit_rewrite":
            rejected = told(request).partition("The rejected question:\n")[2].partition("\n")[0]
            return call("submit_rewrite", question=self._rewrites(rejected))
        before = sum(len(one) for one in self._rounds[: request.sample - 1])
        this = self._rounds[request.sample - 1] if request.sample <= len(self._rounds) else ()
        questions = [
            {"question": question(fate, number), "question_type": kind}
            for number, (kind, fate) in enumerate(this, self._first or before + 1)
        ]
        gone = [{"question_type": kind, "reason": why} for kind, why in self._impossible]
        if not questions and not gone:
            return say("I have no idea.")
        return call("submit_questions", questions=questions, not_possible=gone)

    def _answer(self, request: Request) -> AssistantMessage:
        several = _SEVERAL.findall(told(request))
        if several:
            given = [(int(n), _given(Fate(fate), int(number), first=True)) for n, fate, number in several]
            return call("submit_grounded_answers", answers=[one | {"number": n} for n, one in given if one])
        first = "Rejected answers and why:\n(none)" in told(request)
        one = _given(*_asked(request), first=first)
        return call("submit_grounded_answers", **one) if one else say("Hm.")

    def _validate(self, request: Request) -> AssistantMessage:
        if request.tools[-1].name == "submit_comparisons":
            pairs = [(int(n), Fate(fate)) for n, fate in _PAIR.findall(told(request))]
            heard = [(n, fate) for n, fate in pairs if fate is not Fate.OVERLOOKED or len(pairs) == 1]
            heard = heard or [(len(pairs) + 1, Fate.GOOD)]
            return call(
                "submit_comparisons", comparisons=[_compared(fate) | {"number": n} for n, fate in heard]
            )
        found = [(int(n), Fate(fate), int(at)) for n, fate, at in _BLIND.findall(told(request))]
        if request.tools[-1].name in (GUESS, f"{GUESS}s"):
            asked = [one[1:] for one in found] or [_asked(request)]
            said = [_line(at) if fate is Fate.KNOWN else "unknown" for fate, at in asked]
            several = [{"number": number, "answer": one} for number, one in enumerate(said, 1)]
            return call(f"{GUESS}s", answers=several) if len(said) > 1 else call(GUESS, answer=said[0])
        several = [_blind(fate, at) | {"number": n} for n, fate, at in found if fate is not Fate.UNHEARD]
        return call("submit_answers", **{"answers": several} if found else _blind(*_asked(request)))


def _compared(fate: Fate) -> dict[str, Any]:
    checks = dict.fromkeys(CRITERIA, True) | {"explanation": "Seen."}
    return checks | {"matches": fate is not Fate.WRONG, "of_type": fate is not Fate.LOOKUP}


def _line(number: int) -> str:
    return LINES[1 + number % 6]


def _blind(fate: Fate, number: int) -> dict[str, Any]:
    answer = FALSE if fate is Fate.FALSE else _line(number + (fate is Fate.MENDED))
    return {"answerable": fate is not Fate.NOWHERE, "answer": answer, "evidence": [], "unambiguous": True}


def _given(fate: Fate, number: int, *, first: bool) -> dict[str, Any]:
    """The answer to a question; empty if there is none."""
    line = _line(number + (fate is Fate.MENDED and not first))
    if fate is Fate.SILENT:
        return {}
    if fate is Fate.HONEST:
        return {"answer": "Insufficient information in the document."}
    false = fate is Fate.FALSE or (fate is Fate.LATE and first)
    quote = "This is nowhere in it." if fate is Fate.UNPROVEN else line
    return {"answer": FALSE if false else line, "evidence": [{"quote": quote}]}


def _asked(request: Request) -> tuple[Fate, int]:
    """The question a request is about: the last one in it."""
    fate, number = _ASKED.findall(told(request))[-1]
    return Fate(fate), int(number)
