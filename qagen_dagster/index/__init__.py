"""Splits documents into sentences and chunks, and searches chunks by their embeddings and words."""
