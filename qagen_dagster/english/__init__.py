"""Reads English text, for every layer: sentences, words, opposites, amounts, dates and names. Compares what two texts or answers state."""
