-- Where the chunks of one document lie.
SELECT number, start_at, end_at, start_line, end_line FROM chunks {where} ORDER BY number
