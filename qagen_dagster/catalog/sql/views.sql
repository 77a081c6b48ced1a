-- There are two kinds of price. The views `*_costs`, except `question_costs`, are what was spent: they count each request
-- once. `question_costs` and the views `*_calls` are what the work behind a question would cost without any cache hit:
-- they count every call of its current result. Only `evaluation_costs` has the calls of evaluations.
-- The views of runs and of versions are in history_views.sql.

-- Whether a server counted no tokens of a call, or stated impossible counts. Every prompt has tokens.
CREATE MACRO uncounted(call) AS call.usd IS NULL AND call.input_tokens = 0;

-- Whether the tokens of at least one call for which `which` is true are known, or there is no such call.
CREATE MACRO counts(call, which) AS count(*) FILTER (which) = 0
    OR count(*) FILTER (which AND NOT uncounted(call)) > 0;

-- Tokens, price and time of the calls for which `which` is true. `usd` leaves out calls of unknown price, which
-- `unknown_price_calls` counts; it is NULL when no price is known. Tokens leave out `uncounted_calls`, and are NULL if no call is
-- counted.
CREATE MACRO totals(call, which := true) AS {
    'input_tokens': CASE WHEN counts(call, which) THEN coalesce(sum(call.input_tokens) FILTER (which), 0)::BIGINT END,
    'cached_tokens': CASE WHEN counts(call, which) THEN coalesce(sum(call.cached_tokens) FILTER (which), 0)::BIGINT END,  -- of the input
    'cache_write_tokens': CASE WHEN counts(call, which) THEN coalesce(sum(call.cache_write_tokens) FILTER (which), 0)::BIGINT END,  -- of the input, too
    'output_tokens': CASE WHEN counts(call, which) THEN coalesce(sum(call.output_tokens) FILTER (which), 0)::BIGINT END,
    'reasoning_tokens': CASE WHEN counts(call, which) THEN coalesce(sum(call.reasoning_tokens) FILTER (which), 0)::BIGINT END,  -- of the output
    'usd': CASE WHEN count(*) FILTER (which) = 0 THEN 0.0 ELSE sum(call.usd) FILTER (which) END,
    'unknown_price_calls': count(*) FILTER (which AND call.usd IS NULL),
    'uncounted_calls': count(*) FILTER (which AND uncounted(call)),
    'seconds': coalesce(sum(call.seconds) FILTER (which), 0.0),
    'retries': coalesce(sum(call.retries) FILTER (which), 0)::BIGINT
};

-- What was spent on each role of a combination, by the model that played it.
CREATE VIEW role_costs AS
SELECT combination, corpus, scenario, mode, role, model, count(*) AS calls, unnest(totals(model_calls))
FROM model_calls
WHERE counted AND stage <> 'evaluation'
GROUP BY combination, corpus, scenario, mode, role, model
ORDER BY combination, role, model;

-- What was spent on each document in a combination, including the corpus-wide deduplication of its questions.
CREATE VIEW document_costs AS
SELECT
    combination, corpus, scenario, mode, document_id, count(*) AS calls, unnest(totals(call)),
    coalesce(any_value(published.accepted), 0) AS accepted,
    CASE WHEN count(*) = count(usd) THEN sum(usd) / any_value(published.accepted) END AS usd_per_accepted
FROM model_calls AS call
LEFT JOIN (
    SELECT combination, document_id, count(*) AS accepted FROM questions GROUP BY ALL
) AS published USING (combination, document_id)
WHERE counted AND stage <> 'evaluation'
GROUP BY combination, corpus, scenario, mode, document_id
ORDER BY combination, document_id;

-- What was spent on each combination, and on each question of its published set.
CREATE VIEW combination_costs AS
SELECT
    combination, corpus, scenario, mode,
    count(*) FILTER (counted) AS calls,
    count(*) FILTER (NOT counted) AS replayed_calls,  -- served again: nothing was paid
    unnest(totals(call, which := counted)),
    coalesce(any_value(published.accepted), 0) AS accepted,
    CASE WHEN bool_and(usd IS NOT NULL OR NOT counted)
        THEN coalesce(sum(usd) FILTER (counted), 0.0) / any_value(published.accepted)
    END AS usd_per_accepted,
    CASE WHEN bool_and(NOT uncounted(call) OR NOT counted)
        THEN coalesce(sum(input_tokens + output_tokens) FILTER (counted), 0) / any_value(published.accepted)
    END AS tokens_per_accepted
FROM model_calls AS call
LEFT JOIN (SELECT combination, count(*) AS accepted FROM questions GROUP BY ALL) AS published USING (combination)
WHERE stage <> 'evaluation'
GROUP BY combination, corpus, scenario, mode
ORDER BY combination;

-- What was spent on evaluating each combination, by role and model.
CREATE VIEW evaluation_costs AS
SELECT combination, corpus, scenario, mode, role, model, count(*) AS calls, unnest(totals(model_calls))
FROM model_calls
WHERE counted AND stage = 'evaluation'
GROUP BY combination, corpus, scenario, mode, role, model
ORDER BY combination, role, model;

-- The results of each published question in the latest evaluations; NULL: not evaluated, or not known.
CREATE VIEW question_evaluations AS
SELECT
    question.question_id,
    question.combination,
    question.document_id,
    question.question,
    question.answer,
    closed.leaked,
    closed.given AS closed_book_answer,
    found.document_place,
    found.evidence_place,
    baseline.given AS baseline_answer,
    baseline.exact,
    baseline.f1,
    baseline.is_grounded
FROM questions AS question
LEFT JOIN closed_book AS closed USING (question_id)
LEFT JOIN retrievals AS found ON found.question_id = question.question_id AND found.ranking = 'fused'
LEFT JOIN baseline_answers AS baseline ON baseline.question_id = question.question_id
ORDER BY question.combination, question.document_id, question.question_id;

-- The calls of one attempt, of the corpus-wide deduplication of its question, and of grading its answer.
CREATE VIEW attempt_calls AS
SELECT
    combination, document_id, attempt, count(*) AS calls, unnest(totals(model_calls)),
    max(model) FILTER (role = 'deduplicator') AS deduplicator_model
FROM model_calls
WHERE current AND stage <> 'evaluation'
GROUP BY combination, document_id, attempt;

CREATE VIEW document_calls AS
SELECT combination, document_id, count(*) AS calls, sum(usd) AS usd
FROM model_calls
WHERE current AND stage <> 'evaluation'
GROUP BY ALL;

-- What the calls of each accepted question cost: the calls of its own attempt, not of failed attempts.
CREATE VIEW question_costs AS
SELECT
    question_id, combination, document_id, attempt, count(call.current) AS calls, unnest(totals(call, which := call.current))
FROM questions
LEFT JOIN (
    FROM model_calls WHERE current AND stage <> 'evaluation'
) AS call USING (combination, document_id, attempt)
GROUP BY question_id, combination, document_id, attempt
ORDER BY combination, document_id, question_id;

-- The lineage of each question: document and version, models, prompts, run, verdict and cost.
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
    -- The document may have changed since then: its hash is known only if the version is the same.
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
    closed.leaked,
    price.* EXCLUDE (question_id, combination, document_id, attempt),
    coalesce(spent.calls, 0) AS document_calls,
    CASE WHEN spent.calls IS NULL THEN 0.0 ELSE spent.usd END AS document_usd
FROM questions AS question
LEFT JOIN outcomes AS outcome USING (combination, document_id)
LEFT JOIN attempt_calls AS attempt USING (combination, document_id, attempt)
LEFT JOIN document_calls AS spent USING (combination, document_id)
LEFT JOIN documents AS document ON document.corpus = question.corpus AND document.document_id = question.document_id
LEFT JOIN runs AS run ON run.run_id = outcome.run_id AND run.combination = question.combination
LEFT JOIN verdicts AS verdict
    ON verdict.combination = question.combination
    AND verdict.document_id = question.document_id
    AND verdict.attempt = question.attempt
    AND verdict.question = question.question
LEFT JOIN closed_book AS closed ON closed.question_id = question.question_id
LEFT JOIN question_costs AS price ON price.question_id = question.question_id;

-- What was spent on each attempt of a slot of an exam, by role and model.
CREATE VIEW exam_costs AS
SELECT exam, schema_id, difficulty, slot, attempt, role, model, count(*) AS calls, unnest(totals(exam_calls))
FROM exam_calls
WHERE counted
GROUP BY exam, schema_id, difficulty, slot, attempt, role, model
ORDER BY exam, schema_id, difficulty, slot, attempt, role, model;

-- How each model agrees with the reviewers, by criterion, on the questions on which reviewers agree: Cohen's kappa with its 95 % interval,
-- which comes from Wilson's interval of the share of equal decisions.
CREATE VIEW judge_agreements AS
WITH people AS (
    SELECT combination, question_id, any_value(document_id) AS document_id, any_value(question) AS question,
        any_value(answer) AS answer, bool_and(action = 'accept') AS accepted
    FROM decisions
    GROUP BY combination, question_id
    HAVING count(DISTINCT (action, new_question, new_answer)) = 1 AND any_value(action) <> 'flag'
),
judged AS (
    SELECT people.*, coalesce(published.validator_model, run.models['validator'], '') AS model, coalesce(verdict.passed, FALSE) AS "all",
        verdict.* EXCLUDE (combination, document_id, question, passed)
    FROM people
    JOIN verdicts AS verdict
        ON verdict.combination = people.combination
        AND verdict.document_id = people.document_id
        AND verdict.question = people.question
        AND verdict.proposed_answer = people.answer
    LEFT JOIN questions AS published USING (question_id)
    LEFT JOIN outcomes AS outcome ON outcome.combination = people.combination AND outcome.document_id = people.document_id
    LEFT JOIN runs AS run ON run.run_id = outcome.run_id AND run.combination = people.combination
),
findings AS (
    SELECT combination, model, criterion, found, accepted
    FROM (
        UNPIVOT (SELECT * EXCLUDE (attempt) FROM judged)
        ON "all", answerable, matches, non_trivial, unambiguous, relevant, supported, premise_holds, self_contained
        INTO NAME criterion VALUE found
    )
    UNION ALL
    SELECT people.combination, if(grade.decided_by = 'judge', coalesce(grade.judge_model, ''), 'code'), 'grounded', grade.is_grounded, people.accepted
    FROM people JOIN grades AS grade USING (question_id)
    WHERE grade.is_grounded IS NOT NULL
),
counted AS (
    SELECT combination, model, criterion, count(*) AS questions,
        count(*) FILTER (found AND accepted) AS good_for_both,
        count(*) FILTER (found AND NOT accepted) AS good_for_model,
        count(*) FILTER (NOT found AND accepted) AS good_for_reviewers,
        count(*) FILTER (NOT found AND NOT accepted) AS good_for_neither,
        (good_for_both + good_for_neither) / questions AS same,
        ((good_for_both + good_for_model) * (good_for_both + good_for_reviewers)
            + (good_for_neither + good_for_model) * (good_for_neither + good_for_reviewers)) / questions ** 2 AS chance,
        1.959963984540054 ** 2 / questions AS spread,
        sqrt(same * (1 - same) * spread + spread ** 2 / 4) AS half
    FROM findings
    GROUP BY combination, model, criterion
)
SELECT
    combination, model, criterion, questions, good_for_both, good_for_model, good_for_reviewers, good_for_neither,
    (same - chance) / nullif(1 - chance, 0) AS kappa,
    (greatest(0, (same + spread / 2 - half) / (1 + spread)) - chance) / nullif(1 - chance, 0) AS kappa_low,
    (least(1, (same + spread / 2 + half) / (1 + spread)) - chance) / nullif(1 - chance, 0) AS kappa_high
FROM counted
ORDER BY combination, criterion, model;

-- How well two reviewers of a set agree, with Krippendorff's alpha of all reviewers of the set.
CREATE VIEW reviewer_agreements AS
WITH pairs AS (
    SELECT one.combination, one.reviewer AS first_reviewer, other.reviewer AS second_reviewer, one.action AS first, other.action AS second
    FROM decisions AS one
    JOIN decisions AS other ON other.combination = one.combination AND other.question_id = one.question_id
    WHERE one.reviewer < other.reviewer
),
shares AS (
    SELECT combination, first_reviewer, second_reviewer, count(*) AS questions, avg((first = second)::INTEGER) AS same,
        list_sum(list_transform(['accept', 'edit', 'reject', 'flag'],
            lambda action: len(list_filter(list(first), lambda one: one = action))
                * len(list_filter(list(second), lambda one: one = action)))) / questions ** 2 AS chance,
        1.959963984540054 ** 2 / questions AS spread,
        sqrt(same * (1 - same) * spread + spread ** 2 / 4) AS half
    FROM pairs
    GROUP BY combination, first_reviewer, second_reviewer
),
actions AS (
    SELECT combination, question_id, action, count(*) AS given, sum(count(*)) OVER (PARTITION BY combination, question_id) AS everyone
    FROM decisions GROUP BY combination, question_id, action
),
differing AS (
    SELECT combination, sum(unequal) AS unequal
    FROM (
        SELECT combination, (any_value(everyone) ** 2 - sum(given ** 2)) / (any_value(everyone) - 1) AS unequal
        FROM actions WHERE everyone > 1 GROUP BY combination, question_id
    )
    GROUP BY combination
),
alphas AS (
    SELECT combination,
        1 - any_value(unequal) / nullif((sum(given) ** 2 - sum(given ** 2)) / (sum(given) - 1), 0) AS alpha
    FROM (SELECT combination, action, sum(given) AS given FROM actions WHERE everyone > 1 GROUP BY combination, action)
    JOIN differing USING (combination)
    GROUP BY combination
)
SELECT
    combination, first_reviewer, second_reviewer, questions,
    (same - chance) / nullif(1 - chance, 0) AS kappa,
    (greatest(0, (same + spread / 2 - half) / (1 + spread)) - chance) / nullif(1 - chance, 0) AS kappa_low,
    (least(1, (same + spread / 2 + half) / (1 + spread)) - chance) / nullif(1 - chance, 0) AS kappa_high,
    alpha
FROM shares JOIN alphas USING (combination)
ORDER BY combination, first_reviewer, second_reviewer;
