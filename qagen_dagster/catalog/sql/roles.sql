-- What each role of a combination cost.
SELECT * EXCLUDE (corpus, scenario, mode)
FROM role_costs
ORDER BY combination, role, model;
