"""Builds and opens the search index of a corpus."""
