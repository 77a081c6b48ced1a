"""Answers graded against their documents, and the reports of it."""
