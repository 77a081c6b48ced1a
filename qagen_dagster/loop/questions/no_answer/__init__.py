"""Questions that the corpus does not answer: proposed for a document, proved by a search in the whole corpus."""
