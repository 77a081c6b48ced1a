-- Finds the results that count, and fills the table of model calls, which takes the most memory.

CREATE TEMP TABLE current_results AS
SELECT result_id
FROM raw_outcomes
QUALIFY row_number() OVER (
    PARTITION BY combination, document_id ORDER BY recorded_at DESC NULLS LAST, result_id DESC
) = 1;

INSERT INTO model_calls BY NAME
SELECT
    * EXCLUDE (result_id, current, counted),
    -- The report of grades repeats requests that were made with the document, and gets the same responses.
    stage IN ('corpus', 'evaluation') OR coalesce(result_id IN (SELECT result_id FROM current_results), false)
    OR stage = 'grading' AND (request_key = '' OR (combination, request_key) NOT IN (
        SELECT (combination, request_key) FROM raw_model_calls SEMI JOIN current_results USING (result_id)
    )) AS current,
    request_key = '' OR row_number() OVER (
        PARTITION BY request_key
        ORDER BY stage = 'evaluation', replayed, combination, stage, document_id, position, result_id
    ) = 1 AS counted
FROM raw_model_calls
ORDER BY combination, stage, document_id, position, result_id;
