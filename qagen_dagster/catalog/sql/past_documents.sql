-- What each finished document of mode $1 took, one row per role. A request that a document made twice counts once.
-- Documents that ended because of the budget or a model error are left out.
WITH asked AS (
    SELECT * FROM model_calls
    WHERE current AND stage = 'document' AND mode = $1
    QUALIFY request_key = '' OR row_number() OVER (
        PARTITION BY combination, document_id, request_key ORDER BY position
    ) = 1
),

seen AS (
    SELECT corpus, document_id, count(*) AS visuals FROM visuals GROUP BY ALL
)

SELECT
    outcome.combination,
    outcome.document_id,
    outcome.outcome AS "end",
    outcome.target_count,
    outcome.accepted_count AS accepted,
    coalesce(document.char_count, 0) AS characters,
    coalesce(document.page_count, 0) AS pages,
    coalesce(seen.visuals, 0) AS visuals,
    asked.role,
    any_value(asked.model) AS model,
    count(*) AS calls,
    coalesce(sum(COLUMNS('_tokens$')), 0)::BIGINT,
    coalesce(sum(asked.seconds), 0.0) AS seconds
FROM outcomes AS outcome
JOIN documents AS document USING (corpus, document_id)
LEFT JOIN seen USING (corpus, document_id)
JOIN asked ON asked.combination = outcome.combination AND asked.document_id = outcome.document_id
WHERE outcome.mode = $1
    AND outcome.target_count > 0
    AND outcome.outcome NOT IN ('budget_exhausted', 'model_error')
GROUP BY ALL
ORDER BY outcome.combination, outcome.document_id, asked.role;
