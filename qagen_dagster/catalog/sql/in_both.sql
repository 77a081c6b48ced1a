-- The number of questions of combination $1 that are in both versions $2 and $3 of its set.
SELECT count(*) AS questions
FROM set_questions AS here
SEMI JOIN (
    FROM set_questions WHERE combination = $1 AND version = $3::INTEGER
) AS there USING (question_id)
WHERE here.combination = $1 AND here.version = $2::INTEGER;
