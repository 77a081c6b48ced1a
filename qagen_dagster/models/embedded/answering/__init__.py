"""Short answers from running text: candidate spans of a sentence, their features, and the fitted weights."""
