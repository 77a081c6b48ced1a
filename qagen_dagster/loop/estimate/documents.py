"""Estimates the calls, tokens and time of a document, from a table or from finished documents.

The table is in `assumed_calls.py`. The amounts of finished documents are multiplied by a factor: the table's amounts for the new
document divided by its amounts for the finished documents.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import quantiles

from qagen_dagster.configuration.profiles import Role
from qagen_dagster.loop.estimate import assumed_calls
from qagen_dagster.loop.estimate.amounts import METRICS, Range, Use, total
from qagen_dagster.models.base import ModelSpec
from qagen_dagster.models.budget import FREE_PROVIDERS
from qagen_dagster.models.rate_limits import TOKEN_CHARACTERS

CHARACTERS_PER_QUESTION = 250  # if the text is shorter than this times the target, the questions run out
ENOUGH = 5  # finished documents of the combination that are enough; if there are fewer, those of other combinations are used as well
# The narrowest ranges, as factors: with enough documents of the combination, with enough documents in all, and with fewer.
FROM_OWN, FROM_OTHERS, FROM_FEW = 1.5, 2.0, 3.0
_PARTS = 20  # parts of equal size into which finished documents are divided; ranges leave out the first and the last part
_CACHING = ("openai", "anthropic")  # providers that cache the common beginning of requests
_READING = ("input_tokens", "cached_tokens", "cache_write_tokens")


@dataclass(frozen=True)
class Document:
    """A document from which `target` questions are wanted."""

    size: float  # characters of its text
    subjects: float  # characters that questions of the mode can be about
    target: int
    staged: int = field(
        default=0, kw_only=True
    )  # of the target, those without an answer and across documents
    imported: int = field(default=0, kw_only=True)  # of the target, the questions that people asked

    @property
    def questions(self) -> float:
        """The number of questions that the document is likely to give."""
        given = self.staged + self.imported
        return min(float(self.target - given), self.subjects / CHARACTERS_PER_QUESTION) + given


@dataclass(frozen=True)
class Example(Document):
    """A finished document."""

    accepted: int
    uses: Mapping[str, Use]  # amounts by role


class DocumentEstimator:
    """Estimates single documents of one combination."""

    def __init__(
        self,
        rows: Mapping[Role, assumed_calls.Row],
        models: Mapping[Role, ModelSpec],
        own: Sequence[Example] = (),
        others: Sequence[Example] = (),
    ) -> None:
        """`own` has finished documents of the combination, `others` those of other combinations."""
        self._rows, self._models = rows, models
        examples = [*own, *(others if len(own) < ENOUGH else ())]
        self.guessed = not examples
        self.basis = _basis(len(own), len(examples) - len(own))
        self._seen = {
            role.value: total(one.uses.get(role.value, Use()) for one in examples) for role in models
        }
        self._usual = total(use for one in examples for use in self._table(one).values())
        questions = sum(one.questions for one in examples)
        self._pass_rate = sum(one.accepted for one in examples) / questions if questions else 1.0
        enough = FROM_OWN if len(own) >= ENOUGH else FROM_OTHERS
        self.around = self._spread(examples, enough if len(examples) >= ENOUGH else FROM_FEW)

    def uses(self, document: Document) -> dict[str, Use]:
        """The estimated amounts of each role for a document."""
        table = self._table(document)
        if self.guessed:
            return table
        new, usual = total(table.values()), self._usual
        calls, reading = new.calls / usual.calls, new.input_tokens / usual.input_tokens
        factors = [reading if name in _READING else calls for name in METRICS]
        return {
            role: Use(*(amount * factor for amount, factor in zip(seen, factors, strict=True)))
            for role, seen in self._seen.items()
        }

    def accepted(self, document: Document) -> float:
        """The estimated number of accepted questions of a document."""
        return min(float(document.target), self._pass_rate * document.questions)

    def call(self, role: Role) -> Use:
        """The amounts of one call that shows no document."""
        return self._calls(role, 1.0, 0.0)

    def _spread(self, examples: Sequence[Example], least: float) -> Range:
        """The range of amounts as factors of the estimate. Nine of ten finished documents lie in it."""
        taken = [_tokens(one.uses) / (_tokens(self.uses(one)) or 1.0) for one in examples]
        cuts = quantiles(taken, n=_PARTS, method="inclusive") if len(taken) > 1 else [1.0]
        return Range(low=min(1 / least, cuts[0]), expected=1.0, high=max(least, cuts[-1]))

    def _table(self, document: Document) -> dict[str, Use]:
        """The amounts of each role for a document, from the rows of the table."""
        return {role.value: self._by_row(role, spec, document) for role, spec in self._models.items()}

    def _by_row(self, role: Role, spec: ModelSpec, document: Document) -> Use:
        row = self._rows[role]
        shown = min(document.size, row.shown, spec.opening_characters)
        # A validator that is not shown the whole document reads parts of it for each question.
        each_shows = row.each_shows or (role is Role.VALIDATOR and document.size > shown)
        proved = document.staged
        answered = document.questions - proved
        each = row.each * answered
        shows = row.once + (each if each_shows else 0.0)
        proofs = row.unanswered_once * bool(proved) + row.unanswered_each * proved
        shows += proved if row.unanswered_each else row.unanswered_once * bool(proved)
        blank = self._calls(role, row.each_blank * answered, 0.0, assumed_calls.SHORT)
        return blank.plus(self._calls(role, row.once + each + proofs, shows * shown / TOKEN_CHARACTERS))

    def _calls(
        self, role: Role, calls: float, document_tokens: float, row: assumed_calls.Row | None = None
    ) -> Use:
        """The amounts of calls with the prompt and the output of a row, by default that of the role."""
        spec, row = self._models[role], row or self._rows[role]
        if spec.provider in FREE_PROVIDERS:
            return assumed_calls.LOCAL_CALL.times(calls)
        return Use(
            calls=calls,
            input_tokens=calls * row.prompt + document_tokens,
            cached_tokens=document_tokens if spec.provider in _CACHING else 0.0,
            output_tokens=calls * row.output,
            seconds=calls * (assumed_calls.START_SECONDS + row.output / assumed_calls.TOKENS_PER_SECOND),
        )


def _basis(own: int, others: int) -> str:
    """A description of the documents on which an estimate is based."""
    sources = {"this combination": own, "other combinations": others}
    parts = [f"{count} of {source}" for source, count in sources.items() if count]
    return f"from past documents: {', '.join(parts)}" if parts else "no past runs: a rough guess"


def _tokens(uses: Mapping[str, Use]) -> float:
    return sum(use.input_tokens + use.output_tokens for use in uses.values())
