"""A document's text as the rules read it: blocks, sentences, clauses, tables, values."""
