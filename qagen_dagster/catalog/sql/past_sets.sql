-- What corpus-wide deduplication of each combination of mode $1 took.
SELECT
    worked.combination,
    worked.accepted,
    any_value(call.model) AS model,
    count(call.role) AS calls,
    coalesce(sum(COLUMNS('_tokens$')), 0)::BIGINT,
    coalesce(sum(call.seconds), 0.0) AS seconds
FROM (
    SELECT combination, sum(accepted_count)::BIGINT AS accepted FROM outcomes WHERE mode = $1 GROUP BY combination
) AS worked
SEMI JOIN questions ON questions.combination = worked.combination
LEFT JOIN model_calls AS call ON call.combination = worked.combination AND call.stage = 'corpus'
GROUP BY ALL
ORDER BY worked.combination;
