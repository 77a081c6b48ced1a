from __future__ import annotations

from qagen_dagster.models.spec import ModelSpec, embedded_version


def test_an_embedded_model_is_identified_by_its_rules_too() -> None:
    assert ModelSpec(provider="embedded", model="rules").identity()["version"] == embedded_version("rules")
    assert "version" not in ModelSpec(provider="openai", model="rules").identity()


def test_prices_and_time_outs_do_not_change_what_a_model_says() -> None:
    spec = ModelSpec(provider="openai", model="m")
    cheaper = spec.model_copy(
        update={
            "usd_per_million_input": 1.0,
            "timeout_seconds": 5.0,
            "max_attempts": 1,
            "execution": "batch",
            "batch_discount": 0.3,
        }
    )
    assert cheaper.identity() == spec.identity()
    assert spec.model_copy(update={"temperature": 0.5}).identity() != spec.identity()
