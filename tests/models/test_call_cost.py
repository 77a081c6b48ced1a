from __future__ import annotations

import pytest

from qagen_dagster.models.call_cost import usd
from qagen_dagster.models.messages import Usage
from qagen_dagster.models.spec import ModelSpec

USAGE = Usage(input_tokens=1_000_000, cached_tokens=400_000, output_tokens=500_000, reasoning_tokens=100_000)
WRITTEN = USAGE.model_copy(update={"cache_write_tokens": 300_000})


def spec(provider: str = "openai", **prices: float) -> ModelSpec:
    return ModelSpec(provider=provider, model="m", **{f"usd_per_million_{k}": v for k, v in prices.items()})


@pytest.mark.parametrize(
    ("prices", "usage", "dollars"),
    [
        ({"input": 2.0, "output": 8.0, "cached": 0.5}, USAGE, 1.2 + 0.2 + 4.0),
        ({"input": 2.0, "output": 8.0}, USAGE, 2.0 + 4.0),
        ({"input": 0.0, "output": 0.0}, USAGE, 0.0),
        ({"input": 2.0}, USAGE, None),
        ({"output": 8.0}, USAGE, None),
        ({"input": 2.0}, Usage(input_tokens=1_000_000), 2.0),
        ({}, USAGE, None),
        ({}, Usage(), None),
        ({"input": 2.0, "output": 8.0}, Usage(input_tokens=5, cached_tokens=9), 1e-5),
        ({"input": 2.0, "output": 8.0, "cached": 0.5}, WRITTEN, 0.6 + 0.2 + 0.75 + 4.0),
        ({"input": 2.0, "output": 8.0, "cached": 0.5, "cache_write": 4.0}, WRITTEN, 0.6 + 0.2 + 1.2 + 4.0),
        ({"output": 8.0, "cached": 0.5, "cache_write": 4.0}, WRITTEN, None),
        ({"input": 2.0, "output": 8.0}, Usage(input_tokens=5, cached_tokens=3, cache_write_tokens=9), 1.1e-5),
    ],
)
def test_dollars(prices: dict[str, float], usage: Usage, dollars: float | None) -> None:
    assert usd(spec(**prices), usage) == (None if dollars is None else pytest.approx(dollars))


@pytest.mark.parametrize("provider", ["embedded", "scripted"])
def test_models_in_this_process_are_free(provider: str) -> None:
    assert usd(spec(provider), USAGE) == 0.0


@pytest.mark.parametrize(("discount", "share"), [(None, 0.5), (0.25, 0.75), (0.0, 1.0), (1.0, 0.0)])
def test_a_batch_costs_less_by_its_discount(discount: float | None, share: float) -> None:
    settings = {} if discount is None else {"batch_discount": discount}
    priced = spec(input=2.0, output=8.0).model_copy(update=settings)
    assert usd(priced, USAGE, batch=True) == pytest.approx(6.0 * share)
    assert usd(priced, USAGE) == pytest.approx(6.0)
    assert usd(spec(), USAGE, batch=True) is None
