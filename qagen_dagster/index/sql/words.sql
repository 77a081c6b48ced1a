-- The searched chunks that have the words of a query. {where} is as in meanings.sql; words are numbers.
SELECT document, number, word, times
FROM (SELECT document, number, word, times FROM postings {where})
WHERE word IN ({words})
