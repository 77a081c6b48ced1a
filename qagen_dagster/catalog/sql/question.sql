-- The full lineage of the questions whose id is or begins with the parameter; an exact match comes first.
SELECT * FROM question_lineage
WHERE starts_with(question_id, $1)
ORDER BY question_id <> $1, question_id
LIMIT 2;
