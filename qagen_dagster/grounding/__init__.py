"""Grading of whether a document supports an answer: sentences, windows, checks, judge, grades. No Dagster, no disk."""
