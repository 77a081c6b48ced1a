"""A document, an encoder that needs no model, and judges that answer well or badly."""

from __future__ import annotations

from collections.abc import Callable

from qagen_dagster.errors import (
    BudgetExhaustedError,
    ContextOverflowError,
    MalformedResponseError,
    PermanentModelError,
    RateLimitedError,
    TransientModelError,
)
from qagen_dagster.grounding.judge import TERMINAL, Judge
from qagen_dagster.grounding.source import Source
from qagen_dagster.models.messages import AssistantMessage, Response, Stop
from tests.support.models import FakeModel, Turn, answer, call, say

TEXT = """Ardmore Water Works, annual report

The pumping station at Ardmore opened in May 1931. It supplies twelve villages with drinking water.
Peter Keane was its chief engineer until 1950.
The cooling tower was never repaired after the storm of 1962.
"""
COPIED = "The pumping station at Ardmore opened in May 1931."
FOREIGN = "Penguins huddle together during antarctic blizzards."
WRONG = "The pumping station at Ardmore opened in May 1932."
QUESTION = "When did the pumping station open?"


def source(text: str = TEXT) -> Source:
    return Source(text)


def verdict(said: str, confidence: float = 0.9, reason: str = "as line 3 shows") -> AssistantMessage:
    return call(TERMINAL, verdict=said, confidence=confidence, reason=reason)


def judge(*turns: Turn) -> FakeModel:
    return FakeModel(list(turns), name="judge")


def judged(*turns: Turn) -> Judge:
    return Judge(judge(*turns))


def _stopped(stop: Stop, words: str = "") -> Response:
    return answer(say(words), stop)


# Judges that give no verdict, and a word of the reason that must be kept.
FAILURES: dict[str, tuple[Callable[[], FakeModel], str]] = {
    "garbage": (lambda: judge(say("I like trains."), say("Trains!")), "no_tool_call"),
    "empty": (lambda: judge(say(""), say("")), "no_tool_call"),
    "cut": (
        lambda: judge(_stopped(Stop.LENGTH, "Let me"), _stopped(Stop.LENGTH, "think")),
        "output_limit: cut off at",
    ),
    "verdict_without_confidence": (
        lambda: judge(say('{"verdict": "SUPPORTED"}'), say('{"verdict": "SUPPORTED"}')),
        "confidence: Field required",
    ),
    "unknown_verdict": (lambda: judge(verdict("MAYBE"), verdict("PERHAPS")), "max_turns"),
    "confidence_out_of_range": (
        lambda: judge(verdict("SUPPORTED", 7), verdict("SUPPORTED", -1)),
        "max_turns",
    ),
    "not_a_number": (
        lambda: judge(verdict("SUPPORTED", float("nan")), verdict("SUPPORTED", float("inf"))),
        "max_turns",
    ),
    "other_tool": (lambda: judge(call("search", query="x"), call("search", query="y")), "faulty_calls"),
    "both_verdicts": (
        lambda: judge(*[say("verdict: SUPPORTED or verdict: NOT_SUPPORTED, confidence: 0.5")] * 2),
        "no_tool_call",
    ),
    "refusal": (lambda: judge(_stopped(Stop.REFUSAL, "I cannot help with that.")), "refused"),
    "filter": (lambda: judge(_stopped(Stop.FILTER)), "filtered"),
    "filtered_verdict": (
        lambda: judge(_stopped(Stop.FILTER, '{"verdict": "SUPPORTED", "confidence": 1}')),
        "filtered",
    ),
    "timeout": (lambda: judge(TransientModelError("no answer within 120 s")), "no answer within 120 s"),
    "timeout_at_repair": (lambda: judge(say("hm"), TransientModelError("no answer")), "no answer"),
    "rate_limit": (lambda: judge(RateLimitedError("429")), "RateLimited: 429"),
    "bad_key": (lambda: judge(PermanentModelError("401")), "Permanent"),
    "budget": (lambda: judge(BudgetExhaustedError("run: 1.00 usd")), "BudgetExhausted: run: 1.00 usd"),
    "malformed": (lambda: judge(MalformedResponseError("no choices")), "malformed: no choices"),
    "too_large": (lambda: judge(ContextOverflowError("8k")), "context_overflow: 8k"),
}
