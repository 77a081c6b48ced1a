-- Fills the tables of history from the raw rows, after the other tables.

CREATE TEMP TABLE numbered_sets AS
SELECT * EXCLUDE (version), row_number() OVER (PARTITION BY combination ORDER BY published, current, run_id) AS version
FROM raw_sets;

INSERT INTO sets BY NAME
SELECT * EXCLUDE (result_id) FROM numbered_sets
ORDER BY combination, version;

-- The files of a set do not have the type of a question and the id of its document; the candidates have them.
INSERT INTO set_questions BY NAME
SELECT
    raw.* EXCLUDE (result_id, version, question_type, document_id),
    numbered_sets.version,
    candidate.question_type,
    candidate.document_id
FROM raw_set_questions AS raw
JOIN numbered_sets USING (result_id)
LEFT JOIN (
    SELECT question_id, any_value(question_type) AS question_type, any_value(document_id) AS document_id
    FROM raw_candidates
    WHERE question_id IS NOT NULL
    GROUP BY question_id
) AS candidate USING (question_id)
ORDER BY raw.combination, numbered_sets.version, raw.source_document, raw.question_id;

INSERT INTO runs BY NAME
SELECT
    run.* EXCLUDE (result_id, set_version),
    (
        SELECT max(sets.version) FROM sets
        WHERE sets.combination = run.combination AND (sets.run_id = run.run_id OR sets.published <= run.ended)
    ) AS set_version
FROM raw_runs AS run
QUALIFY row_number() OVER (PARTITION BY run_id, combination ORDER BY ended DESC NULLS LAST) = 1
ORDER BY started, "partition", run_id;

-- Not sorted, like the model calls: the rows keep the order in which they were written, run by run.
INSERT INTO run_results BY NAME
SELECT raw.* EXCLUDE (result_id, models), run.models
FROM raw_run_results AS raw
LEFT JOIN runs AS run ON run.run_id = raw.run_id AND run.combination = raw.combination;

INSERT INTO checks BY NAME
SELECT * EXCLUDE (result_id) FROM raw_checks
ORDER BY evaluated_at, run_id, asset, check_name;

-- A version is known from parsing, from a result that was made of it, or because the store holds it now.
INSERT INTO document_versions BY NAME
WITH known AS (
    SELECT * EXCLUDE (result_id, current) FROM raw_document_versions
    UNION ALL BY NAME
    SELECT DISTINCT
        result.corpus, result.document_id, result.document_version AS version, run.started AS first_seen, result.run_id
    FROM run_results AS result
    LEFT JOIN runs AS run ON run.run_id = result.run_id AND run.combination = result.combination
    WHERE result.document_version <> ''
    UNION ALL BY NAME
    SELECT
        corpus, document_id, version, source, row_id, format, outcome, source_sha256, text_sha256, parser,
        line_count, char_count, page_count
    FROM documents
)

SELECT
    corpus,
    document_id,
    version,
    min(first_seen) AS first_seen,
    arg_min(run_id, first_seen) AS run_id,
    max(removed_at) AS removed_at,
    (corpus, document_id, version) IN (SELECT (corpus, document_id, version) FROM documents) AS current,
    any_value(COLUMNS(['source', 'row_id', 'format', 'outcome', 'source_sha256', 'text_sha256', 'parser'])),
    any_value(COLUMNS(['line_count', 'char_count', 'page_count']))
FROM known
GROUP BY corpus, document_id, version
ORDER BY corpus, document_id, first_seen, version;
