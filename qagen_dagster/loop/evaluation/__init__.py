"""Evaluates a published set by models and searches, and scores other systems on it."""
