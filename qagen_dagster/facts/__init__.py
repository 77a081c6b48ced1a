"""Reads what a sentence states: amounts, dates, bounds, names, negation; compares the facts of two sentences."""
