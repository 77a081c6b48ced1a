-- Every searched chunk with the cosine of its embedding. {where} is the filter on one document, or empty. The filter is in
-- the scan, so that a search in one document reads only that document.
SELECT document, number, start_at, end_at, start_line, end_line, length,
    array_inner_product(vector, $vector::FLOAT[{dimensions}]) AS meaning
FROM chunks {where}
