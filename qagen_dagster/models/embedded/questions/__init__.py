"""Questions by rules: generator, filters, matcher for duplicates."""
