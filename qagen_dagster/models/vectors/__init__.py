"""Text embeddings: the local model and paid endpoints."""
