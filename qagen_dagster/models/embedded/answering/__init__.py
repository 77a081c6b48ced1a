"""Short answers: pieces of a document and their rank, candidate spans and their features, the choice, and the reader that submits it."""
