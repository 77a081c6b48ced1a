-- Chunks for a query, best first. {where} is the filter on one document, or nothing: it stands in both scans, so that a
-- search inside one document reads that document alone and counts words in it alone.
-- $words: the query's words; $vector: its embedding; k1 1.2 and b 0.75 as usual (Robertson & Zaragoza, 2009).
WITH asked AS (
    SELECT unnest($words::BIGINT[]) AS word
),
scope AS MATERIALIZED (
    SELECT
        document, number, start_at, end_at, start_line, end_line, length,
        array_inner_product(vector, $vector::FLOAT[{dimensions}]) AS meaning
    FROM chunks {where}
),
size AS (
    SELECT count(*) AS n, greatest(avg(length), 1) AS average FROM scope
),
found AS MATERIALIZED (
    SELECT document, number, word, times FROM postings {where} {and_} word IN (SELECT word FROM asked)
),
weights AS (
    SELECT word, ln(1 + (any_value(n) - count(found.word) + 0.5) / (count(found.word) + 0.5)) AS idf
    FROM asked LEFT JOIN found USING (word) CROSS JOIN size
    GROUP BY word
),
best AS (
    SELECT greatest(sum(idf) * (1.2 + 1), 1e-9) AS reach FROM weights
),
worded AS (
    SELECT document, number, sum(idf * times * (1.2 + 1) / (times + 1.2 * (0.25 + 0.75 * length / average))) AS bm25
    FROM found JOIN scope USING (document, number) JOIN weights USING (word) CROSS JOIN size
    GROUP BY document, number
),
scored AS (
    SELECT scope.*, coalesce(bm25, 0) AS bm25, coalesce(bm25, 0) / reach AS words
    FROM scope LEFT JOIN worded USING (document, number) CROSS JOIN best
),
fused AS (
    SELECT *, {weight} * greatest(meaning, 0) + (1 - {weight}) * words AS score FROM scored
)
SELECT document, number, score, meaning, words, bm25, start_at, end_at, start_line, end_line
FROM fused
WHERE {by} >= $threshold
ORDER BY {by} DESC, document, number
LIMIT $most
