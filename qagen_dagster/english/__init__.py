"""English text, for every layer: sentences, words, opposites, amounts, dates, names; what a text states, and how two texts or answers differ."""
