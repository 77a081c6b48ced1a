"""A document's text as the embedded rules read it: passages with their places, blocks, tables, grammar."""
