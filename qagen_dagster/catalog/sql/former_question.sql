SELECT
    former.question_id,
    former.combination,
    former.version,
    version.run_id,
    former.question,
    former.answer,
    former.source_document,
    former.evidence
FROM set_questions AS former
JOIN sets AS version ON version.combination = former.combination AND version.version = former.version
WHERE starts_with(former.question_id, $1)
ORDER BY version.published DESC, former.question_id
LIMIT 1;
