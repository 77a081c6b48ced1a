-- Finds the results that count, and fills the table of model calls, which is the longest. A sort of its rows, or a window over
-- them, would need all rows in memory, so they keep the order in which they were written. What a run paid comes from
-- `RunCost` in records/questions/run_results.py.

CREATE TEMP TABLE current_results AS
SELECT result_id
FROM raw_outcomes
QUALIFY row_number() OVER (
    PARTITION BY combination, document_id ORDER BY recorded_at DESC NULLS LAST, result_id DESC
) = 1;

CREATE TEMP VIEW numbered_calls AS
SELECT *, row_number() OVER () AS call FROM raw_model_calls;

-- Of equal requests, one call counts: if possible not of an evaluation, then if possible not replayed, then the earliest.
CREATE TEMP TABLE counted_calls AS
SELECT min(((stage = 'evaluation')::BIGINT * 2 + replayed::BIGINT) * 1_000_000_000_000 + call) % 1_000_000_000_000 AS call
FROM numbered_calls
WHERE request_key != ''
GROUP BY md5_number(request_key);

-- The report of grades repeats requests that were made with the document, and gets the same responses.
CREATE TEMP TABLE repeated_calls AS
SELECT DISTINCT combination, request_key
FROM raw_model_calls SEMI JOIN current_results USING (result_id)
WHERE request_key IN (SELECT request_key FROM raw_model_calls WHERE stage = 'grading' AND request_key != '');

INSERT INTO model_calls BY NAME
SELECT
    * EXCLUDE (result_id, call, current, counted),
    stage IN ('corpus', 'evaluation') OR coalesce(result_id IN (SELECT result_id FROM current_results), false)
    OR stage = 'grading' AND (combination, request_key) NOT IN (FROM repeated_calls) AS current,
    request_key = '' OR call IN (FROM counted_calls) AS counted
FROM numbered_calls;
