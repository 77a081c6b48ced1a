"""Finds short answers: ranks the pieces of a document, measures candidate spans, chooses one, and submits it as the model "reader"."""
