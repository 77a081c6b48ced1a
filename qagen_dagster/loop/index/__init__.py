"""The search index of a corpus: built, opened, paid for."""
