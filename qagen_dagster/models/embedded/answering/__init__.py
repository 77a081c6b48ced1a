"""Short answers out of running text: candidate spans of a sentence, what speaks for each, and the fitted trees that choose."""
