"""Grades whether a document supports an answer: sentences, windows, checks, judge, grades. Uses neither Dagster nor the store."""
