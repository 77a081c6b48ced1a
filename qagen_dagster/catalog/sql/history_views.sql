-- Views of history, of questions by place and type, and the difference of two versions of a set.

-- What a run gave, over all its documents. A reused result counts in the pass rate, and costs nothing.
CREATE VIEW run_totals AS
SELECT
    run.run_id,
    run.combination,
    run.started,
    run.ended,
    run.status,
    run.error,
    run.profile,
    run.models,
    run.set_version,
    count(result.document_id) AS documents,
    count(*) FILTER (result.reused) AS reused_documents,
    coalesce(sum(result.accepted + result.rejected), 0)::BIGINT AS candidates,
    coalesce(sum(result.accepted), 0)::BIGINT AS accepted,
    coalesce(sum(result.rejected), 0)::BIGINT AS rejected,
    sum(result.validated)::BIGINT AS validated,
    sum(result.passed) / nullif(sum(result.validated), 0) AS pass_rate,
    coalesce(sum(result.calls), 0)::BIGINT AS calls,
    coalesce(sum(result.input_tokens), 0)::BIGINT AS input_tokens,
    coalesce(sum(result.output_tokens), 0)::BIGINT AS output_tokens,
    CASE WHEN coalesce(sum(result.calls), 0) = 0 THEN 0.0 ELSE sum(result.usd) FILTER (result.calls > 0) END AS usd,
    coalesce(sum(result.unknown_price_calls), 0)::BIGINT AS unknown_price_calls
FROM runs AS run
LEFT JOIN run_results AS result ON result.run_id = run.run_id AND result.combination = run.combination
WHERE run.combination IS NOT NULL AND (run.fingerprint IS NOT NULL OR result.run_id IS NOT NULL)
GROUP BY ALL
ORDER BY run.combination, run.started, run.run_id;

-- The rejected candidates of each run, by reason.
CREATE VIEW run_rejections AS
SELECT run_id, combination, started, profile, reason, sum(candidates)::BIGINT AS candidates
FROM (
    SELECT
        result.run_id, result.combination, run.started, run.profile,
        unnest(map_entries(result.rejected_by_reason), max_depth := 2)
    FROM run_results AS result
    JOIN runs AS run ON run.run_id = result.run_id AND run.combination = result.combination
) AS entry (run_id, combination, started, profile, reason, candidates)
GROUP BY ALL
ORDER BY combination, started, run_id, reason;

-- The texts that a run was given.
CREATE VIEW run_scenarios AS
SELECT
    run_id, combination, started, corpus_name, corpus_context, scenario_name, scenario_description, strategy,
    target_count
FROM runs
WHERE scenario_description IS NOT NULL
ORDER BY combination, started, run_id;

-- The questions that are in only one of two versions of a published set.
CREATE MACRO set_difference(key, earlier, later) AS TABLE
SELECT
    if(before.question_id IS NULL, later, earlier) AS only_in,
    coalesce(after.question_id, before.question_id) AS question_id,
    coalesce(after.source_document, before.source_document) AS source_document,
    coalesce(after.question, before.question) AS question,
    coalesce(after.answer, before.answer) AS answer
FROM (FROM set_questions WHERE combination = key AND version = earlier) AS before
FULL JOIN (FROM set_questions WHERE combination = key AND version = later) AS after USING (question_id)
WHERE before.question_id IS NULL OR after.question_id IS NULL
ORDER BY only_in, source_document, question_id;

-- What each version of a set added to the version before, and removed from it.
CREATE VIEW set_changes AS
SELECT combination, version, 'added' AS change, question_id, source_document, question, answer
FROM set_questions AS here
WHERE NOT EXISTS (
    FROM set_questions AS former
    WHERE (former.combination, former.version, former.question_id)
        = (here.combination, here.version - 1, here.question_id)
)
UNION ALL
SELECT here.combination, here.version + 1, 'removed', here.question_id, here.source_document, here.question, here.answer
FROM set_questions AS here
SEMI JOIN sets AS next ON next.combination = here.combination AND next.version = here.version + 1
WHERE NOT EXISTS (
    FROM set_questions AS later
    WHERE (later.combination, later.version, later.question_id)
        = (here.combination, here.version + 1, here.question_id)
)
ORDER BY combination, version, change, source_document, question_id;

-- The section of the document in which the first quote of each published question stands.
CREATE VIEW question_sections AS
SELECT
    question.question_id,
    question.combination,
    question.corpus,
    question.document_id,
    question.start_line,
    section.position,
    section.title AS section,
    section.level,
    question.question
FROM (
    SELECT *, (evidence->0->>'start_line')::INTEGER AS start_line FROM questions
) AS question
ASOF LEFT JOIN sections AS section
    ON section.corpus = question.corpus
    AND section.document_id = question.document_id
    AND section.start_line <= question.start_line
ORDER BY question.combination, question.document_id, question.start_line, question.question_id;

-- Candidates of the latest results by type.
CREATE VIEW question_types AS
SELECT
    combination,
    question_type,
    count(*) FILTER (status = 'accepted') AS accepted,
    count(*) FILTER (status = 'rejected') AS rejected
FROM candidates
GROUP BY combination, question_type
ORDER BY combination, question_type;

-- What was spent on each task of a physics problem, by role and model.
CREATE VIEW problem_costs AS
SELECT problem_set, problem_id, task, role, model, count(*) AS calls, unnest(totals(problem_calls))
FROM problem_calls
WHERE counted
GROUP BY problem_set, problem_id, task, role, model
ORDER BY problem_set, problem_id, task, role, model;
