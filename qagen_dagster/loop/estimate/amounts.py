"""Amounts of model calls: plain numbers (`Use`), ranges (`Range`, `Amounts`), their price, and the table of assumed amounts.

The table has the calls and tokens of each role, per document and per question, and the assumed speed of models.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from math import inf
from typing import NamedTuple

from qagen_dagster.configuration.profiles import Role
from qagen_dagster.loop.questions.no_answer.prove import CONTROLS, DOCUMENTS
from qagen_dagster.loop.shared_budget import unique_calls
from qagen_dagster.models.call_cost import usd
from qagen_dagster.models.messages import Usage
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.base import Record
from qagen_dagster.records.corpus_options import Strategy
from qagen_dagster.records.ids import Mode
from qagen_dagster.records.run import CallSummary

_FINE = 1000  # prices are computed for this multiple of the amounts, as usage has whole tokens


class Use(NamedTuple):
    """Calls of a model and their amounts. In an estimate these can be fractions."""

    calls: float = 0.0
    input_tokens: float = 0.0
    cached_tokens: float = 0.0  # part of the input
    output_tokens: float = 0.0
    reasoning_tokens: float = 0.0  # part of the output
    seconds: float = 0.0  # time of the model, not wall-clock time
    cache_write_tokens: float = 0.0  # part of the input

    def plus(self, other: "Use") -> "Use":
        return Use(*(a + b for a, b in zip(self, other, strict=True)))

    def times(self, factor: float) -> "Use":
        return Use(*(value * factor for value in self))

    def without(self, other: "Use") -> "Use":
        """The amounts that are left after `other` is subtracted, but at least 0."""
        return Use(*(max(0.0, a - b) for a, b in zip(self, other, strict=True)))


METRICS = Use._fields


def total(uses: Iterable[Use]) -> Use:
    """The sum of all amounts."""
    return reduce(Use.plus, uses, Use())


def use_of(calls: Iterable[CallSummary]) -> dict[str, Use]:
    """The amounts of calls by role. A repeated request counts once."""
    found: dict[str, Use] = {}
    for call in unique_calls(calls):
        use = Use(1.0, *(float(getattr(call, name)) for name in METRICS[1:]))
        found[call.role] = found.get(call.role, Use()).plus(use)
    return found


class Range(Record):
    """A range from the lowest to the highest likely value."""

    low: float
    expected: float
    high: float

    def plus(self, other: "Range") -> "Range":
        """The sum of two ranges. It assumes that both values are low or high together, so the sum is never too narrow."""
        return Range(
            low=self.low + other.low, expected=self.expected + other.expected, high=self.high + other.high
        )

    def times(self, factor: float) -> "Range":
        return Range(low=self.low * factor, expected=self.expected * factor, high=self.high * factor)


NOTHING = Range(low=0.0, expected=0.0, high=0.0)


class Amounts(Record):
    """The expected amounts of model calls, as ranges."""

    calls: Range = NOTHING
    input_tokens: Range = NOTHING
    cached_tokens: Range = NOTHING  # part of the input
    cache_write_tokens: Range = NOTHING  # part of the input
    output_tokens: Range = NOTHING
    reasoning_tokens: Range = NOTHING  # part of the output
    usd: Range | None = NOTHING  # None if a price that is needed is unknown
    seconds: Range = NOTHING  # for a role, the time of its model; for other amounts, wall-clock time

    def plus(self, other: "Amounts") -> "Amounts":
        together = {name: getattr(self, name).plus(getattr(other, name)) for name in METRICS}
        money = None if self.usd is None or other.usd is None else self.usd.plus(other.usd)
        return Amounts(**together, usd=money)


def price(spec: ModelSpec, use: Use, by_batch: float) -> float | None:
    """US dollars for `use`; the share `by_batch` of it gets the discount of batches. None if a required price is unknown."""
    if not use.calls:
        return 0.0
    tokens = {name: round(getattr(use, name) * _FINE) for name in METRICS if name in Usage.model_fields}
    found = usd(spec, Usage(**tokens))
    return None if found is None else found / _FINE * (1 - by_batch * spec.batch_discount)


# A call of an embedded model.
LOCAL_CALL = Use(calls=1.0, input_tokens=1_200.0, output_tokens=25.0, seconds=0.05)
START_SECONDS, TOKENS_PER_SECOND = 1.5, 60  # speed of a model on a server


@dataclass(frozen=True)
class Row:
    """The usual calls of a role."""

    once: float  # calls for the document, which show the document
    each: float  # calls for each question
    prompt: int  # tokens of a call besides the document
    output: int  # tokens of a call
    shown: float = inf  # maximum characters of the document that a call shows
    each_shows: bool = False  # whether the calls for a question show the document, too
    each_blank: float = 0  # calls for each question that never show the document
    # Calls for questions without an answer:
    unanswered_once: float = 0  # for the document; they show it only if `unanswered_each` is 0
    unanswered_each: float = 0  # for each question; one of them shows the document


# Calls for each proved question: with all passages, with the document, with each other document, and 1.5 for refused candidates.
_EACH_PROOF = DOCUMENTS + 3.5
SHORT = Row(once=0, each=1, prompt=350, output=60)  # a call that shows only the question
# A judge grades the pool of a question, of depth 20, in four calls.
LABELS = Use(calls=4.0, input_tokens=12_000.0, output_tokens=400.0, seconds=16.0)
# A member of the panel answers from five passages.
PANEL = Use(calls=1.0, input_tokens=1_200.0, output_tokens=60.0, seconds=3.0)
_DUPLICATES = Row(once=0, each=0.6, prompt=600, output=150)
TABLE: Mapping[tuple[Strategy, Mode], Mapping[Role, Row]] = {
    (Strategy.AGENT, Mode.TEXTUAL): {
        Role.GENERATOR: Row(once=1, each=3.5, prompt=3_000, output=200, each_shows=True, unanswered_once=1.5),
        Role.VALIDATOR: Row(
            once=0,
            each=3.5,
            prompt=1_700,
            output=200,
            each_shows=True,
            each_blank=1,
            unanswered_once=CONTROLS,
            unanswered_each=_EACH_PROOF,
        ),
        Role.DEDUPLICATOR: _DUPLICATES,
    },
    (Strategy.AGENT, Mode.VISUAL): {
        Role.GENERATOR: Row(once=2, each=4, prompt=5_500, output=200, shown=16_000, each_shows=True),
        Role.VALIDATOR: Row(
            once=0, each=5, prompt=3_000, output=200, shown=24_000, each_shows=True, each_blank=1
        ),
        Role.DEDUPLICATOR: _DUPLICATES,
    },
    (Strategy.ACROSS, Mode.TEXTUAL): {  # the documents are shown in passages
        Role.GENERATOR: Row(once=3, each=0, prompt=6_000, output=300, shown=0),
        Role.VALIDATOR: Row(once=0, each=7, prompt=4_000, output=120, shown=0, each_blank=1),
        Role.DEDUPLICATOR: _DUPLICATES,
    },
    (Strategy.BATCH, Mode.TEXTUAL): {
        Role.GENERATOR: Row(once=1, each=0, prompt=1_700, output=450, unanswered_once=1.5),
        Role.VALIDATOR: Row(
            once=1,
            each=0.8,
            prompt=1_500,
            output=300,
            each_blank=0.1,
            unanswered_once=CONTROLS,
            unanswered_each=_EACH_PROOF,
        ),
        Role.DEDUPLICATOR: _DUPLICATES,
        Role.ANSWERER: Row(once=1, each=0.3, prompt=1_700, output=650, each_shows=True),
        Role.JUDGE: Row(once=0, each=1, prompt=2_000, output=150),
    },
}
