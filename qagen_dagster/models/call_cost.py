"""The prices of models: the cost of a call in US dollars, from the prices in the model's spec and the tokens that were used."""

from qagen_dagster.models.messages import Usage
from qagen_dagster.models.spec import ModelSpec

FREE_PROVIDERS = frozenset({"embedded", "scripted"})
# The price of writing to the cache, as a multiple of the price of input, if the profile has none: Anthropic's price for
# five minutes, which this program asks for, and OpenAI's for models that count cache writes.
CACHE_WRITE = 1.25


def has_price(spec: ModelSpec) -> bool:
    """Whether every call of `spec` has a known price."""
    priced = spec.usd_per_million_input is not None and spec.usd_per_million_output is not None
    return spec.provider in FREE_PROVIDERS or priced


def usd(spec: ModelSpec, usage: Usage, *, batch: bool = False) -> float | None:
    """US dollars for `usage`, or None if a required price is unknown, or if the usage is not measured and a price is not 0.

    Without prices of their own, cached input costs as much as other input, and writing to the cache costs `CACHE_WRITE` times as much.
    With `batch`, the discount of the spec for batches applies. Embedded and scripted models run in this process and cost nothing.
    """
    if spec.provider in FREE_PROVIDERS:
        return 0.0
    price_in, price_out = spec.usd_per_million_input, spec.usd_per_million_output
    price_cached = price_in if spec.usd_per_million_cached is None else spec.usd_per_million_cached
    price_write = spec.usd_per_million_cache_write
    if price_write is None and price_in is not None:
        price_write = CACHE_WRITE * price_in
    cached = min(usage.cached_tokens, usage.input_tokens)
    written = min(usage.cache_write_tokens, usage.input_tokens - cached)
    total = 0.0
    for tokens, price in (
        (usage.input_tokens - cached - written, price_in),
        (cached, price_cached),
        (written, price_write),
        (usage.output_tokens, price_out),
    ):
        if tokens and price is None:
            return None
        total += tokens * (price or 0.0)
    if price_in is None and price_out is None:
        return None
    if not usage.measured and (price_in or price_out):
        return None
    return total / 1_000_000 * (1 - spec.batch_discount if batch else 1)
