from __future__ import annotations

from qagen_dagster.models.messages import UserMessage
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.models.tokens import estimate
from tests.models.conftest import ask, long_conversation, picture


def test_an_estimate_counts_words_pictures_and_an_answer() -> None:
    spec = ModelSpec(provider="openai", model="m", max_output_tokens=100)
    short, long = estimate(ask(""), spec), estimate(ask("word" * 1_000), spec)
    assert 100 < short < 400
    assert long - short == 1_000
    shown = ask(messages=(UserMessage(content=(picture(), picture())),))
    assert estimate(shown, spec) - short == 3_000
    assert estimate(shown, spec.model_copy(update={"images": False})) == short
    assert estimate(ask(""), spec.model_copy(update={"max_output_tokens": 100_000})) - short < 1_000
    assert estimate(long_conversation(), spec) > 3_000
