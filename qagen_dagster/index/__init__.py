"""A document as pieces that can be found: sentences, chunks, their vectors and words, and the search over them."""
