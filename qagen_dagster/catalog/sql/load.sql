-- Fills the other tables from the raw rows (raw_<table>, one row per record), without duplicates and in a stable order.

INSERT INTO documents BY NAME
SELECT * EXCLUDE (result_id) FROM raw_documents
QUALIFY row_number() OVER (PARTITION BY corpus, document_id) = 1
ORDER BY corpus, document_id;

INSERT INTO sections BY NAME
SELECT * EXCLUDE (result_id) FROM raw_sections
ORDER BY corpus, document_id, position;

INSERT INTO visuals BY NAME
SELECT * EXCLUDE (result_id) FROM raw_visuals
QUALIFY row_number() OVER (PARTITION BY corpus, document_id, label) = 1
ORDER BY corpus, document_id, position;

INSERT INTO outcomes BY NAME
SELECT * EXCLUDE (result_id) FROM raw_outcomes SEMI JOIN current_results USING (result_id)
ORDER BY combination, document_id;

INSERT INTO candidates BY NAME
SELECT * EXCLUDE (result_id) FROM raw_candidates SEMI JOIN current_results USING (result_id)
ORDER BY combination, document_id, attempt, question;

-- A candidate that its document accepted may have been removed as a duplicate within the corpus.
UPDATE candidates SET
    status = removed.status,
    reason = removed.reason,
    detail = removed.detail,
    duplicate_of = removed.duplicate_of,
    duplicate_score = removed.duplicate_score,
    duplicate_step = removed.duplicate_step,
    stage = removed.stage
FROM (
    FROM raw_removed
    QUALIFY row_number() OVER (PARTITION BY combination, document_id, question, answer) = 1
) AS removed
WHERE candidates.status = 'accepted'
    AND (candidates.combination, candidates.document_id) = (removed.combination, removed.document_id)
    AND (candidates.question, candidates.answer) = (removed.question, removed.answer);

INSERT INTO verdicts BY NAME
SELECT
    * EXCLUDE (result_id, passed),
    answerable AND matches AND unambiguous AND coalesce(non_trivial, TRUE) AND coalesce(relevant, TRUE)
        AND coalesce(supported, TRUE) AND coalesce(premise_holds, TRUE) AND coalesce(self_contained, TRUE) AS passed
FROM raw_verdicts SEMI JOIN current_results USING (result_id)
ORDER BY combination, document_id, attempt;

INSERT INTO questions BY NAME
SELECT * EXCLUDE (result_id) FROM raw_questions
QUALIFY row_number() OVER (PARTITION BY question_id) = 1
ORDER BY combination, source_document, document_id, attempt, question_id;

INSERT INTO retired_questions BY NAME
SELECT * EXCLUDE (result_id) FROM raw_retired_questions
ORDER BY combination, source_document, document_id, question_id;

INSERT INTO decisions BY NAME
SELECT * EXCLUDE (result_id) FROM raw_decisions
ORDER BY combination, question_id, time, reviewer;

INSERT INTO grades BY NAME
SELECT * EXCLUDE (result_id) FROM raw_grades
QUALIFY row_number() OVER (PARTITION BY question_id) = 1
ORDER BY combination, document_id, question_id;

INSERT INTO evaluations BY NAME
SELECT
    * EXCLUDE (result_id, latest),
    (created, run_id) = max((created, run_id)) OVER (PARTITION BY combination, kind) AS latest
FROM raw_evaluations
ORDER BY combination, kind, created, run_id, metric;

INSERT INTO closed_book BY NAME
SELECT * EXCLUDE (result_id) FROM raw_closed_book ORDER BY combination, document_id, question_id;

INSERT INTO retrievals BY NAME
SELECT * EXCLUDE (result_id) FROM raw_retrievals ORDER BY combination, document_id, question_id, ranking;

INSERT INTO relevance_labels BY NAME
SELECT * EXCLUDE (result_id) FROM raw_relevance_labels ORDER BY combination, question_id, place, passage;

INSERT INTO panel_questions BY NAME
SELECT * EXCLUDE (result_id) FROM raw_panel_questions ORDER BY combination, document_id, question_id;

INSERT INTO baseline_answers BY NAME
SELECT * EXCLUDE (result_id) FROM raw_baseline_answers ORDER BY combination, document_id, question_id;

INSERT INTO exam_items BY NAME
SELECT * EXCLUDE (result_id) FROM raw_exam_items ORDER BY exam, schema_id, difficulty, slot;

INSERT INTO exam_attempts BY NAME
SELECT * EXCLUDE (result_id) FROM raw_exam_attempts ORDER BY exam, schema_id, difficulty, slot, attempt;

INSERT INTO exam_statistics BY NAME
SELECT * EXCLUDE (result_id) FROM raw_exam_statistics ORDER BY exam, read_on, sitting_id, item_id;

INSERT INTO exam_calls BY NAME
SELECT
    * EXCLUDE (result_id, counted),
    request_key = '' OR row_number() OVER (
        PARTITION BY request_key ORDER BY replayed, exam, schema_id, difficulty, slot, position
    ) = 1 AS counted
FROM raw_exam_calls
ORDER BY exam, schema_id, difficulty, slot, position;

INSERT INTO problem_items BY NAME
SELECT * EXCLUDE (result_id) FROM raw_problem_items ORDER BY problem_set, position;

INSERT INTO problem_tasks BY NAME
SELECT * EXCLUDE (result_id) FROM raw_problem_tasks ORDER BY problem_set, problem_id, task, finished, fingerprint;

INSERT INTO problem_calls BY NAME
SELECT
    * EXCLUDE (result_id, counted),
    request_key = '' OR row_number() OVER (
        PARTITION BY request_key ORDER BY replayed, problem_set, problem_id, task, fingerprint, position
    ) = 1 AS counted
FROM raw_problem_calls
ORDER BY problem_set, problem_id, task, fingerprint, position;
