-- The versions of the published set of combination $1, the latest first, with the profile of the run that made each.
SELECT version, published, questions, run_id, run.profile
FROM sets
LEFT JOIN runs AS run USING (run_id, combination)
WHERE combination = $1
ORDER BY version DESC;
