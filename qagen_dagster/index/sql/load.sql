-- The tables that a search reads, ordered by document and with an index on it: a search in one document reads only its rows.
CREATE TABLE documents AS
SELECT document_id, (row_number() OVER (ORDER BY document_id))::INTEGER AS document
FROM (SELECT DISTINCT document_id FROM rows);

CREATE TABLE chunks AS
SELECT document, number, start_at, end_at, start_line, end_line, length, vector::FLOAT[{dimensions}] AS vector
FROM rows JOIN documents USING (document_id)
ORDER BY document, number;

CREATE TABLE postings AS
SELECT document, number, one.word, one.times
FROM (SELECT document, number, unnest(words) AS one FROM rows JOIN documents USING (document_id))
ORDER BY document, number;

CREATE INDEX chunks_of_document ON chunks (document);
CREATE INDEX postings_of_document ON postings (document);
