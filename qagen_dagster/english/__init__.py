"""English text, for every layer: sentences, words, opposites, amounts, dates, names, tables; what a text states, and how two differ."""
