-- What comparing the questions of each combination of mode $1 across its documents took.
SELECT
    worked.combination,
    worked.accepted,
    any_value(call.model) AS model,
    count(call.role) AS calls,
    coalesce(sum(call.input_tokens), 0)::BIGINT AS input_tokens,
    coalesce(sum(call.cached_tokens), 0)::BIGINT AS cached_tokens,
    coalesce(sum(call.output_tokens), 0)::BIGINT AS output_tokens,
    coalesce(sum(call.reasoning_tokens), 0)::BIGINT AS reasoning_tokens,
    coalesce(sum(call.cache_write_tokens), 0)::BIGINT AS cache_write_tokens,
    coalesce(sum(call.seconds), 0.0) AS seconds
FROM (
    SELECT combination, sum(accepted_count)::BIGINT AS accepted FROM outcomes WHERE mode = $1 GROUP BY combination
) AS worked
SEMI JOIN questions ON questions.combination = worked.combination
LEFT JOIN model_calls AS call ON call.combination = worked.combination AND call.stage = 'corpus'
GROUP BY ALL
ORDER BY worked.combination;
