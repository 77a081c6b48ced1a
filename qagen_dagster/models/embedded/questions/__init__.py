"""Questions by rules: generator, filters, duplicate matcher."""
