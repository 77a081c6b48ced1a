"""Search in documents: sentences, chunks, their embeddings and words, and the search over them."""
