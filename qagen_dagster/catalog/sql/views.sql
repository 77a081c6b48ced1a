-- Everything that made one question: document and version, models, prompts, run, verdict and price.

-- Calls of one attempt: those of the attempt itself and of the corpus-wide comparison of its question.
CREATE VIEW attempt_calls AS
SELECT
    combination,
    document_id,
    attempt,
    count(*) AS calls,
    sum(input_tokens) AS input_tokens,
    sum(output_tokens) AS output_tokens,
    sum(usd) AS usd,
    count(*) FILTER (usd IS NULL) AS unknown_price_calls,
    sum(seconds) AS seconds,
    max(model) FILTER (role = 'deduplicator') AS deduplicator_model
FROM model_calls
WHERE current
GROUP BY ALL;

CREATE VIEW document_calls AS
SELECT combination, document_id, count(*) AS calls, sum(usd) AS usd
FROM model_calls
WHERE current
GROUP BY ALL;

CREATE VIEW question_lineage AS
SELECT
    question.question_id,
    question.combination,
    question.corpus,
    question.scenario,
    question.mode,
    question.question,
    question.answer,
    question.question_type,
    question.content_refs,
    question.evidence,
    question.source_document,
    question.document_id,
    outcome.document_version,
    -- The document may have changed since: its hash is known only while the version is the same.
    CASE WHEN document.version = outcome.document_version THEN document.source_sha256 END AS document_sha256,
    document.version = outcome.document_version AS document_unchanged,
    document.format AS document_format,
    document.title AS document_title,
    question.generator_model,
    question.validator_model,
    coalesce(run.models['deduplicator'], attempt.deduplicator_model) AS deduplicator_model,
    run.models,
    run.prompts AS prompt_hashes,
    run.profile,
    coalesce(outcome.fingerprint, question.fingerprint) AS fingerprint,
    outcome.run_id,
    question.set_run_id,
    run.started AS run_started,
    run.ended AS run_ended,
    run.status AS run_status,
    outcome.recorded_at,
    question.attempt,
    verdict.blind_answer,
    verdict.explanation AS verdict_explanation,
    verdict.passed AS verdict_passed,
    coalesce(attempt.calls, 0) AS calls,
    coalesce(attempt.input_tokens, 0)::BIGINT AS input_tokens,
    coalesce(attempt.output_tokens, 0)::BIGINT AS output_tokens,
    CASE WHEN attempt.calls IS NULL THEN 0.0 ELSE attempt.usd END AS usd,
    coalesce(attempt.unknown_price_calls, 0) AS unknown_price_calls,
    coalesce(attempt.seconds, 0.0) AS seconds,
    coalesce(spent.calls, 0) AS document_calls,
    CASE WHEN spent.calls IS NULL THEN 0.0 ELSE spent.usd END AS document_usd
FROM questions AS question
LEFT JOIN outcomes AS outcome USING (combination, document_id)
LEFT JOIN documents AS document
    ON document.corpus = question.corpus AND document.document_id = question.document_id
LEFT JOIN runs AS run ON run.run_id = outcome.run_id AND run.combination = question.combination
LEFT JOIN verdicts AS verdict
    ON verdict.combination = question.combination
    AND verdict.document_id = question.document_id
    AND verdict.attempt = question.attempt
    AND verdict.question = question.question
LEFT JOIN attempt_calls AS attempt
    ON attempt.combination = question.combination
    AND attempt.document_id = question.document_id
    AND attempt.attempt = question.attempt
LEFT JOIN document_calls AS spent
    ON spent.combination = question.combination AND spent.document_id = question.document_id;
