"""Tables in the text of a PDF page."""
