"""Answering a question from one document, wired to the workspace."""
