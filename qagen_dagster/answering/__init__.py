"""Answers questions from one document: from its full text if there is one, else from its abstract."""
