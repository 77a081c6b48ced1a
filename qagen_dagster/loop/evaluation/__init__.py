"""Evaluations of a published set: closed book, retrieval, answers."""
