-- The questions of combination $1 that are in only one of the versions $2 and $3 of its set, and why they were retired.
SELECT only_in, question_id, source_document, question, answer, reason, detail, text_before, text_now
FROM set_difference($1, $2::INTEGER, $3::INTEGER)
LEFT JOIN (
    SELECT question_id, reason, detail, text_before, text_now FROM retired_questions WHERE combination = $1
) AS retired USING (question_id)
ORDER BY only_in, source_document, question_id;
