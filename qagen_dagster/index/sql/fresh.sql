-- New chunks as rows of a shard, from the registered arrays.
CREATE TABLE rows AS
SELECT
    documents.id AS document_id, documents.text_sha256,
    chunks.number, chunks.start_at, chunks.end_at, chunks.start_line, chunks.end_line, chunks.length,
    coalesce(counted.words, []) AS words,
    chunks.vector::FLOAT[] AS vector
FROM fresh_chunks AS chunks
JOIN fresh_documents AS documents USING (document)
LEFT JOIN (
    SELECT row, list(struct_pack(word := word, times := times)) AS words FROM fresh_words GROUP BY row
) AS counted USING (row)
ORDER BY document_id, number
