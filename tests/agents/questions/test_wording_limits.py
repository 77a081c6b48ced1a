"""Styles, personas and audiences: what the agents are told, and what code refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from qagen_dagster.agents.questions import wording_limits
from qagen_dagster.agents.questions.generator import propose
from qagen_dagster.agents.questions.prompt_values import History
from qagen_dagster.records.corpus_options import Audience, ScenarioConfig, Style
from tests.support.documents import SCENARIO, context_of
from tests.support.models import FakeModel, call, told

TOLD = "The lower valve of Kestrel 2 froze in the cold night before the start, so the start was put off by six hours."


def scenario(**changed: Any) -> ScenarioConfig:
    return ScenarioConfig.model_validate(SCENARIO.model_dump() | changed)


@pytest.mark.parametrize(
    ("text", "style"),
    [
        ("kestrel 2 start delay reason", Style.KEYWORD),
        ("Why was the start of Kestrel 2 put off?", Style.QUESTION),
        ("how long was the start put off", Style.QUESTION),
        ("Explain why the start of Kestrel 2 was put off.", Style.INSTRUCTION),
        ("I am writing on launch delays. Why did Kestrel 2 start late?", Style.CONVERSATIONAL),
        ("Hi, we need the length of the delay of Kestrel 2.", Style.CONVERSATIONAL),
    ],
)
def test_a_text_is_refused_only_in_a_style_that_the_scenario_does_not_want(text: str, style: Style) -> None:
    for wanted in Style:
        assert (wording_limits.fault_of(scenario(style=wanted.value), text, TOLD) == "") is (wanted is style)
    assert wording_limits.fault_of(scenario(style=dict.fromkeys(Style, 0.25)), text, TOLD) == ""
    assert wording_limits.fault_of(scenario(), text, TOLD) == ""


def test_a_text_in_another_language_is_not_judged_by_english_words() -> None:
    text = "Nennen Sie den Grund, aus dem der Start der zweiten Rakete in jener kalten Nacht verschoben werden musste."
    assert wording_limits.fault_of(scenario(style="keyword"), text, TOLD) == ""


@pytest.mark.parametrize(
    ("question", "reader", "searcher"),
    [
        ("Why did the rocket leave late?", "", ""),
        ("Why was the start of Kestrel 2 put off that cold night?", "", "content words that are no names"),
        ("Why was the start put off by six hours after the lower valve froze in the cold night?", "runs of", "content words that"),
        ("Why did Kestrel 2 freeze?", "", ""),
        ("Where do Lower Valve, Kestrel 2 and the Cold Night appear?", "", ""),
        (
            "Which part, tank, pump, seal, cable, panel, sensor, motor, fin or strap made people wait?",
            "shorten it",
            "",
        ),
    ],
)  # fmt: skip
def test_the_wording_is_limited_by_what_people_write(question: str, reader: str, searcher: str) -> None:
    for audience, fault in ((Audience.READER, reader), (Audience.SEARCHER, searcher)):
        found = wording_limits.fault_of(scenario(audience=audience.value), question, TOLD)
        assert (found == "") is (fault == "")
        assert fault in found


def test_max_overlap_replaces_the_limit_of_the_audience() -> None:
    question = "Why did Kestrel 2 leave so late in that cold night?"
    assert wording_limits.fault_of(scenario(audience="searcher"), question, TOLD) == ""
    assert "at most 20% may" in wording_limits.fault_of(
        scenario(audience="searcher", max_overlap=0.2), question, TOLD
    )


def test_only_the_generator_is_told_personas_and_audience() -> None:
    config = scenario(style="keyword", personas=["A nurse on night shift."], audience="searcher")
    context = replace(context_of(), scenario=config)
    writer, checker = (context.task_values(writes=writes)["scenario_description"] for writes in (True, False))
    assert "A nurse on night shift." in writer
    assert "never seen the text" in writer
    assert "a question has at most 14 different words, names too" in writer
    assert "at most 67% of these, names left out, stand in" in writer
    assert "at most 10% of its runs of three words" in writer
    assert "Code measures" not in checker
    assert checker.startswith(SCENARIO.description)
    assert wording_limits.STYLES[Style.KEYWORD] in checker
    assert "nurse" not in checker
    assert context_of().task_values(writes=True) == context_of().task_values()


def test_the_generator_is_told_the_style_that_is_missing() -> None:
    config = scenario(style={"question": 0.75, "keyword": 0.25})
    model = FakeModel([call("report_exhausted", reason="Nothing is left.")])
    propose(replace(context_of(), scenario=config), model, History(), 1)
    assert wording_limits.STYLES[Style.QUESTION] in told(model.requests[0])
    asked = ["Why?", "Where is the valve?", "When did it freeze?"]
    assert wording_limits.next_style(config, asked) == wording_limits.STYLES[Style.KEYWORD]
    assert wording_limits.next_style(scenario(style="keyword"), asked) == ""


@pytest.mark.parametrize("style", [{"question": 0.5}, {"question": 0.7, "keyword": 0.7}, {}, "haiku"])
def test_the_shares_of_styles_add_up_to_one(style: Any) -> None:
    with pytest.raises(ValidationError):
        scenario(style=style)
