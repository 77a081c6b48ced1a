SELECT
    total.run_id,
    total.combination,
    total.started,
    total.status,
    total.error,
    total.profile,
    total.documents,
    total.accepted,
    coalesce(own.added, 0)::BIGINT AS added,
    total.usd,
    total.usd / nullif(own.added, 0) AS usd_per_added
FROM run_totals AS total
LEFT JOIN (
    SELECT run_id, combination, sum(accepted) AS added
    FROM run_results
    WHERE NOT reused
    GROUP BY ALL
) AS own ON own.run_id = total.run_id AND own.combination = total.combination
ORDER BY total.started DESC, total.run_id, total.combination;
