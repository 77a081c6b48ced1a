"""Evaluation sets in the forms that other programs read."""
