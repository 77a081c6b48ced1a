-- One row per corpus: its documents, counted by parsing outcome.
SELECT
    corpus,
    count(*) AS documents,
    histogram(outcome) AS outcomes,
    coalesce(sum(page_count), 0)::BIGINT AS pages,
    (SELECT count(*) FROM visuals WHERE visuals.corpus = documents.corpus) AS visuals
FROM documents
GROUP BY corpus
ORDER BY corpus;
