-- What each role of a combination cost.
SELECT
    combination, role, model, calls, input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens,
    usd, unknown_price_calls, seconds, retries, uncounted_calls
FROM role_costs
ORDER BY combination, role, model;
