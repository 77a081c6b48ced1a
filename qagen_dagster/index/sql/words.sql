-- Where the words of a query stand in what is searched; {where} as in meanings.sql, words are numbers.
SELECT document, number, word, times
FROM (SELECT document, number, word, times FROM postings {where})
WHERE word IN ({words})
