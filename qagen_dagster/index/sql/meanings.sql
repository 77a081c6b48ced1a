-- Every chunk in reach of a search with the cosine of its meaning. {where} is the filter on one document, or nothing: it
-- stands inside the scan, so that a search in one document reads that document alone.
SELECT document, number, start_at, end_at, start_line, end_line, length,
    array_inner_product(vector, $vector::FLOAT[{dimensions}]) AS meaning
FROM chunks {where}
