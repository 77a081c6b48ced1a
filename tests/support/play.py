"""Three models that play a fixed piece on one document: what each attempt comes to, by its number.

Every reply is a function of the request alone, so a piece goes on the same after an interruption.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from qagen_dagster.loop.questions.document_work import QAModels
from qagen_dagster.models.messages import AssistantMessage, Request
from tests.support.documents import MANUAL
from tests.support.models import CRITERIA, FakeModel, Turn, call, say

LINES = MANUAL.split("\n")


class Outcome(StrEnum):
    """What an attempt comes to."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    UNPROVEN = "evidence_not_found"
    NO_CALL = "generation_failed"
    UNANSWERABLE = "unanswerable"
    WRONG = "wrong_answer"
    NO_VERDICT = "validator_failed"
    EXHAUSTED = "exhausted"


class Play:
    """The models of one piece. `before(role, request)` runs ahead of each call and may raise.

    `paid` stands for the ledger: a request in it is answered from there, and neither logged nor announced.
    """

    def __init__(
        self,
        piece: list[Outcome],
        before: Callable[[str, Request], None] = lambda _role, _request: None,
        paid: dict[str, Turn] | None = None,
    ) -> None:
        self._piece, self._before, self._paid = piece, before, paid
        self.log: list[tuple[str, str]] = []  # role and canonical request of every call that was answered
        self.models = QAModels(
            generator=self._model("generator", self._generate),
            validator=self._model("validator", self._validate),
            deduplicator=self._model("deduplicator", self._compare),
            encode=_all_alike,
        )

    def _model(self, role: str, play: Callable[[Request], Turn]) -> FakeModel:
        def respond(request: Request) -> Turn:
            key = request.canonical()
            if self._paid is not None and key in self._paid:
                return self._paid[key]
            self._before(role, request)
            self.log.append((role, key))
            turn = play(request)
            if self._paid is not None:
                self._paid[key] = turn
            return turn

        return FakeModel(respond, name=role)

    def _outcome(self, request: Request) -> Outcome:
        return self._piece[request.sample - 1]

    def _generate(self, request: Request) -> AssistantMessage:
        outcome = self._outcome(request)
        if outcome is Outcome.NO_CALL:
            return say("I am still thinking.")
        if outcome is Outcome.EXHAUSTED:
            return call("report_exhausted", reason="Nothing is left.")
        if _turn(request) == 0:
            return call("read_lines")
        line = 2  # one answer to all, so that words and answers leave every pair to the deduplicator
        quote = "This is nowhere." if outcome is Outcome.UNPROVEN else LINES[line]
        return call(
            "submit_qa",
            question=f"Which words stand in place {chr(96 + request.sample) * 3}?",
            answer=" ".join(LINES[line].split()[:3]),
            evidence=[{"quote": quote, "start_line": line + 1}],
        )

    def _compare(self, request: Request) -> AssistantMessage:
        if self._outcome(request) is Outcome.DUPLICATE:
            return call(
                "submit_duplicate_verdict", verdict="duplicate", duplicate_of=1, explanation="the same"
            )
        return call("submit_duplicate_verdict", verdict="unique")

    def _validate(self, request: Request) -> AssistantMessage:
        outcome = self._outcome(request)
        if outcome is Outcome.NO_VERDICT:
            return say("Hard to say.")
        if "submit_comparisons" in {tool.name for tool in request.tools}:
            checks = dict.fromkeys(CRITERIA, True)
            return call(
                "submit_comparisons",
                **checks | {"matches": outcome is not Outcome.WRONG},
                explanation="I compared.",
            )
        if _turn(request) == 0:
            return call("read_lines", start_line=1)
        return call(
            "submit_answers",
            answerable=outcome is not Outcome.UNANSWERABLE,
            answer="my answer",
            evidence=[{"quote": LINES[0], "start_line": 1}],
            unambiguous=True,
            note="I looked.",
        )


def _all_alike(questions: Sequence[str]) -> NDArray[np.float32]:
    return np.ones((len(questions), 1), dtype=np.float32)


def _turn(request: Request) -> int:
    return sum(isinstance(message, AssistantMessage) for message in request.messages)
