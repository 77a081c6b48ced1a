"""Answers from one document: from its full text where there is one, else from its abstract."""
