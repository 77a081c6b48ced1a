-- The questions of combination $1 that are in only one of the versions $2 and $3 of its set.
SELECT only_in, question_id, source_document, question, answer FROM set_difference($1, $2::INTEGER, $3::INTEGER);
