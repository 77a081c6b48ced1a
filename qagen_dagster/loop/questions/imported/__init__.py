"""Questions that people asked: answered from the documents, checked, and compared with the set."""
