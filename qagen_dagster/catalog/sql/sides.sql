-- Sides of a comparison, one per combination. $1 is the beginning of a run's id, a profile (its latest run) or combination@version.
WITH named AS (
    SELECT combination, run_id, set_version AS version
    FROM runs
    WHERE starts_with(run_id, $1) AND combination IS NOT NULL AND profile IS NOT NULL
    UNION
    (
        SELECT combination, run_id, set_version
        FROM runs
        WHERE profile = $1 AND collected
        QUALIFY row_number() OVER (PARTITION BY combination ORDER BY started DESC, run_id DESC) = 1
    )
    UNION
    SELECT combination, run_id, version FROM sets WHERE $1 = concat(combination, '@', version)
),

reasons AS (
    SELECT run_id, combination, map_from_entries(list((reason, candidates) ORDER BY reason)) AS rejected_by_reason
    FROM run_rejections
    GROUP BY ALL
)

SELECT
    named.combination, named.run_id, named.version, total.started, total.ended, total.status, total.profile, total.documents,
    total.reused_documents, total.candidates, total.accepted, total.rejected,
    coalesce(reasons.rejected_by_reason, MAP {}) AS rejected_by_reason,
    total.validated, total.pass_rate, total.calls, total.input_tokens, total.output_tokens, total.usd, total.unknown_price_calls
FROM named
LEFT JOIN run_totals AS total ON total.run_id = named.run_id AND total.combination = named.combination
LEFT JOIN reasons ON reasons.run_id = named.run_id AND reasons.combination = named.combination
ORDER BY named.combination, total.started, named.run_id;
