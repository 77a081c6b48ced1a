-- The positions of the chunks of one document.
SELECT number, start_at, end_at, start_line, end_line FROM chunks {where} ORDER BY number
