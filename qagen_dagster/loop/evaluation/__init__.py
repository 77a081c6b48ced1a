"""Evaluates a published set: closed book, retrieval, answers."""
