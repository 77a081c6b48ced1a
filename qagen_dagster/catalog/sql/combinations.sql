-- One row per combination that is in any table: its results and its cost.
WITH keys AS (
    SELECT combination, corpus, scenario, mode FROM outcomes
    UNION SELECT combination, corpus, scenario, mode FROM questions
    UNION SELECT combination, corpus, scenario, mode FROM runs WHERE combination IS NOT NULL
),

corpus_documents AS (
    SELECT corpus, count(*) AS documents FROM documents GROUP BY corpus
),

ends AS (
    SELECT combination, count(*) AS documents_done, histogram(outcome) AS outcomes
    FROM outcomes
    GROUP BY combination
),

proposed AS (
    SELECT
        combination,
        count(*) AS candidates,
        count(*) FILTER (status = 'rejected') AS rejected,
        histogram(reason) FILTER (status = 'rejected') AS rejected_by_reason
    FROM candidates
    GROUP BY combination
),

published AS (
    SELECT combination, count(*) AS accepted FROM questions GROUP BY combination
),

judged AS (
    SELECT verdict.combination, count(*) AS validated, avg((verdict.passed AND control.reason IS NULL)::INTEGER) AS pass_rate
    FROM verdicts AS verdict
    LEFT JOIN candidates AS control
        ON control.combination = verdict.combination
        AND control.document_id = verdict.document_id
        AND control.attempt = verdict.attempt
        AND control.reason IN ('answerable_from_text', 'not_multi_hop')
    GROUP BY verdict.combination
),

last_run AS (
    SELECT combination, status
    FROM runs
    QUALIFY row_number() OVER (PARTITION BY combination ORDER BY started DESC, run_id DESC) = 1
),

latest AS (
    SELECT combination, run_id, profile, fingerprint, started, ended, status
    FROM runs
    WHERE collected
    QUALIFY row_number() OVER (PARTITION BY combination ORDER BY started DESC, run_id DESC) = 1
)

SELECT
    keys.combination,
    keys.corpus,
    keys.scenario,
    keys.mode,
    latest.run_id,
    latest.status AS run_status,
    latest.started AS run_started,
    latest.ended AS run_ended,
    latest.profile,
    latest.fingerprint,
    coalesce(corpus_documents.documents, 0) AS documents,
    coalesce(ends.documents_done, 0) AS documents_done,
    coalesce(ends.outcomes, MAP {}) AS outcomes,
    coalesce(proposed.candidates, 0) AS candidates,
    coalesce(published.accepted, 0) AS accepted,
    coalesce(proposed.rejected, 0) AS rejected,
    coalesce(proposed.rejected_by_reason, MAP {}) AS rejected_by_reason,
    coalesce(judged.validated, 0) AS validated,
    judged.pass_rate,
    coalesce(spent.calls, 0) AS calls,
    coalesce(spent.replayed_calls, 0) AS replayed_calls,
    if(spent.calls IS NULL, 0, spent.input_tokens) AS input_tokens,
    if(spent.calls IS NULL, 0, spent.cached_tokens) AS cached_tokens,
    if(spent.calls IS NULL, 0, spent.cache_write_tokens) AS cache_write_tokens,
    if(spent.calls IS NULL, 0, spent.output_tokens) AS output_tokens,
    if(spent.calls IS NULL, 0, spent.reasoning_tokens) AS reasoning_tokens,
    coalesce(spent.retries, 0) AS retries,
    coalesce(spent.uncounted_calls, 0) AS uncounted_calls,
    -- A budget or a fault of the server may end the work on a document after some calls were paid. No result has these calls.
    coalesce(ends.outcomes['budget_exhausted'] > 0, false) OR coalesce(last_run.status <> 'success', false) AS at_least,
    CASE WHEN spent.calls IS NOT NULL THEN spent.usd WHEN NOT at_least THEN 0.0 END AS usd,
    coalesce(spent.unknown_price_calls / nullif(spent.calls, 0), 0.0) AS unknown_price_share,
    spent.usd_per_accepted,
    spent.tokens_per_accepted,
    coalesce(spent.seconds, 0.0) AS model_seconds
FROM keys
LEFT JOIN latest USING (combination)
LEFT JOIN last_run USING (combination)
LEFT JOIN corpus_documents USING (corpus)
LEFT JOIN ends USING (combination)
LEFT JOIN proposed USING (combination)
LEFT JOIN published USING (combination)
LEFT JOIN judged USING (combination)
LEFT JOIN combination_costs AS spent USING (combination)
ORDER BY keys.combination;
