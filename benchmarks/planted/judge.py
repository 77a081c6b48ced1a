"""Sends a candidate through the steps of the package: the generator submits it, the validator answers and compares.

Both models are scripts. The validator's blind answer is the right one. Its comparison agrees to everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from benchmarks.planted.documents import Page
from benchmarks.planted.faults import Planted
from qagen_dagster.agents.questions import generator
from qagen_dagster.agents.questions.evidence.quote_search import skeleton
from qagen_dagster.agents.questions.prompt_values import History, QAContext
from qagen_dagster.agents.questions.validator import judge, rejection
from qagen_dagster.loop.questions import model_checks
from qagen_dagster.loop.questions.document_work import DocumentWork, QAModels
from qagen_dagster.loop.questions.state import Controlled, Validate
from qagen_dagster.loop.questions.stopping import QALimits
from qagen_dagster.models.messages import AssistantMessage, Request, ToolSpec
from qagen_dagster.records.corpus_options import CorpusConfig, ScenarioConfig
from qagen_dagster.records.ids import Combination, Mode
from qagen_dagster.records.questions.results import Candidate
from tests.support.models import FakeModel, call, told

SCENARIO = ScenarioConfig(
    name="Facts", description="Questions on single facts, and on sums and counts.", target_count=3
)
CORPUS = CorpusConfig(name="Public documents", corpus_context="Reports, articles, books and court opinions.", scenarios={"facts": SCENARIO})  # fmt: skip
COMBINATION = Combination(corpus="public", scenario="facts", mode=Mode.TEXTUAL)


_WIDENED = ("fragment", "pronoun", "row alone")  # kinds whose evidence code can complete


@dataclass(frozen=True)
class Outcome:
    """What became of a candidate. `stage`: code, blind, comparison; empty if it was accepted."""

    planted: Planted
    stage: str
    reason: str
    detail: str = ""

    @property
    def kept(self) -> bool:
        return not self.stage


@lru_cache(maxsize=4)
def _context(page: Page) -> QAContext:
    return QAContext(CORPUS, SCENARIO, Mode.TEXTUAL, page.view)


def outcome(planted: Planted) -> Outcome:
    """Send one candidate through all steps."""
    context = _context(planted.fact.page)
    found = generator.propose(context, FakeModel(lambda _: _submission(planted)), History(), 1)
    if not isinstance(found, generator.Proposed):
        return Outcome(planted, "code", "no candidate", found.reason)
    candidate = found.candidate
    if candidate.gate is not None:
        return Outcome(planted, "code", candidate.gate.value, candidate.gate_detail)
    if planted.kind in _WIDENED and not planted.good and _mended(planted, candidate):
        return Outcome(planted, "code", "widened")
    return _validated(planted, candidate, context)


def _submission(planted: Planted) -> AssistantMessage:
    values: dict[str, Any] = {
        "question": planted.question,
        "answer": planted.answer,
        "evidence": [{"quote": quote} for quote in planted.quotes],
        "question_type": planted.question_type,
    }
    if planted.computation is not None:
        values["computation"] = planted.computation
    return call("submit_qa", **values)


def _mended(planted: Planted, candidate: Candidate) -> bool:
    """Whether the stored evidence has what was left out of the submitted quotes."""
    stored = "".join(skeleton(place.quote).text for place in candidate.evidence)
    return skeleton(planted.whole or planted.fact.quotes[0]).text in stored


def _validated(planted: Planted, candidate: Candidate, context: QAContext) -> Outcome:
    asked: list[Request] = []

    def respond(request: Request) -> AssistantMessage:
        asked.append(request)
        return _blind(planted, request) or _from_passages(planted, request) or _agree(request.tools[0])

    model = FakeModel(respond)
    limits = QALimits(target_count=3, max_consecutive_failures=3, max_attempts=9)
    work = DocumentWork(COMBINATION, context, limits, "")
    step, models = Validate(candidate=candidate, attempt=1), QAModels(model, model, model)
    judged = model_checks.control(step, work, models, judge(context, model, candidate, 1))
    if isinstance(judged, Controlled):
        return Outcome(planted, "blind", judged.reason.value, judged.detail)
    fault = None if judged.verdict is None else rejection(judged.verdict)
    if fault is None:
        return Outcome(planted, "" if judged.verdict is not None else "comparison", judged.failure)
    return Outcome(planted, "blind" if len(asked) == 1 else "comparison", fault[0].value, fault[1])


def _blind(planted: Planted, request: Request) -> AssistantMessage | None:
    spec = next((tool for tool in request.tools if tool.name == "submit_answers"), None)
    if spec is None:
        return None
    values = _true(spec) | {"answerable": bool(planted.honest), "answer": planted.honest}
    return call("submit_answers", **values, evidence=[])


def _from_passages(planted: Planted, request: Request) -> AssistantMessage | None:
    """What the validator answers while passages are hidden: the right answer if the ones that have it are shown."""
    if request.tools[0].name != "submit_document_answer":
        return None
    shown = skeleton(told(request)).text
    known = all(skeleton(quote).text in shown for quote in planted.fact.quotes)
    return call(
        "submit_document_answer", answer=planted.honest or "not told", answerable=known, confidence=0.9
    )


def _agree(spec: ToolSpec) -> AssistantMessage:
    return call(spec.name, **_true(spec), explanation="all hold")


def _true(spec: ToolSpec) -> dict[str, Any]:
    """All criteria of a form as a lenient validator fills it: true, and no finding against the question or its own answer."""
    form = spec.parameters
    for several in spec.parameters.get("properties", {}).values():
        form = several.get("items", form)  # of a form with one list of items
    fields: dict[str, Any] = form.get("properties", {})
    required: list[str] = form.get("required", [])
    return {
        name: True for name, field in fields.items() if field.get("type") == "boolean" and name in required
    }
