"""The mix of a scenario, worked by both strategies with scripted models."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from qagen_dagster.agents.questions.mix import OTHER, Mix
from qagen_dagster.agents.questions.prompt_values import QAContext
from qagen_dagster.loop.questions.document_journal import DocumentJournal
from qagen_dagster.loop.questions.document_work import DocumentWork, QAModels
from qagen_dagster.loop.questions.run_document import run_document
from qagen_dagster.loop.questions.stopping import QALimits, limits_of
from qagen_dagster.models.messages import AssistantMessage, Request
from qagen_dagster.records.corpus_options import QuestionType, ScenarioConfig
from qagen_dagster.records.document import Visual, VisualType
from qagen_dagster.records.ids import Combination, Mode
from qagen_dagster.records.questions.results import DocumentEnd, GenerationResult
from qagen_dagster.store import Store
from tests.support.batches.play import BatchPlay, Fate, Round
from tests.support.batches.run import fresh
from tests.support.batches.run import limits_of as batch_limits
from tests.support.documents import MANUAL, TABLE, context_of, visual_context
from tests.support.models import CRITERIA, FakeModel, call, told

LINES = MANUAL.split("\n")
FIGURE = Visual(label="Figure 1", type=VisualType.FIGURE, page=2, caption="Drift by month", start_line=8)
Ask = tuple[str, tuple[int, ...]]  # type of a question, and the lines (from 1) of its evidence
ONE, TWO, FOUR, SIX = (2,), (4,), (6,), (2, 6)


def submission(ask: Ask, number: int, visual: str = "") -> AssistantMessage:
    kind, lines = ask
    return call(
        "submit_qa",
        question=f"Which words of the probe stand in place {chr(96 + number) * 3}?",
        answer=" ".join(LINES[lines[0] - 1].split()[:3]),
        evidence=[{"quote": LINES[line - 1], "start_line": line} for line in lines],
        question_type=kind,
        **({"visuals": [visual]} if visual else {}),
    )


def validate(request: Request) -> AssistantMessage:
    name = request.tools[-1].name
    if name == "submit_comparisons":
        return call(name, explanation="I compared.", **dict.fromkeys(CRITERIA, True))
    return call("submit_answers", answerable=True, answer="my own words", evidence=[], unambiguous=True)


class Agents:
    """A generator that submits, in each attempt, what its piece has for it, one after the other, and keeps what it was told."""

    def __init__(self, piece: list[list[Ask]], visuals: tuple[str, ...] = ()) -> None:
        self._piece, self._visuals = piece, visuals
        self.told: list[str] = []
        unique = FakeModel(lambda _request: call("submit_duplicate_verdict", verdict="unique"))
        self.models = QAModels(FakeModel(self._generate), FakeModel(validate), unique, overlap=False)

    def _generate(self, request: Request) -> AssistantMessage:
        self.told.append(told(request))
        turn = sum(isinstance(one, AssistantMessage) for one in request.messages)
        if request.sample > len(self._piece):
            return call("report_exhausted", reason="Nothing is left.")
        asks = self._piece[request.sample - 1]
        before = sum(map(len, self._piece[: request.sample - 1]))
        at = min(turn, len(asks) - 1)
        return submission(asks[at], before + at + 1, self._visuals[before + at] if self._visuals else "")


def scenario(mix: dict[str, float], **more: Any) -> ScenarioConfig:
    given = {
        "name": "Service desk",
        "description": "Short.",
        "closed_book": False,
        "text_control": False,
        "mix": mix,
    }
    return ScenarioConfig.model_validate({**given, **more})


def play(
    models: QAModels,
    mix: dict[str, float],
    context: QAContext | None = None,
    limits: QALimits | None = None,
    store: Store | None = None,
) -> GenerationResult:
    context = replace(context or context_of(), scenario=scenario(mix, target_count=2))
    limits = limits or limits_of(context.scenario, None).model_copy(update={"max_consecutive_failures": 1})
    view = context.view
    counted = Mix.of(context.scenario, context.mode, limits.target_count, view.document.id, view.visuals)
    combination = Combination(corpus="probes", scenario="service", mode=context.mode)
    work = DocumentWork(combination, context, limits.model_copy(update={"mix": counted}), "f" * 16)
    journal = DocumentJournal(store or fresh(), "journals/j.json", "w")
    return run_document(work, models, journal)


@pytest.mark.parametrize(
    ("mix", "piece", "given", "wanted"),
    [
        (
            {"causal": 0.5, "factual": 0.5},
            [[("factual", ONE)], [("Factual", TWO), ("causal", FOUR)]],
            {"factual": 1, "causal": 1},
            "no more questions of the kind 'factual' are wanted, but 1 causal.",
        ),
        (
            {"basic": 0.5, "advanced": 0.5},
            [[("numeric", ONE)], [("definition", TWO), ("temporal", FOUR)]],
            {"numeric": 1, "temporal": 1},
            "no more questions of the kind 'basic' are wanted, but 1 advanced.",
        ),
        (
            {"one_passage": 0.5, "two_passages": 0.5},
            [[("factual", SIX)], [("factual", SIX), ("factual", FOUR)]],
            {"factual": 2},
            "no more questions of the kind 'two_passages' are wanted, but 1 one_passage.",
        ),
        (
            {"causal": 0.5, "one_passage": 1.0},
            [[("causal", ONE)], [("causal", TWO), ("temporal", SIX), ("temporal", FOUR)]],
            {"causal": 1, "temporal": 1},
            "but 1 not causal; and of these 1 one_passage.",
        ),
    ],
)  # fmt: skip
def test_an_agent_is_told_what_is_wanted_and_may_submit_another(
    mix: dict[str, float], piece: list[list[Ask]], given: dict[str, int], wanted: str
) -> None:
    agents = Agents(piece)
    found = play(agents.models, mix)
    assert (found.end, found.shortfalls) == (DocumentEnd.TARGET_REACHED, ())
    assert Counter(pair.question_type for pair in found.accepted) == given
    assert "Not accepted: no more questions of the kind" in agents.told[-1]
    assert wanted in agents.told[-1]
    assert "questions that are still wanted: " in agents.told[0]
    assert found.planned == {kind: 2 * share for kind, share in mix.items()}
    assert not found.rejected


def test_what_is_not_wanted_ends_no_document_by_failures_and_is_told_as_missing() -> None:
    kind: list[Ask] = [("factual", ONE)] * 4
    agents = Agents([kind, kind, kind, kind, [("factual", TWO)]])
    found = play(agents.models, {"causal": 0.5, "factual": 0.5})
    assert [one.rejection_reason for one in found.rejected] == ["not_wanted"] * 4
    assert found.end is DocumentEnd.EXHAUSTED_REPORTED
    (missing,) = found.shortfalls
    assert (missing.question_type, missing.wanted, missing.accepted) == ("causal", 1, 0)
    assert missing.reason == "0 written; the generator: Nothing is left."
    assert found.end_detail == "Nothing is left.; missing: 1 causal"
    assert sum("Not accepted" in one for one in agents.told) == 4 * 3, "at most three times in an attempt"


def test_another_mix_goes_on_from_the_journal_and_back() -> None:
    piece: list[list[Ask]] = [[("factual", ONE)], [("factual", TWO), ("causal", FOUR)], [("temporal", (3,))]]
    store = fresh()
    half, later = {"causal": 0.5, "factual": 0.5}, {"factual": 0.0}
    first = play(Agents(piece).models, half, store=store)
    other = play(Agents(piece).models, later, store=store)
    assert [pair.question_type for pair in other.accepted] == ["causal", "temporal"]
    again = play(Agents(piece).models, half, store=store)
    assert [pair.question for pair in again.accepted] == [pair.question for pair in first.accepted]


def test_the_validator_judges_the_types_that_the_mix_counts() -> None:
    agents = Agents([[("causal", ONE)]])
    validator = agents.models.validator
    assert isinstance(validator, FakeModel)
    play(agents.models, {"causal": 0.5})
    assert "\ncausal: " in told(validator.requests[-1])


@pytest.mark.parametrize("first", ["Table 1", "Figure 1"])
def test_visuals_of_each_kind_are_counted(first: str) -> None:
    view = replace(visual_context().view, visuals=(TABLE, FIGURE))
    context = replace(visual_context(), view=view)
    other = "Table 1" if first == "Figure 1" else "Figure 1"
    agents = Agents([[("numeric", (10,))], [("numeric", (11,))] * 2], (first, first, other))
    found = play(agents.models, {"table": 0.5, "figure": 0.5}, context)
    assert [pair.content_refs for pair in found.accepted] == [(first,), (other,)]
    assert found.end is DocumentEnd.TARGET_REACHED
    assert found.planned == {"table": 1, "figure": 1}


@pytest.mark.parametrize(
    ("mix", "piece", "given", "missing"),
    [
        ({"causal": 0.5, "multi_hop": 0.5}, ["causal", "causal", "multi_hop"], {"causal": 1, "multi_hop": 1}, {}),
        ({"basic": 1.0}, ["factual", "causal", "factual"], {"factual": 2}, {}),
        ({"causal": 0.5, "basic": 0.5}, ["factual", "causal"], {"causal": 1, "factual": 1}, {}),
        ({"causal": 1.0, "one_passage": 1.0}, ["causal", "causal"], {"causal": 2}, {}),
        (
            {"causal": 1.0, "one_passage": 0.5, "two_passages": 0.5},
            ["causal", "causal"],
            {"causal": 1},
            {"causal": "2 written, rejected: 1 not_wanted; ", "two_passages": "0 written; "},
        ),
    ],
)  # fmt: skip
def test_a_batch_has_the_same_mix(
    mix: dict[str, float], piece: list[str], given: dict[str, int], missing: dict[str, str]
) -> None:
    asked: Round = [(kind, Fate.GOOD) for kind in piece]
    limits = batch_limits({QuestionType.CAUSAL: 2})
    limits = limits.model_copy(update={"options": limits.options.model_copy(update={"mix": None})})
    seen: list[str] = []
    batch = BatchPlay(
        [asked], lambda role, request: seen.append(told(request)) if role == "generator" else None
    )
    found = play(batch.models, mix, limits=limits)
    assert Counter(pair.question_type for pair in found.accepted) == given
    assert {
        one.question_type: one.reason[: len(missing[one.question_type])] for one in found.shortfalls
    } == missing
    assert ("of these, apart from a reserve: 1 one_passage, 1 two_passages" in seen[0]) is bool(missing)


@pytest.mark.parametrize("total", [1, 2, 5, 7])
def test_over_a_corpus_the_shares_hold_in_each_group(total: int) -> None:
    found = Counter[str]()
    for number in range(500):
        given = scenario({"causal": 0.3, "advanced": 0.2, "two_passages": 0.4, "unanswerable": 0.1})
        mix = Mix.of(given, Mode.TEXTUAL, total, f"paper-{number}.pdf", ())
        assert mix is not None
        assert all(sum(counts.values()) == total for counts in mix.counts)
        found.update(mix.named)
    for kind, share in (("causal", 0.3), ("advanced", 0.2), ("two_passages", 0.4)):
        assert abs(found[kind] - 500 * total * share) < 40
    assert OTHER not in found
