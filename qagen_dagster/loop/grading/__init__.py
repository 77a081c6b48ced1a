"""Grades answers against their documents and reports the grades."""
