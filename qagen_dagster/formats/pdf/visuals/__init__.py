"""Tables and figures of a PDF page: found, captioned, cut out."""
