-- The model calls behind one question: of its attempt, of corpus-wide deduplication, and of grading its answer.
SELECT
    stage, role, model, request_key, run_id, input_tokens, output_tokens, cached_tokens, cache_write_tokens,
    reasoning_tokens, usd, seconds, retries, replayed
FROM model_calls
WHERE current AND stage <> 'evaluation' AND combination = $1 AND document_id = $2 AND attempt = $3
ORDER BY stage DESC, position;
